"""The controller process from start to end: what it consists of, in which order it starts, and how it stops."""

import asyncio
import gc
import logging
import signal
import socket
import time
import uuid
from collections.abc import AsyncIterator, Callable, Coroutine, Mapping
from contextlib import AsyncExitStack, asynccontextmanager
from dataclasses import dataclass
from datetime import timedelta
from functools import partial
from pathlib import Path
from typing import Any

from cluster_model.controller_objects import Namespace
from deletion_cost import departures, levels, standings
from deletion_cost.announcements import Announcer
from deletion_cost.budget import Budget, Limits
from deletion_cost.config import Budget as BudgetSettings
from deletion_cost.config import Config, LeaderElection
from deletion_cost.controller import Controller
from deletion_cost.fleet import Fleet, Member, Reports
from deletion_cost.levels import Sources
from deletion_cost.metrics import Levels, Metrics
from deletion_cost.ownership import StandDown
from deletion_cost.planning import Planner
from deletion_cost.pod_objects import Pod, ReplicaSet
from deletion_cost.polling import Poller
from deletion_cost.scale_down import HorizontalPodAutoscaler
from deletion_cost.source import Name, Source
from deletion_cost.sources import opening
from deletion_cost.workloads import Workloads
from deletion_cost.writer import Writer
from kube_client import server
from kube_client.client import Client
from kube_client.event_bodies import reporter
from kube_client.events import Recorder
from kube_client.leadership import Alone, Elected, Leadership
from kube_client.lease import LeaderElector, LeaseName
from kube_client.lease_record import Terms
from kube_client.listing import Resource
from kube_client.watch import Reflector
from kube_client.watches import Watch

log = logging.getLogger(__name__)

NAME = "gpu-scheduler-deletion-cost"
PODS = Resource("/api/v1/pods", Pod, {"fieldSelector": "status.phase!=Succeeded,status.phase!=Failed"})
REPLICA_SETS = Resource("/apis/apps/v1/replicasets", ReplicaSet)
NAMESPACES = Resource("/api/v1/namespaces", Namespace)
AUTOSCALERS = Resource("/apis/autoscaling/v2/horizontalpodautoscalers", HorizontalPodAutoscaler)


@dataclass(frozen=True, slots=True)
class Options:
    """What the command line says beside the configuration file."""

    kubeconfig: Path | None
    namespace: str  # of the Lease where the configuration names none
    address: str = "0.0.0.0"
    port: int = 10261
    grace_seconds: float = 10.0


async def run(config: Config, options: Options) -> None:
    """Keep costs until SIGTERM or SIGINT; return after what was begun is finished."""
    stopping = asyncio.Event()
    loop = asyncio.get_running_loop()
    for number in (signal.SIGTERM, signal.SIGINT):
        loop.add_signal_handler(number, stopping.set)
    async with _process(config, options) as process:
        await process.run(stopping)


@asynccontextmanager
async def _process(config: Config, options: Options) -> AsyncIterator["Process"]:
    async with AsyncExitStack() as stack:
        client = await stack.enter_async_context(Client.connect(options.kubeconfig, NAME))
        # Renewals must never stand in line behind writes, so the Lease has a client of its own.
        lease_client = await stack.enter_async_context(Client.connect(options.kubeconfig, NAME))
        metrics = Metrics()
        sources = await stack.enter_async_context(opening.open_all(config, client, metrics))
        leadership = _leadership(config.leader_election, options.namespace, lease_client)
        yield Process(client, leadership, config, (metrics, sources), options)


def _leadership(election: LeaderElection, namespace: str, client: Client) -> Leadership:
    if not election.enabled:
        return Alone()
    terms = Terms(
        lease_duration=timedelta(seconds=election.lease_seconds),
        renew_deadline=timedelta(seconds=election.renew_deadline_seconds),
        retry_period=timedelta(seconds=election.retry_seconds),
    )
    lease = LeaseName(election.namespace or namespace, election.name)
    return Elected(LeaderElector(client, lease, f"{socket.gethostname()}_{uuid.uuid4()}", terms))


