"""The scheduler process from start to end: what it consists of, in which order it starts, and how it stops."""

import asyncio
import gc
import logging
import random
import signal
import socket
import time
import uuid
from collections.abc import AsyncIterator, Coroutine, Iterable
from contextlib import AsyncExitStack, asynccontextmanager
from dataclasses import dataclass
from datetime import timedelta
from functools import partial
from pathlib import Path
from typing import Any

from cluster_model import objects, pod
from cluster_model.state import ClusterState
from gpu_scheduler import built_in, preemptor, resource_metrics, wiring
from gpu_scheduler.attempts import Books, Rules
from gpu_scheduler.binder import Binder
from gpu_scheduler.client_metrics import ClientMetrics
from gpu_scheduler.config import Config
from gpu_scheduler.config import LeaderElection as Election
from gpu_scheduler.cycle import Cycle
from gpu_scheduler.extension_points import Parts
from gpu_scheduler.feed import Feed
from gpu_scheduler.levels import Sources, read
from gpu_scheduler.metrics import Metrics
from gpu_scheduler.point_metrics import Measures
from gpu_scheduler.preemptor import Calls, Preemptor
from gpu_scheduler.profiles import extra_models
from gpu_scheduler.queue import SchedulingQueue
from gpu_scheduler.reports import Reports
from gpu_scheduler.surroundings import Surroundings
from gpu_scheduler.teller import Teller
from gpu_scheduler.volume_binder import Pacing, VolumeBinder
from gpu_scheduler.wiring import Plan
from kube_client import calls, server
from kube_client.client import Client, Settings
from kube_client.event_bodies import reporter
from kube_client.events import Recorder
from kube_client.leadership import Alone, Elected, Leadership
from kube_client.lease import LeaderElector, LeaseName
from kube_client.lease_record import Terms
from kube_client.listing import Resource
from kube_client.watch import Reflector
from kube_client.watches import Watch

log = logging.getLogger(__name__)

NODES = Resource("/api/v1/nodes", objects.Node)
# As kube-scheduler: a pod that finishes leaves the selection and is told as deleted.
PODS = Resource("/api/v1/pods", objects.Pod, {"fieldSelector": "status.phase!=Succeeded,status.phase!=Failed"})


@dataclass(frozen=True, slots=True)
class Options:
    """What the command line says beside the configuration file."""

    kubeconfig: Path | None
    address: str = "0.0.0.0"
    port: int = 10259
    grace_seconds: float = 20.0


async def run(config: Config, plan: Plan, options: Options) -> None:
    """Schedule until SIGTERM or SIGINT; return after what was begun is finished."""
    stopping = asyncio.Event()
    loop = asyncio.get_running_loop()
    for number in (signal.SIGTERM, signal.SIGINT):
        loop.add_signal_handler(number, stopping.set)
    async with _scheduler(config, plan, options) as scheduler:
        await scheduler.run(stopping)


@asynccontextmanager
async def _scheduler(config: Config, plan: Plan, options: Options) -> AsyncIterator["Scheduler"]:
    async with AsyncExitStack() as stack:
        settings = Settings(counts=calls.Calls())
        client = await stack.enter_async_context(Client.connect(options.kubeconfig, settings=settings))
        # Renewals must never stand in line behind bindings, so the Lease has a client of its own.
        lease_client = await stack.enter_async_context(Client.connect(options.kubeconfig, settings=settings))
        leadership = _leadership(config.leader_election, lease_client)
        yield Scheduler(client, leadership, config, plan, options)


def _leadership(election: Election, client: Client) -> Leadership:
    if not election.leader_elect:
        return Alone()
    terms = Terms(
        lease_duration=timedelta(seconds=election.lease_seconds),
        renew_deadline=timedelta(seconds=election.renew_deadline_seconds),
        retry_period=timedelta(seconds=election.retry_seconds),
    )
    identity = f"{socket.gethostname()}_{uuid.uuid4()}"
    lease = LeaseName(election.resource_namespace, election.resource_name)
    return Elected(LeaderElector(client, lease, identity, terms))


