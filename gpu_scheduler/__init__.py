"""The scheduler process: configuration, queue, scheduling loop, binding, leader election and metrics."""
