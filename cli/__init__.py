"""The command `gpu-scheduler`: a thin layer above all rooms that imports each only when its verb is called."""
