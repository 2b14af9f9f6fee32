"""A decision in words: the sentence that kube-scheduler would say, a table for people, plain data for programs."""

from collections import Counter
from collections.abc import Mapping

from scheduler_plugins.framework import Decision, Rejection

NO_NODES = "no nodes available to schedule pods"


def sentence(decision: Decision) -> str:
    """Say why no node takes the pod, in the exact words of kube-scheduler's FitError."""
    nodes = len(decision.snapshot)
    if not nodes:
        return NO_NODES
    if decision.refused:
        return f"0/{nodes} nodes are available: {', '.join(_texts(decision.table[0]))}."
    counted = ", ".join(sorted(f"{count} {text}" for text, count in reasons(decision).items()))
    return f"0/{nodes} nodes are available: {counted}."


def reasons(decision: Decision) -> Mapping[str, int]:
    """Count the nodes that each text was said of; a node short of several things counts for each."""
    counted: Counter[str] = Counter()
    for rejection, nodes in decision.counts():
        for text in _texts(rejection):
            counted[text] += nodes
    return counted


def _texts(rejection: Rejection) -> tuple[str, ...]:
    return tuple(reason.text for reason in rejection.reasons)
