"""Filters and scores as pure functions of (pod, snapshot, args), and the decision made from them. No I/O, no clock."""
