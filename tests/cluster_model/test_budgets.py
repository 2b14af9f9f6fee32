"""A budget protects the pods it selects, is used up one by one, and ends the look at a pod where it is used up."""

import msgspec
import pytest

from cluster_model import objects
from cluster_model.budgets import Budget, BudgetTable, PodDisruptionBudget, violated
from tests import build

WEB = {"matchLabels": {"app": "web"}}


def told(name: str = "b", allowed: int = 0, selector: object = WEB, namespace: str = "default") -> PodDisruptionBudget:
    body = {
        "metadata": {"name": name, "namespace": namespace},
        "spec": {"selector": selector},
        "status": {"disruptionsAllowed": allowed, "disruptedPods": {"leaving": "2026-01-01T00:00:00Z"}},
    }
    return msgspec.convert(body, PodDisruptionBudget)


def pod(name: str = "p", **labels: str) -> objects.Pod:
    return build.raw_pod(name, meta={"labels": labels})


def overrun(*pods: objects.Pod, budgets: list[PodDisruptionBudget]) -> list[bool]:
    return list(violated(pods, map(Budget.read, budgets)).values())


def test_each_eviction_uses_one_disruption_up() -> None:
    pods = [pod(f"p{number}", app="web") for number in range(3)]
    assert overrun(*pods, budgets=[told(allowed=2)]) == [False, False, True]


@pytest.mark.parametrize(
    "budget",
    [
        told(selector={}),
        told(selector=None),
        told(selector={"matchExpressions": [{"key": "app", "operator": "Near"}]}),
        told(selector={"matchLabels": {"app": "batch"}}),
        told(namespace="other"),
    ],
    ids=["empty", "absent", "unreadable", "of others", "elsewhere"],
)
def test_budget_protects_nobody_else(budget: PodDisruptionBudget) -> None:
    assert overrun(pod(app="web"), budgets=[budget]) == [False]


def test_pod_without_labels_is_never_protected() -> None:
    """Even where a selector asks for the absence of a label."""
    absent = {"matchExpressions": [{"key": "app", "operator": "DoesNotExist"}]}
    assert overrun(pod(), pod("q", tier="a"), budgets=[told(selector=absent)]) == [False, True]


def test_pod_that_the_api_server_has_let_go_costs_nothing() -> None:
    assert overrun(pod("leaving", app="web"), budgets=[told()]) == [False]


def test_budget_used_up_ends_the_look_at_the_pod() -> None:
    """The second budget is not charged for the first pod, so it still lets the second go."""
    first, second = told("a"), told("b", allowed=1, selector={"matchLabels": {"tier": "x"}})
    assert overrun(pod(app="web", tier="x"), pod("q", tier="x"), budgets=[first, second]) == [True, False]


def test_table_keeps_budgets_by_name() -> None:
    table = BudgetTable()
    for one in (told("z", 1), told("a", 2), told("z", 3)):
        table.set(one)
    assert [budget.allowed for budget in table.all()] == [2, 3]
    table.remove(told("a"))
    assert [budget.allowed for budget in table.all()] == [3]
