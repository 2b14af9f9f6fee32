"""The manifests: their structure as rendered, and their effect on a real API server."""
