"""The only code that talks to the API server: list, watch, bind, patch, events, leases. It decides nothing.

With it stands what every process beside an API server needs: its leadership, its probes, its log lines.
"""
