"""What a pod asks for, what a node has, and the cluster as columns of numbers. Pure: no I/O, clock, thread, logger."""
