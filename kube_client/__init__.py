"""The only code that talks to the API server: get, list, watch, create, bind, patch, events and leases."""
