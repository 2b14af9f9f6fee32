"""Whatever is told in whatever order, the columns are what a plain model of the same news adds up to."""

from hypothesis import settings
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, initialize, invariant, precondition, rule

from cluster_model import objects
from cluster_model.pod import PendingPod
from cluster_model.state import ClusterState
from cluster_model.verdict import Event
from tests import build, generate, oracle_state
from tests.unhurried import UNHURRIED

UIDS = tuple(f"uid-{index}" for index in range(4))
uids = st.sampled_from(UIDS)
places = st.sampled_from((*generate.NODE_NAMES[:3], "elsewhere"))
phases = st.sampled_from(("Pending", "Running", "Succeeded", "Failed"))
sizes = st.fixed_dictionaries(
    {"gpu": st.integers(0, 3)}, optional={"requests": generate.drawn(generate.requests), "ports": st.just((8080,))}
)


def named(uid: str, fields: dict[str, object], **more: str) -> PendingPod:
    return PendingPod.read(build.raw_pod(uid=uid, **{**fields, **more}))  # type: ignore[arg-type]


class Ledger(RuleBasedStateMachine):
    """The state beside a model of two dicts: what is where, and what of it is only assumed."""

    @initialize()
    def start(self) -> None:
        self.state = ClusterState()
        self.nodes: dict[str, object] = {}
        self.where: dict[str, str] = {}
        self.assumed: set[str] = set()
        self.requests: dict[str, PendingPod] = {}

    @rule(found=st.sampled_from(generate.NODE_NAMES[:3]).flatmap(lambda name: generate.drawn(generate.node, name)))
    def node_is_told(self, found: objects.Node) -> None:
        name = found.metadata.name
        events = self.state.set_node(found)
        assert (Event.NODE_ADD in events) == (name not in self.nodes)
        self.nodes[name] = found

    @rule(name=places)
    def node_goes(self, name: str) -> None:
        assert self.state.remove_node(name) == ({Event.NODE_DELETE} if name in self.nodes else set())
        self.nodes.pop(name, None)

    @rule(uid=uids, fields=sizes, place=places, phase=phases)
    def bound_pod_is_told(self, uid: str, fields: dict[str, object], place: str, phase: str) -> None:
        pod = named(uid, fields, node=place, phase=phase)
        events = self.state.set_pod(pod)
        before = self.where.get(uid)
        over = phase in ("Succeeded", "Failed")
        assert (Event.ASSIGNED_POD_DELETE in events) == (before is not None and (over or before != place))
        self.model_forgets(uid)
        if not over:
            self.where[uid], self.requests[uid] = place, pod

    @rule(uid=uids, fields=sizes)
    def unbound_pod_is_told(self, uid: str, fields: dict[str, object]) -> None:
        assert self.state.set_pod(named(uid, fields)) == set()

    @rule(uid=uids)
    def pod_is_deleted(self, uid: str) -> None:
        assert self.state.remove_pod(uid) == ({Event.ASSIGNED_POD_DELETE} if uid in self.where else set())
        self.model_forgets(uid)

    @precondition(lambda self: len(self.where) < len(UIDS))
    @rule(data=st.data(), fields=sizes, place=places)
    def pod_is_assumed(self, data: st.DataObject, fields: dict[str, object], place: str) -> None:
        uid = data.draw(st.sampled_from([one for one in UIDS if one not in self.where]))
        pod = named(uid, fields)
        self.state.assume(pod, place)
        self.where[uid], self.requests[uid] = place, pod
        self.assumed.add(uid)

    @rule(uid=uids)
    def binding_fails(self, uid: str) -> None:
        assert self.state.forget(uid) == ({Event.ASSIGNED_POD_DELETE} if uid in self.assumed else set())
        if uid in self.assumed:
            self.model_forgets(uid)

    @invariant()
    def holdings_are_the_models(self) -> None:
        assert {uid: held.node for uid, held in self.state.holdings().items()} == self.where
        assert {uid for uid, held in self.state.holdings().items() if held.assumed} == self.assumed
        assert {uid: held.pod.request for uid, held in self.state.holdings().items()} == {
            uid: self.requests[uid].request for uid in self.where
        }

    @invariant()
    def columns_are_what_nodes_and_pods_add_up_to(self) -> None:
        assert set(self.state.snapshot().names) == set(self.nodes)
        oracle_state.check(self.state)

    def model_forgets(self, uid: str) -> None:
        self.where.pop(uid, None)
        self.assumed.discard(uid)


TestLedger = Ledger.TestCase
TestLedger.settings = settings(UNHURRIED, max_examples=60, stateful_step_count=30)
