"""A pod on a node holds the most of what it asks for, was allotted and has in use; by hand-made figures."""

from typing import Any

import msgspec
import pytest

from cluster_model import objects, request, resizing

REFUSED = [{"type": "PodResizePending", "status": "True", "reason": "Infeasible"}]
DEFERRED = [{"type": "PodResizePending", "status": "True", "reason": "Deferred"}]


def container(name: str, cpu: str, **more: str) -> dict[str, Any]:
    return {"name": name, "resources": {"requests": {"cpu": cpu}}, **more}


def told(name: str, allotted: str = "", used: str = "") -> dict[str, Any]:
    found: dict[str, Any] = {"name": name}
    found |= {"allocatedResources": {"cpu": allotted}} if allotted else {}
    return found | ({"resources": {"requests": {"cpu": used}}} if used else {})


def pod(*containers: dict[str, Any], status: dict[str, Any], **spec: Any) -> objects.Pod:
    return msgspec.convert({"spec": {"containers": containers, **spec}, "status": status}, objects.Pod)


def milli_cpu(*containers: dict[str, Any], **found: Any) -> int:
    return request.parse(pod(*containers, **found)).resources.get("cpu", 0)


@pytest.mark.parametrize(
    ("allotted", "used", "held"),
    [("", "", 2000), ("1", "1", 2000), ("3", "1", 3000), ("1", "3", 3000), ("3", "", 3000), ("", "4", 4000)],
)
def test_the_most_of_three_amounts_counts(allotted: str, used: str, held: int) -> None:
    assert milli_cpu(container("a", "2"), status={"containerStatuses": [told("a", allotted, used)]}) == held


def test_each_of_the_three_is_summed_by_itself() -> None:
    statuses = [told("a", allotted="5", used="1"), told("b", allotted="1", used="4")]

    assert milli_cpu(container("a", "2"), container("b", "2"), status={"containerStatuses": statuses}) == 6000


def test_sidecars_and_init_containers_have_sizes_too() -> None:
    inits = [container("s", "1", restartPolicy="Always"), container("i", "1")]
    statuses = [told("s", used="3"), told("i", used="9")]

    held = milli_cpu(container("a", "2"), initContainers=inits, status={"initContainerStatuses": statuses})

    assert held == 3000 + 9000


@pytest.mark.parametrize(("conditions", "held"), [(REFUSED, 1000), (DEFERRED, 8000), (DEFERRED + REFUSED, 8000)])
def test_a_size_that_the_node_can_never_give_does_not_count(conditions: list[dict[str, str]], held: int) -> None:
    status = {"containerStatuses": [told("a", allotted="1")], "conditions": conditions}

    assert milli_cpu(container("a", "8"), status=status) == held


def test_what_a_pod_has_as_a_whole_replaces_the_sizes_of_its_containers() -> None:
    status = {
        "containerStatuses": [told("a", used="9")],
        "allocatedResources": {"cpu": "3"},
        "resources": {"requests": {"cpu": "4"}},
    }
    as_a_whole = {"requests": {"cpu": "2"}}

    assert milli_cpu(container("a", "1"), status=status) == 4000
    assert milli_cpu(container("a", "1"), resources=as_a_whole, status=status) == 4000
    assert milli_cpu(container("a", "1"), resources={"requests": {"cpu": "7"}}, status=status) == 7000


def test_a_container_without_any_amount_still_counts_the_default_for_scoring() -> None:
    status = {"containerStatuses": [{"name": "a", "allocatedResources": {"memory": "1Gi"}}]}

    found = request.parse(pod({"name": "a"}, status=status))

    assert (found.resources, found.nonzero_milli_cpu, found.nonzero_memory_bytes) == ({"memory": 2**30}, 100, 2**30)


def test_an_amount_that_cannot_be_read_counts_as_absent_and_is_nobodys_fault() -> None:
    found = request.parse(pod(container("a", "2"), status={"containerStatuses": [told("a", allotted="many")]}))

    assert (found.resources, found.problems) == ({"cpu": 2000}, ())


@pytest.mark.parametrize(
    ("status", "same"),
    [
        ({"phase": "Running", "conditions": DEFERRED}, True),
        ({"containerStatuses": [told("a", used="1")]}, False),
        ({"initContainerStatuses": [told("a", used="1")]}, False),
        ({"allocatedResources": {"cpu": "1"}}, False),
        ({"resources": {"requests": {"cpu": "1"}}}, False),
        ({"conditions": REFUSED}, False),
    ],
)
def test_statuses_are_the_same_when_no_size_differs(status: dict[str, Any], same: bool) -> None:
    assert resizing.same(msgspec.convert(status, objects.PodStatus), objects.PodStatus()) is same
