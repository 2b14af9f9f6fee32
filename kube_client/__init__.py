"""The only code that talks to the API server: list, watch, bind, patch, events, leases. It decides nothing."""
