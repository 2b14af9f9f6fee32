"""Where samples of load come from: the pods' own endpoints, Prometheus, metrics.k8s.io. Decides nothing."""
