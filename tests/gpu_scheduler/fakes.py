"""Stand-ins for what talks to the API server: they remember what they were told and answer what the test wants."""

import asyncio
import time
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, cast

from cluster_model.pod import PendingPod
from cluster_model.state import ClusterState
from gpu_scheduler import built_in, preemptor, wiring
from gpu_scheduler.attempts import Books, Rules
from gpu_scheduler.backoff import Backoff
from gpu_scheduler.binder import Binder
from gpu_scheduler.cycle import Cycle
from gpu_scheduler.extension_points import BindPlugin, Handle
from gpu_scheduler.extension_points import Parts as HandleParts
from gpu_scheduler.feed import Feed
from gpu_scheduler.hooks import Points
from gpu_scheduler.metrics import Metrics
from gpu_scheduler.point_metrics import Measures
from gpu_scheduler.preemptor import Calls, Preemptor
from gpu_scheduler.profiles import Assembly
from gpu_scheduler.queue import SchedulingQueue
from gpu_scheduler.reports import Reports
from gpu_scheduler.teller import Teller
from gpu_scheduler.volume_binder import Pacing, VolumeBinder
from gpu_scheduler.waiting_pods import WaitingPods
from gpu_scheduler.wiring import Plan
from kube_client.binding import Bound, Outcome
from kube_client.changes import KubeObject
from kube_client.client import Client
from kube_client.event_bodies import POD, Kind, Words
from kube_client.events import Recorder
from kube_client.timing import Timing
from scheduler_plugins import registry
from scheduler_plugins.framework import Profile
from tests.gpu_scheduler.build import SCHEDULER, Clock, node

# As a configuration without a word about plugins has them.
POINTS: Points = {
    "postFilter": ("DefaultPreemption",),
    "reserve": ("VolumeBinding",),
    "preBind": ("VolumeBinding",),
    "bind": ("DefaultBinder",),
}


class FakeRecorder(Recorder):
    """Keeps what would have been written."""

    def __init__(self) -> None:
        self.words: list[tuple[str, Words]] = []

    def record(self, pod: KubeObject, words: Words, kind: Kind = POD) -> None:  # noqa: ARG002
        self.words.append((pod.metadata.name, words))

    async def drain(self, _timeout_seconds: float) -> bool:
        return True

    def notes(self, reason: str) -> list[str]:
        return [words.note for _, words in self.words if words.reason == reason]


class FakeClient(Client):
    """Keeps the patches; fails as `failures` says, and holds each answer back until `gate` is set."""

    def __init__(self) -> None:
        self.timing = Timing()
        self.patches: list[tuple[str, Mapping[str, Any]]] = []
        self.expected: list[tuple[str, str]] = []  # pods and the nodes where they were said to be soon
        self.deaf: Exception | None = None  # raised when that is said
        self.hearing = asyncio.Event()
        self.hearing.set()
        self.deleted: list[str] = []
        self.failures: list[Exception] = []
        self.gate = asyncio.Event()
        self.gate.set()

    async def patch(self, path: str, body: Any, _content_type: str = "") -> bytes:
        expected = body.get("status", {}) if isinstance(body, Mapping) else {}
        if list(expected) == ["nominatedNodeName"] and expected["nominatedNodeName"]:
            await self.hearing.wait()
            return self._expect(path, expected["nominatedNodeName"])
        await self.gate.wait()
        if self.failures:
            raise self.failures.pop(0)
        self.patches.append((path, cast(Mapping[str, Any], body)))
        return b"{}"

    def _expect(self, path: str, node: str) -> bytes:
        if self.deaf is not None:
            raise self.deaf
        self.expected.append((path.split("/")[-2], node))
        return b"{}"

    async def delete(self, path: str, _body: Any = None) -> bytes:
        await self.gate.wait()
        if self.failures:
            raise self.failures.pop(0)
        self.deleted.append(path.rpartition("/")[2])
        return b"{}"

    def messages(self) -> list[str]:
        return [body["status"]["conditions"][0]["message"] for _, body in self.patches]


