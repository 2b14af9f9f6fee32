"""The pod-deletion-cost annotation, read exactly as the API server reads it. Only ReplicaSets act on it."""

import re
from collections.abc import Mapping

from cluster_model.verdict import Problem

ANNOTATION = "controller.kubernetes.io/pod-deletion-cost"
RULE = "must be a 32bit integer"
# On a pod template, or as a label of a namespace: whether the cost of such pods is kept up to date.
SWITCH = "scheduling.gpu/deletion-cost"
SWITCH_RULE = "must be on or off"

_FORM = re.compile(r"0|[1-9][0-9]*|-[0-9]+")
_LONGEST = 10  # digits of 2147483648


def parse(text: str) -> int:
    """Read a cost; ValueError where the API server refuses it ("+5", "007", " 5", "1e3")."""
    digits = text.removeprefix("-").lstrip("0")
    if _FORM.fullmatch(text) is None or len(digits) > _LONGEST:
        raise ValueError(RULE)
    cost = int(digits or "0") * (-1 if text.startswith("-") else 1)
    if not -(2**31) <= cost < 2**31:
        raise ValueError(RULE)
    return cost


def switched(annotations: Mapping[str, str], namespace_labels: Mapping[str, str]) -> bool | None:
    """Say what a pod wishes, else its namespace; None where neither says on or off."""
    for said in (annotations.get(SWITCH), namespace_labels.get(SWITCH)):
        if said in ("on", "off"):
            return said == "on"
    return None


def problems(annotations: Mapping[str, str], at: str = "metadata") -> tuple[Problem, ...]:
    """Return the problem with a pod's cost, if it has one that the API server would refuse."""
    if ANNOTATION not in annotations:
        return ()
    try:
        parse(annotations[ANNOTATION])
    except ValueError:
        return (Problem(f"{at}.annotations[{ANNOTATION}]", annotations[ANNOTATION], RULE),)
    return ()
