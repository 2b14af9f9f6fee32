"""kube-scheduler's own reading of a configuration, its verdict and its words; nothing here runs a scheduler."""