class Scheduler:
    """All parts of one process, wired once."""

    def __init__(
        self,
        client: Client,
        leadership: Leadership,
        config: Config,
        plan: Plan,
        options: Options,
    ) -> None:
        """Wire the parts. Longer than the rule: one flat list of what is given to what reads better than its pieces."""
        self._leadership = leadership
        self._options = options
        self._stopping = False
        news = asyncio.Event()
        profiles = plan.profiles
        metrics = Metrics(profiles)
        measures = Measures(metrics.points, time.monotonic, random.random)
        entrance = wiring.entrance(profiles, measures)
        models = extra_models(config.profiles)
        state = ClusterState(models)
        door = preemptor.holding(state, entrance.pre_enqueue())
        queue = SchedulingQueue(config.backoff, time.monotonic, metrics.incoming, entrance.sort_key(), door)
        queue.heed(wiring.hints(profiles, state, metrics, time.monotonic))
        metrics.queue.observe(queue.in_flight_events)
        teller = Teller(queue, time.monotonic, metrics.queue.handled)
        self._recorders = _recorders(client, profiles)
        self._reports = Reports(client, self._recorders, leadership.may_write)
        volumes = VolumeBinder(client, state, Pacing(time.monotonic, asyncio.sleep, leadership.may_write))
        self._preemptor = Preemptor(
            Calls.of(client, lambda uid: self._binder.recall(uid), leadership.may_write),
            state,
            queue,
            self._reports,
            news,
        )
        parts = built_in.Parts(built_in.DefaultBinder(client), queue, metrics, volumes, self._preemptor)
        frameworks = wiring.frameworks(profiles, parts, entrance, measures)
        books = Books(state, queue, self._reports, metrics, plan.handle.waiting)
        rules = Rules(leadership.may_write, time.monotonic, backoff=config.backoff)
        self._binder = Binder(books, rules, news)
        self._cycle = Cycle(books, frameworks, self._binder, time.monotonic, news)
        plan.handle.lend(Parts(client, state.snapshot, partial(_activate, queue, news)))
        feed = Feed(state, teller, profiles, metrics.unreadable, pod.rules(models))
        nodes, pods = Reflector(client, NODES), Reflector(client, PODS)
        self._nodes = Watch(nodes, feed.node, news)
        self._pods = Watch(pods, wiring.noticing(feed.pod, plan, queue, entrance), news)
        self._around = Surroundings(client, state, teller, news)
        counts = {"nodes": nodes.counts, "pods": pods.counts, **self._around.counts}
        extra = self._preemptor, volumes
        sources = Sources(state, queue, self._binder, leadership, self._recorders.values(), counts, *extra)
        metrics.observe_levels(lambda: read(sources), config.leader_election.resource_name)
        metrics.registry.register(ClientMetrics(client.counts))
        self._metrics = metrics
        told = partial(_told, pods, leadership)
        self._pages = {"/metrics/resources": lambda: resource_metrics.lines(told())}

    async def run(self, stopping: asyncio.Event) -> None:
        """Serve probes, follow the cluster and decide in our terms, until told to stop; then end in good order."""
        app = server.application(self._live(), self._ready(), self._metrics.text, self._pages)
        async with server.serve(app, self._options.address, self._options.port) as port, asyncio.TaskGroup() as group:
            log.info("serving address=%s port=%d", self._options.address, port)
            background = [group.create_task(work) for work in self._background()]
            deciding = group.create_task(self._leadership.serve(self._term))
            await _either(stopping, deciding)
            log.info("stopping binds_in_flight=%d", len(self._binder))
            self._stopping = True
            deciding.cancel()
            await asyncio.wait({deciding})
            await self._binder.abandon()
            for task in background:
                task.cancel()
        log.info("stopped")

    def _background(self) -> list[Coroutine[Any, Any, None]]:
        watches: list[Watch[Any]] = [self._nodes, self._pods, *self._around.watches.values()]
        return [*(watch.run() for watch in watches), *(recorder.run() for recorder in self._recorders.values())]

    async def _term(self) -> None:
        """Decide while we lead: first catch up with what the leader before us has bound, at last wait for our binds."""
        await self._nodes.synced()
        await self._around.synced()
        await self._pods.relist()
        gc.freeze()  # what the lists have brought lives long: the collector need not look through it again and again
        log.info("deciding")
        try:
            await self._cycle.run(self._leadership.may_write)
        finally:
            await self._wind_up(self._options.grace_seconds)

    async def _wind_up(self, grace_seconds: float) -> None:
        """Let what was begun end while the Lease is still ours: nothing may be written any more after that."""
        answered, _ = await asyncio.gather(self._binder.drain(grace_seconds), self._preemptor.drain(grace_seconds))
        if not answered:
            log.warning("bindings unanswered count=%d", len(self._binder))
        await self._reports.drain(grace_seconds / 4)

    def _live(self) -> dict[str, server.Check]:
        return {"leaderElection": self._leadership.unhealthy}

    def _ready(self) -> dict[str, server.Check]:
        watches: dict[str, Watch[Any]] = {"nodes": self._nodes, "pods": self._pods, **self._around.watches}
        in_step = {name: partial(_in_step, watch) for name, watch in watches.items()}
        return {**in_step, "shutdown": lambda: "stopping" if self._stopping else None}


def _told(pods: Reflector[objects.Pod], leadership: Leadership) -> tuple[objects.Pod, ...]:
    """Return all pods, where we lead: else each of them would be told by every replica."""
    return pods.objects() if leadership.may_write() else ()


def _in_step(watch: Watch[Any]) -> str | None:
    return None if watch.healthy else "not in step with the API server"


def _activate(queue: SchedulingQueue, news: asyncio.Event, uid: str) -> None:
    queue.activate(uid)
    news.set()


def _recorders(client: Client, profiles: Iterable[str]) -> dict[str, Recorder]:
    host = socket.gethostname()
    return {name: Recorder(client, reporter(name, host)) for name in profiles}


async def _either(stopping: asyncio.Event, deciding: "asyncio.Task[None]") -> None:
    """Wait for the order to stop; a deciding task that ends by itself has met a bug, which its group raises."""
    stop = asyncio.create_task(stopping.wait())
    await asyncio.wait({stop, deciding}, return_when=asyncio.FIRST_COMPLETED)
    stop.cancel()
