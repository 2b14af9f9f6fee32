"""How many pods of an application may be disrupted, as its PodDisruptionBudget says. Asks nobody, counts down."""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Any

from cluster_model import label_selectors, objects
from cluster_model.label_selectors import NOTHING, Selector, UnreadableSelector
from cluster_model.verdict import Event


class BudgetSpec(objects.ApiObject, frozen=True):
    selector: objects.LabelSelector | None = None


class BudgetStatus(objects.ApiObject, frozen=True):
    disruptions_allowed: int = 0
    disrupted_pods: dict[str, Any] = {}  # names of pods whose eviction the API server has let pass already


class PodDisruptionBudget(objects.ApiObject, frozen=True):
    metadata: objects.ObjectMeta = objects.ObjectMeta()
    spec: BudgetSpec = BudgetSpec()
    status: BudgetStatus = BudgetStatus()


@dataclass(frozen=True, slots=True)
class Budget:
    """One budget, read once."""

    namespace: str
    selector: Selector
    allowed: int
    disrupted: frozenset[str]  # names

    @classmethod
    def read(cls, found: PodDisruptionBudget) -> "Budget":
        """Read a budget; one whose selector is empty, absent or does not parse protects nothing."""
        try:
            selector = label_selectors.read(found.spec.selector)
        except UnreadableSelector:
            selector = NOTHING
        selector = NOTHING if selector.is_empty else selector
        status = found.status
        return cls(found.metadata.namespace, selector, status.disruptions_allowed, frozenset(status.disrupted_pods))

    def protects(self, pod: objects.Pod) -> bool:
        """Say whether evicting the pod would use up one disruption."""
        meta = pod.metadata
        mine = meta.namespace == self.namespace and bool(meta.labels) and self.selector.matches(meta.labels)
        return mine and meta.name not in self.disrupted


class BudgetTable:
    """The budgets of the cluster as they are now."""

    def __init__(self) -> None:
        self._budgets: dict[str, Budget] = {}

    def set(self, found: PodDisruptionBudget) -> frozenset[Event]:
        """Take a budget as it is now. It makes nobody fit: what is evicted is told of by itself."""
        self._budgets[_key(found)] = Budget.read(found)
        return frozenset()

    def remove(self, found: PodDisruptionBudget) -> frozenset[Event]:
        """Forget a budget."""
        self._budgets.pop(_key(found), None)
        return frozenset()

    def all(self) -> tuple[Budget, ...]:
        """Return every budget by namespace and name, so that the same choice follows from the same cluster."""
        return tuple(self._budgets[key] for key in sorted(self._budgets))


def violated(pods: Iterable[objects.Pod], budgets: Iterable[Budget]) -> Mapping[str, bool]:
    """Say for each pod, by UID, whether evicting it after those before it goes over a budget.

    As in kube-scheduler the first budget that is used up ends the look at that pod: later ones are not charged.
    """
    budgets = tuple(budgets)
    left = [budget.allowed for budget in budgets]
    return {pod.metadata.uid: _violates(pod, budgets, left) for pod in pods}


def _violates(pod: objects.Pod, budgets: tuple[Budget, ...], left: list[int]) -> bool:
    for place, budget in enumerate(budgets):
        if budget.protects(pod):
            left[place] -= 1
            if left[place] < 0:
                return True
    return False


def _key(found: PodDisruptionBudget) -> str:
    return f"{found.metadata.namespace}/{found.metadata.name}"