class Process:
    """All parts of one process, wired once."""

    def __init__(
        self,
        client: Client,
        leadership: Leadership,
        config: Config,
        reading: tuple[Metrics, Mapping[Name, Source]],
        options: Options,
    ) -> None:
        """Wire the parts. Longer than the rule: one flat list of what is given to what reads better than its pieces."""
        self._leadership = leadership
        self._options = options
        self._stopping = False
        self._metrics, sources = reading
        self._recorder = Recorder(client, reporter(NAME, socket.gethostname()))
        self._announcer = Announcer(self._recorder)
        self._budget = Budget(_limits(config.budget))
        reports = Reports(self._stood_down, self._leaving, self._budget.forget, self._announcer.deaf)
        self._fleet = Fleet(reports, time.monotonic, scope=config.scope)
        self._workloads = Workloads(self._fleet, config, self._announcer)
        self._writer = Writer(client, self._fleet, self._budget, self._metrics, leadership.may_write)
        poller = Poller(self._workloads, sources, config, self._metrics, self._announcer, client.timing)
        planner = Planner(self._fleet, config)
        self._controller = Controller(
            self._fleet, self._workloads, planner, poller, self._budget, config, client.timing
        )
        self._watches = _watches(client, self._fleet)
        self._metrics.observe_levels(self._levels(poller, config), config.leader_election.name)

    def _levels(self, poller: Poller, config: Config) -> Callable[[], Levels]:
        counts = {name: reflector.counts for name, (reflector, _) in self._watches.items()}
        seen = Sources(
            self._workloads, poller, self._budget, self._writer, self._recorder, counts, config, time.monotonic
        )
        return lambda: levels.read(seen)

    async def run(self, stopping: asyncio.Event) -> None:
        """Serve probes, follow the cluster and decide in our terms, until told to stop; then end in good order."""
        app = server.application(self._live(), self._ready(), self._metrics.text)
        async with server.serve(app, self._options.address, self._options.port) as port, asyncio.TaskGroup() as group:
            log.info("serving address=%s port=%d", self._options.address, port)
            background = [group.create_task(work) for work in self._background()]
            deciding = group.create_task(self._leadership.serve(self._term))
            await _either(stopping, deciding)
            log.info("stopping")
            self._stopping = True
            deciding.cancel()
            await asyncio.wait({deciding})
            await self._recorder.drain(self._options.grace_seconds / 2)
            for task in background:
                task.cancel()
        log.info("stopped")

    def _background(self) -> list[Coroutine[Any, Any, None]]:
        return [*(watch.run() for _, watch in self._watches.values()), self._recorder.run()]

    async def _term(self) -> None:
        """Decide while we lead: first catch up with what the leader before us has written."""
        for _, watch in self._watches.values():
            await watch.synced()
        await self._watches["pods"][1].relist()
        gc.freeze()  # what the lists have brought lives long: the collector need not look through it again and again
        log.info("deciding")
        try:
            async with asyncio.TaskGroup() as group:
                group.create_task(self._controller.run())
                group.create_task(self._writer.run())
        finally:
            self._controller.end_term()

    def _live(self) -> dict[str, server.Check]:
        return {"leaderElection": self._leadership.unhealthy}

    def _ready(self) -> dict[str, server.Check]:
        in_step = {name: partial(_in_step, watch) for name, (_, watch) in self._watches.items()}
        return {**in_step, "shutdown": lambda: "stopping" if self._stopping else None}

    def _stood_down(self, member: Member, why: StandDown) -> None:
        meta = member.pod.metadata
        log.info("stood down pod=%s/%s why=%s writers=%s", meta.namespace, meta.name, why, ",".join(meta.cost_writers))
        self._metrics.stood_down(why)
        self._announcer.stood_down(member, why)

    def _leaving(self, member: Member) -> None:
        """Count a pod that goes while it has work: what this process is there to prevent."""
        owner = standings.controller(member.pod.metadata)
        load = member.reading.load
        if owner is not None and self._fleet.judging and member.opted and load is not None and load.busy:
            meta, name = member.pod.metadata, self._workloads.name(owner.uid)
            occasion = departures.occasion(self._fleet, member)
            self._metrics.busy_deleted(meta.namespace, name, occasion)
            log.info("busy pod deleted pod=%s/%s workload=%s occasion=%s", meta.namespace, meta.name, name, occasion)


def _watches(client: Client, fleet: Fleet) -> dict[str, tuple[Reflector[Any], Watch[Any]]]:
    """Watch what plans need; namespaces and ReplicaSets first, since pods are judged by them."""
    wanted: dict[str, tuple[Resource[Any], Any]] = {
        "namespaces": (NAMESPACES, fleet.namespace),
        "replicasets": (REPLICA_SETS, fleet.replica_set),
        "horizontalpodautoscalers": (AUTOSCALERS, fleet.autoscaler),
        "pods": (PODS, fleet.pod),
    }
    news = asyncio.Event()
    watches = {}
    for name, (resource, take) in wanted.items():
        reflector = Reflector(client, resource)
        watches[name] = (reflector, Watch(reflector, take, news))
    return watches


def _limits(budget: BudgetSettings) -> Limits:
    return Limits(
        writes_per_second=budget.writes_per_second,
        burst=budget.burst,
        refinements_per_second=budget.refinements_per_second,
        min_interval_seconds=budget.min_interval_seconds,
        expiry_seconds=budget.expiry_seconds,
    )


def _in_step(watch: Watch[Any]) -> str | None:
    return None if watch.healthy else "not in step with the API server"


async def _either(stopping: asyncio.Event, deciding: "asyncio.Task[None]") -> None:
    """Wait for the order to stop; a deciding task that ends by itself has met a bug, which its group raises."""
    stop = asyncio.create_task(stopping.wait())
    await asyncio.wait({stop, deciding}, return_when=asyncio.FIRST_COMPLETED)
    stop.cancel()
