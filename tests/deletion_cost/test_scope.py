"""Which pods are in by themselves: the ones that the webhook of the same scope gives a first cost."""

from typing import Any

import msgspec
import pytest
from hypothesis import given
from hypothesis import strategies as st

from cluster_model import objects, request
from deletion_cost import scope
from deletion_cost.pod_objects import Pod
from tests.deletion_cost.build import Cluster, pod

NAMES = ("cpu", "nvidia.com/gpu", "nvidia.com/mig-1g.5gb", "nvidia.com/gpu-10gb", "volcano.sh/vgpu-memory", "x.io/y")
AMOUNTS = st.dictionaries(st.sampled_from(NAMES), st.sampled_from(("0", "1", "500m", "many")), max_size=3)
CONTAINERS = st.lists(st.fixed_dictionaries({"limits": AMOUNTS, "requests": AMOUNTS}), max_size=3)
ANNOTATIONS = st.sampled_from(({}, {"gpu.nvidia.com/model": "A100"}, {"gpu.nvidia.com/fraction": "0.5"}, {"x": "1"}))


@st.composite
def manifests(draw: st.DrawFn) -> dict[str, Any]:
    spec = {
        key: [{"name": f"{key}{number}", "resources": one} for number, one in enumerate(draw(CONTAINERS))]
        for key in ("containers", "initContainers")
    }
    claims = draw(st.sampled_from(([], [{"name": "gpu", "resourceClaimName": "gpu"}])))
    return {"metadata": {"name": "a", "annotations": draw(ANNOTATIONS)}, "spec": {**spec, "resourceClaims": claims}}


@given(manifests())
def test_it_is_what_the_webhook_takes_for_such_a_pod(manifest: dict[str, Any]) -> None:
    theirs = request.parse(msgspec.convert(manifest, objects.Pod)).gpu
    ours = msgspec.convert(manifest, Pod)
    assert scope.holds(ours, "annotated") == theirs.annotated
    assert scope.holds(ours, "gpu") == (theirs.annotated or theirs.asks)


@pytest.mark.parametrize(("wide", "opted"), [("annotated", False), ("gpu", True)])
def test_a_pod_that_asks_for_a_gpu_is_kept_in_the_wide_scope(wide: scope.Scope, opted: bool) -> None:
    cluster = Cluster(scope=wide)
    asking = {"containers": [{"name": "c", "resources": {"limits": {"nvidia.com/gpu": "1"}}}]}
    cluster.add(pod("a", spec=asking, annotations={"scheduling.gpu/deletion-cost": None}))
    assert cluster.member("a").opted is opted
