"""Whatever is told in whatever order, storage by node is what a fresh state makes of the same objects."""

from typing import Any

from hypothesis import settings
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, initialize, invariant, rule

from cluster_model.pod import PendingPod
from cluster_model.state import ClusterState
from cluster_model.storage_columns import Storage
from tests import build, generate, generate_volumes
from tests.generate_source import Source

NODES = ("n0", "n1", "n2")
UIDS = ("a", "b", "c", "d")


def told(source: Source) -> Any:
    return source.of(generate_volumes.storage(source, NODES))


def key(found: Any) -> tuple[str, str, str]:
    return type(found).__name__, found.metadata.namespace, found.metadata.name


def by_name(state: ClusterState) -> dict[str, Any]:
    """Everything that storage says, with rows under their nodes' names."""
    storage: Storage = state.snapshot().storage
    names = state.snapshot().names
    return {
        "objects": {key(one): one for one in state.storage.objects()},
        "free": {name: pool for name, pool in storage.free.items() if pool},
        "reserved": dict(storage.reserved),
        "capacities": {name: found for name, found in storage.capacities.items() if found},
        "csi": {name: storage.csi_nodes.at(row) for row, name in enumerate(names)},
        "disks": {name: storage.disks.at(row) for row, name in enumerate(names)},
        "attached": {
            driver: dict(zip(names, counts.tolist(), strict=True))
            for driver, counts in storage.attached.items()
            if counts.any()
        },
        "claims": {claim: {names[row] for row in rows} for claim, rows in storage.claim_rows.items()},
        "volumes": {volume: {names[row] for row in rows} for volume, rows in storage.volume_rows.items()},
    }


class Stored(RuleBasedStateMachine):
    """The state beside the objects it was told, from which another one is made anew."""

    @initialize()
    def start(self) -> None:
        self.state = ClusterState()
        self.nodes: set[str] = set()
        self.objects: dict[tuple[str, str, str], Any] = {}
        self.pods: dict[str, PendingPod] = {}

    @rule(name=st.sampled_from(NODES))
    def node_comes(self, name: str) -> None:
        self.state.set_node(build.node(name))
        self.nodes.add(name)

    @rule(name=st.sampled_from(NODES))
    def node_goes(self, name: str) -> None:
        self.state.remove_node(name)
        self.nodes.discard(name)

    @rule(found=generate.drawn(told))
    def object_is_told(self, found: Any) -> None:
        build.stored(self.state, found)
        self.objects[key(found)] = found

    @rule(found=generate.drawn(told))
    def object_goes(self, found: Any) -> None:
        build.removed(self.state, found)
        self.objects.pop(key(found), None)

    @rule(uid=st.sampled_from(UIDS), volumes=generate.drawn(generate_volumes.volumes, 1), on=st.sampled_from(NODES))
    def pod_runs(self, uid: str, volumes: Any, on: str) -> None:
        self.pods[uid] = build.pod(uid, uid=uid, node=on, phase="Running", volumes=volumes)
        self.state.set_pod(self.pods[uid])

    @rule(uid=st.sampled_from(UIDS))
    def pod_ends(self, uid: str) -> None:
        self.state.remove_pod(uid)
        self.pods.pop(uid, None)

    @invariant()
    def equals_a_fresh_state(self) -> None:
        fresh = build.stored(ClusterState(), *reversed(self.objects.values()))
        for pod in self.pods.values():
            fresh.set_pod(pod)
        for name in sorted(self.nodes):
            fresh.set_node(build.node(name))
        assert by_name(self.state) == by_name(fresh)


TestStored = Stored.TestCase
TestStored.settings = settings(max_examples=60, stateful_step_count=30)
