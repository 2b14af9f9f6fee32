"""Our decisions beside those of kube-scheduler's own framework, on the same generated clusters."""
