"""Queueing hints: which changes of the cluster may cure a plugin's rejection. Each judges one change for one pod."""