@dataclass
class Bindings(BindPlugin):
    """The binding subresource: answers in order, then says Bound; each answer may be held back."""

    answers: list[Outcome] = field(default_factory=list)
    sent: list[tuple[str, str]] = field(default_factory=list)
    gate: asyncio.Event = field(default_factory=asyncio.Event)

    def __post_init__(self) -> None:
        self.gate.set()

    async def bind(self, pod: PendingPod, node: str) -> Outcome:
        self.sent.append((pod.pod.metadata.name, node))
        await self.gate.wait()
        return self.answers.pop(0) if self.answers else Bound()


@dataclass
class World:
    """All parts of a scheduler but the watches and the API server."""

    clock: Clock = field(default_factory=Clock)
    client: FakeClient = field(default_factory=FakeClient)
    recorder: FakeRecorder = field(default_factory=FakeRecorder)
    bindings: Bindings = field(default_factory=Bindings)
    profile: Profile = field(default_factory=registry.profile)
    points: Points = field(default_factory=lambda: POINTS)
    leading: bool = True
    in_flight: int = 4
    naps: list[float] = field(default_factory=list)
    drawn: float = 1.0  # below a tenth: each plugin's time is taken

    def __post_init__(self) -> None:
        self.news = asyncio.Event()
        self.metrics = Metrics([SCHEDULER])
        self.state = ClusterState()
        self.handle = Handle(WaitingPods())
        self.plan = Plan({SCHEDULER: self.assemble(self.handle)}, self.handle)
        measures = Measures(self.metrics.points, time.perf_counter, lambda: self.drawn)
        entrance = wiring.entrance(self.plan.profiles, measures)
        door = preemptor.holding(self.state, entrance.pre_enqueue())
        self.queue = SchedulingQueue(Backoff(), self.clock, self.metrics.incoming, entrance.sort_key(), door)
        self.queue.heed(wiring.hints(self.plan.profiles, self.state, self.metrics, self.clock))
        self.teller = Teller(self.queue, self.clock, self.metrics.queue.handled)
        self.reports = Reports(self.client, {SCHEDULER: self.recorder}, lambda: self.leading)
        self.volumes = VolumeBinder(self.client, self.state, Pacing(self.clock, self.nap, lambda: self.leading))
        self.preemptor = Preemptor(
            Calls.of(self.client, lambda uid: self.binder.recall(uid), lambda: self.leading),
            self.state,
            self.queue,
            self.reports,
            self.news,
        )
        parts = built_in.Parts(self.bindings, self.queue, self.metrics, self.volumes, self.preemptor)
        frameworks = wiring.frameworks(self.plan.profiles, parts, entrance, measures)
        self.books = Books(self.state, self.queue, self.reports, self.metrics, self.handle.waiting)
        rules = Rules(lambda: self.leading, self.clock, self.nap, in_flight=self.in_flight)
        self.binder = Binder(self.books, rules, self.news)
        self.cycle = Cycle(self.books, frameworks, self.binder, self.clock, self.news)
        self.feed = Feed(self.state, self.teller, [SCHEDULER], self.metrics.unreadable)
        self.told = wiring.noticing(self.feed.pod, self.plan, self.queue, entrance)
        self.handle.lend(HandleParts(self.client, self.state.snapshot, self.queue.activate))

    def assemble(self, _handle: Handle) -> Assembly:
        """What the configuration comes to."""
        return Assembly(self.profile, self.points, {})

    async def nap(self, seconds: float) -> None:
        self.naps.append(seconds)
        await asyncio.sleep(0)

    def nodes(self, names: Sequence[str] = ("n",), **found: Any) -> None:
        for name in names:
            self.state.set_node(node(name, **found))

    async def settle(self) -> None:
        """Let everything in the background come to rest."""
        for _ in range(20):
            await asyncio.sleep(0)

    def used(self, node_name: str = "n") -> int:
        """The GPUs taken on a node."""
        snapshot = self.state.snapshot()
        return int(snapshot.requested("nvidia.com/gpu")[snapshot.nodes.rows[node_name]])

    def sample(self, name: str, **labels: str) -> float | None:
        return self.metrics.registry.get_sample_value(name, labels)
