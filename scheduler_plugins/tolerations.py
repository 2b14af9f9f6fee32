"""When a toleration covers a taint. The operators Gt and Lt, off by default in Kubernetes, never match."""

from collections.abc import Iterable

from cluster_model.objects import Taint, Toleration


def tolerates(toleration: Toleration, taint: Taint) -> bool:
    """Say whether one toleration covers one taint."""
    if toleration.effect not in ("", taint.effect) or toleration.key not in ("", taint.key):
        return False
    if toleration.operator in ("", "Equal"):
        return toleration.value == taint.value
    return toleration.operator == "Exists"


def tolerated(tolerations: Iterable[Toleration], taint: Taint) -> bool:
    """Say whether any toleration covers the taint."""
    return any(tolerates(toleration, taint) for toleration in tolerations)
