"""What a pod asks for in effect: kube-scheduler's own sums, and a slow twin that walks through the pod's life."""

import json
from fractions import Fraction
from pathlib import Path
from typing import Any

import msgspec
import pytest
from hypothesis import given
from hypothesis import strategies as st

from cluster_model import effective, objects, quantity
from tests.cluster_model import effective_oracle as oracle
from tests.cluster_model import quantity_oracle
from tests.cluster_model.pod_builder import GPU, asks, limits, pod

TABLE = Path(__file__).parents[1] / "data" / "golden" / "requests.jsonl"
ROWS: list[dict[str, Any]] = [json.loads(line) for line in TABLE.read_text().splitlines()]
DEFAULTS = {"cpu": Fraction(1, 10), "memory": Fraction(200 * 2**20)}

amounts = st.dictionaries(
    st.sampled_from(["cpu", "memory", GPU, "hugepages-2Mi", "example.com/tokens"]),
    st.sampled_from(["0", "1", "3", "100m", "1500m", "0.0001", "1Gi", "200M"]),
)
containers = st.builds(
    lambda asked, policy: objects.Container(
        name="c", resources=objects.ResourceRequirements(requests=asked), restart_policy=policy
    ),
    amounts,
    st.sampled_from(["", "Always"]),
)
pod_level = st.dictionaries(st.sampled_from(oracle.AT_POD_LEVEL), st.sampled_from(["0", "2", "1Gi"]))
specs = st.builds(
    lambda apps, inits, level, overhead: objects.PodSpec(
        containers=tuple(apps),
        init_containers=tuple(inits),
        resources=objects.ResourceRequirements(requests=level),
        overhead=overhead,
    ),
    st.lists(containers, max_size=3),
    st.lists(containers, max_size=5),
    pod_level,
    amounts,
)


def exact(found: effective.Effective) -> dict[str, Fraction]:
    return {name: Fraction(amount, 10**9) for name, amount in found.amounts.items()}


def in_units(*containers: dict[str, Any], **spec: Any) -> dict[str, int]:
    return effective.in_units(effective.read(pod(*containers, **spec).spec).amounts)


@pytest.mark.parametrize("row", ROWS, ids=lambda row: str(ROWS.index(row)))
def test_sums_are_those_of_kube_schedulers_own_helper(row: dict[str, Any]) -> None:
    found = effective.read(msgspec.convert(row["pod"], objects.Pod).spec)
    assert effective.in_units(found.amounts) == row["requests"]
    assert (found.nonzero_milli_cpu, found.nonzero_memory_bytes) == (row["cpu"], row["memory"])


@given(specs)
def test_totals_agree_with_the_walk_through_the_pods_life(spec: objects.PodSpec) -> None:
    assert exact(effective.read(spec)) == oracle.total(spec, {})


@given(specs)
def test_scoring_amounts_agree_with_the_walk_too(spec: objects.PodSpec) -> None:
    found, total = effective.read(spec), oracle.total(spec, {})
    assumed = {name: n for name, n in DEFAULTS.items() if not spec.resources.requests or name not in total}
    wanted = oracle.total(spec, assumed)
    assert found.nonzero_milli_cpu == quantity_oracle.rounded_up(wanted.get("cpu", Fraction(0)), 1000)
    assert found.nonzero_memory_bytes == quantity_oracle.rounded_up(wanted.get("memory", Fraction(0)), 1)


@given(specs)
def test_what_is_scored_by_containers_knows_no_pod_level(spec: objects.PodSpec) -> None:
    without = msgspec.structs.replace(spec, resources=objects.ResourceRequirements())
    found = {name: Fraction(amount, 10**9) for name, amount in effective.read(spec).by_containers.items()}
    assert found == oracle.total(without, DEFAULTS)


