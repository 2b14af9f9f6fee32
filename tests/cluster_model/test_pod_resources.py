"""A pod's requests and limits as a whole: phases, sidecars, pod level, overhead; in units."""

from typing import Any

import msgspec
import pytest

from cluster_model import objects, pod_resources


def read(**spec: Any) -> pod_resources.PodResources:
    return pod_resources.read(msgspec.convert(spec, objects.PodSpec))


def limited(restarts: bool = False, **limits: str) -> dict[str, Any]:
    return {"resources": {"limits": limits}, **({"restartPolicy": "Always"} if restarts else {})}


def test_requests_and_limits_are_summed_up_apart_and_in_units() -> None:
    container = {"resources": {"requests": {"cpu": "250m", "memory": "64Mi"}, "limits": {"cpu": "1", "memory": "64Mi"}}}
    found = read(containers=[container, container])

    assert found.requests == {"cpu": 0.5, "memory": 2.0**27}
    assert found.limits == {"cpu": 2.0, "memory": 2.0**27}


def test_init_containers_count_by_phase_and_sidecars_with_all_others() -> None:
    inits = [limited(restarts=True, cpu="1"), limited(cpu="5"), limited(cpu="2")]
    assert read(containers=[limited(cpu="3")], initContainers=inits).limits == {"cpu": 6.0}
    assert read(containers=[limited(cpu="8")], initContainers=inits).limits == {"cpu": 9.0}


def test_a_limit_of_the_pod_replaces_the_sum_and_overhead_adds_to_limits_that_are_set() -> None:
    overhead = {"cpu": "250m", "memory": "1Mi"}
    found = read(containers=[limited(cpu="1")], resources={"limits": {"cpu": "4"}}, overhead=overhead)

    assert found.limits == {"cpu": 4.25}
    assert found.requests["memory"] == 2.0**20


def test_what_is_nought_or_unreadable_is_left_out() -> None:
    assert read(containers=[limited(cpu="0", memory="lots")]).limits == {}


@pytest.mark.parametrize(
    ("resource", "unit"),
    [
        ("cpu", "cores"),
        ("memory", "bytes"),
        ("ephemeral-storage", "bytes"),
        ("hugepages-2Mi", "bytes"),
        ("attachable-volumes-csi-x", "integer"),
        ("nvidia.com/gpu", ""),
        ("pods", ""),
    ],
)
def test_units_are_kube_schedulers(resource: str, unit: str) -> None:
    assert pod_resources.unit(resource) == unit
