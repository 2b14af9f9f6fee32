"""A real Kubernetes control plane for tests and benchmarks: built once, started on free ports, stopped cleanly."""