@given(st.lists(containers, min_size=1, max_size=3))
def test_limits_alone_ask_for_as_much_as_the_same_requests(asking: list[objects.Container]) -> None:
    """As the API server copies them before a scheduler sees the pod."""
    limited = [
        msgspec.structs.replace(one, resources=objects.ResourceRequirements(limits=one.resources.requests))
        for one in asking
    ]
    both = [effective.read(objects.PodSpec(containers=tuple(each))) for each in (asking, limited)]
    assert both[0] == both[1]


def test_a_request_below_its_limit_counts_for_cpu_and_memory() -> None:
    container = {"resources": {"limits": {"cpu": "4", "memory": "2Gi"}, "requests": {"cpu": "1"}}}
    assert in_units(container) == {"cpu": 1000, "memory": 2 * 2**30}


@pytest.mark.parametrize("name", [GPU, "hugepages-2Mi"])
def test_the_limit_speaks_where_kubernetes_wants_both_equal(name: str) -> None:
    assert in_units({"resources": {"limits": {name: "2"}, "requests": {name: "1"}}}) == {name: 2}


def test_the_highest_init_phase_counts_not_the_sum_of_all() -> None:
    inits = [limits(gpu="4"), limits(gpu="1")]
    assert in_units(limits(gpu="1"), limits(gpu="1"), initContainers=inits) == {GPU: 4}


def test_a_native_sidecar_counts_beside_the_apps_and_beside_later_init_containers() -> None:
    inits = [limits(gpu="3"), {**limits(gpu="1"), "restartPolicy": "Always"}, limits(gpu="3")]
    assert in_units(limits(gpu="2"), initContainers=inits) == {GPU: 4}


def test_parts_are_added_up_before_they_are_rounded() -> None:
    assert in_units(*[asks({"memory": "1500m"})] * 2, asks({"cpu": "0.0001"})) == {"memory": 3, "cpu": 1}


def test_pod_level_limits_stand_in_for_absent_pod_level_requests_only_where_no_container_asks() -> None:
    resources = {"limits": {"cpu": "4", "memory": "1Gi", "hugepages-2Mi": "4Mi"}}
    container = asks({"cpu": "1", "hugepages-2Mi": "2Mi"})
    assert in_units(container, resources=resources) == {"cpu": 1000, "memory": 2**30, "hugepages-2Mi": 4 * 2**20}


def test_pod_level_gpus_do_not_exist() -> None:
    assert in_units(resources={"limits": {GPU: "2"}, "requests": {GPU: "2"}}) == {}


def test_names_that_the_scheduler_ignores_are_left_out() -> None:
    assert in_units(asks({"gpu": "1", "requests.nvidia.com/gpu": "1", "pods": "1", "a.b/c": "1"})) == {"a.b/c": 1}


@pytest.mark.parametrize("amount", ["two", "-1", "", "1 ", "1GB"])
def test_an_unreadable_or_negative_amount_is_reported_where_it_stands_and_counts_as_absent(amount: str) -> None:
    found = effective.read(pod(limits(gpu=amount, cpu="1")).spec, "spec.template.spec")
    (problem,) = found.problems
    assert problem.path == f"spec.template.spec.containers[0].resources.limits[{GPU}]"
    assert str(problem).endswith(f'Invalid value: "{amount}": {effective.RULE}')
    assert effective.in_units(found.amounts) == {"cpu": 1000}


def test_every_place_of_an_amount_is_checked() -> None:
    spec: dict[str, Any] = {
        "initContainers": [asks({"cpu": "x"})],
        "overhead": {"cpu": "x"},
        "resources": {"limits": {"cpu": "x"}},
    }
    paths = [problem.path for problem in effective.read(pod(**spec).spec).problems]
    assert paths == [
        "spec.initContainers[0].resources.requests[cpu]",
        "spec.resources.limits[cpu]",
        "spec.overhead[cpu]",
    ]


def test_absurd_amounts_saturate_instead_of_overflowing_to_nothing() -> None:
    assert in_units(*[asks({"cpu": "8E", GPU: "1e30"})] * 3) == {"cpu": quantity.MAX_INT64, GPU: quantity.MAX_INT64}
