"""Spot and on-demand capacity: what a pod says of it by annotation, and the marks of spot nodes on the clouds.

Decides nothing. A node without a mark of spot capacity is on-demand: only Karpenter and EKS label those, too.
"""

from collections.abc import Iterable, Mapping
from enum import StrEnum
from typing import TypeAlias

from cluster_model import objects
from cluster_model.verdict import Problem

ANNOTATION = "scheduling.gpu/capacity"

Mark: TypeAlias = tuple[str, str]  # key and value, of a label or a taint


class Capacity(StrEnum):
    """What a pod may ask for."""

    SPOT = "spot"
    ON_DEMAND = "on-demand"
    ANY = "any"


RULE = f"must be one of: {', '.join(Capacity)}"
OKE = "oci.oraclecloud.com/oke-is-preemptible"
# Karpenter, EKS, GKE with its older name, AKS, OKE. Taints carry the same keys; OKE's has a value of its own.
SPOT_MARKS: frozenset[Mark] = frozenset(
    {
        ("karpenter.sh/capacity-type", "spot"),
        ("eks.amazonaws.com/capacityType", "SPOT"),
        ("cloud.google.com/gke-spot", "true"),
        ("cloud.google.com/gke-preemptible", "true"),
        ("kubernetes.azure.com/scalesetpriority", "spot"),
        (OKE, "true"),
        (OKE, "present"),
    }
)

_LONGEST_SHOWN = 253


def read(annotations: Mapping[str, str], at: str = "metadata") -> tuple[Capacity | None, tuple[Problem, ...]]:
    """Read a pod's annotation; what is wrong with it stands at the path `at`. Never raises."""
    text = annotations.get(ANNOTATION)
    if text is None:
        return None, ()
    try:
        return Capacity(text), ()
    except ValueError:
        shown = text if len(text) <= _LONGEST_SHOWN else text[:_LONGEST_SHOWN] + "…"
        return None, (Problem(f"{at}.annotations[{ANNOTATION}]", shown, RULE),)


def tolerates_spot(tolerations: Iterable[objects.Toleration], marks: frozenset[Mark] = SPOT_MARKS) -> bool:
    """Say whether some toleration covers a taint by which spot nodes are marked."""
    return any(_covers(toleration, mark) for toleration in tolerations for mark in marks)


def _covers(toleration: objects.Toleration, mark: Mark) -> bool:
    key, value = mark
    # One without a key counts where it covers NoSchedule, which is what clouds put on spot nodes.
    if toleration.key != key and (toleration.key or toleration.effect not in ("", "NoSchedule")):
        return False
    if toleration.operator in ("", "Equal"):
        return toleration.value == value
    return toleration.operator == "Exists"
