"""The scheduler's configuration: a KubeSchedulerConfiguration read strictly into one tree of frozen dataclasses.

Every problem of the file is reported at once, with path and rule. Fields that kube-scheduler knows and that have no
effect here are accepted with a warning, never in silence; those that would change a placement are refused. What
kube-scheduler itself would not load is refused in its words.
"""

from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from cluster_model.verdict import BadRequest, Problem
from gpu_scheduler import fields, plugin_sets
from gpu_scheduler.backoff import Backoff
from gpu_scheduler.fields import Fields
from gpu_scheduler.kube_config import check, names
from gpu_scheduler.kube_config.check import VERSIONS
from gpu_scheduler.kube_config.merging import PluginSet
from gpu_scheduler.kube_config.schema import GROUP, V1
from gpu_scheduler.kube_config.validation import OLD_LOCKS
from gpu_scheduler.plugin_sets import Known, Reading

SCHEDULER_NAME = "gpu-scheduler"
LOCK = "leases"
JITTER = 1.2  # client-go renews at most this much later than retryPeriod


@dataclass(frozen=True, slots=True)
class LeaderElection:
    """Who may decide: one process at a time, by a Lease."""

    leader_elect: bool = True
    lease_seconds: float = 15.0
    renew_deadline_seconds: float = 10.0
    retry_seconds: float = 2.0
    resource_name: str = "gpu-scheduler"
    resource_namespace: str = "gpu-scheduler"


@dataclass(frozen=True, slots=True)
class ProfileConfig:
    """The plugins that decide for one scheduler name, as written and merged with the defaults."""

    scheduler_name: str
    filters: tuple[str, ...]
    scorers: tuple[tuple[str, int], ...]  # name, weight
    args: Mapping[str, Mapping[str, Any]]  # by plugin name
    args_paths: Mapping[str, str]
    pre_filters: tuple[str, ...]  # look at pods alone
    points: Mapping[str, tuple[str, ...]]  # by extension point, what runs there in its order
    devices: bool  # kube-scheduler's DynamicResources is configured, which does nothing here


@dataclass(frozen=True, slots=True)
class Config:
    """What one scheduler process is told."""

    leader_election: LeaderElection
    backoff: Backoff
    kubeconfig: str  # empty: in the cluster, or by command line
    profiles: tuple[ProfileConfig, ...]
    warnings: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class Verbatim(Problem):
    """A problem in kube-scheduler's own words, which name the place themselves."""

    def __str__(self) -> str:
        return self.rule


def load(path: Path, known: Known, own_namespace: str) -> Config:
    """Read the configuration file; raise BadRequest with every problem in it."""
    try:
        text = path.read_text(encoding="utf-8")
    except (OSError, UnicodeDecodeError) as error:
        raise BadRequest(Problem("config", str(path), f"must be a readable file: {error}")) from error
    return parse(text, known, own_namespace)


def parse(text: str, known: Known, own_namespace: str) -> Config:
    """Read the configuration from its text; raise BadRequest with every problem in it."""
    reading = Reading(known, [])
    top = Fields(fields.load(text), "", reading.problems)
    _version(top, reading)
    config = _config(top, own_namespace, reading)
    if reading.problems:
        raise BadRequest(*reading.problems)
    verdict = check.check(text, {name: known.at(name) for name in known.ours})
    if verdict.errors:
        raise BadRequest(*(Verbatim(said.partition(": ")[0], "", said) for said in verdict.errors))
    return config


def _version(top: Fields, reading: Reading) -> None:
    known = [f"{GROUP}/{version}" for version in VERSIONS]
    found, kind = top.text("apiVersion"), top.text("kind")
    if found not in known:
        top.refuse("apiVersion", f"must be one of: {', '.join(known)}")
    elif found != known[0]:
        reading.warnings.append(f"apiVersion: {found} is no longer served by Kubernetes; write {known[0]}")
    if kind != "KubeSchedulerConfiguration":
        top.refuse("kind", "must be KubeSchedulerConfiguration")
    reading.version = found.rpartition("/")[2] if found in known else V1


def _config(top: Fields, own_namespace: str, reading: Reading) -> Config:
    election = _leader_election(top.part("leaderElection"), own_namespace, reading)
    kubeconfig = _client_connection(top.part("clientConnection"), reading)
    backoff = _backoff(top)
    _without_effect(top, reading)
    profiles = _profiles(top, reading)
    if top.raw("extenders"):
        top.refuse("extenders", "must be empty: this scheduler calls no extenders, its plugins decide alone")
    top.close()
    return Config(election, backoff, kubeconfig, profiles, tuple(reading.warnings))


def _leader_election(found: Fields, own_namespace: str, reading: Reading) -> LeaderElection:
    default = LeaderElection()
    election = LeaderElection(
        leader_elect=found.flag("leaderElect", default.leader_elect),
        lease_seconds=found.seconds("leaseDuration", default.lease_seconds),
        renew_deadline_seconds=found.seconds("renewDeadline", default.renew_deadline_seconds),
        retry_seconds=found.seconds("retryPeriod", default.retry_seconds),
        resource_name=found.text("resourceName", default.resource_name),
        resource_namespace=found.text("resourceNamespace", own_namespace),
    )
    lock = found.text("resourceLock") or LOCK
    found.close()
    if election.leader_elect:
        _check_lock(found, lock, reading)
        _check_election(found, election)
    return election


def _check_lock(found: Fields, lock: str, reading: Reading) -> None:
    if lock in OLD_LOCKS and reading.version != V1:
        reading.warnings.append(f"{found.at('resourceLock')}: no effect: a Lease is used")
    elif lock != LOCK:
        found.refuse("resourceLock", f'resourceLock value must be "{LOCK}"')


def _check_election(found: Fields, election: LeaderElection) -> None:
    for name in ("resourceName", "resourceNamespace"):
        if name in found and not found.text(name):
            found.refuse(name, "must be given")
    for name, seconds in (
        ("leaseDuration", election.lease_seconds),
        ("renewDeadline", election.renew_deadline_seconds),
        ("retryPeriod", election.retry_seconds),
    ):
        if seconds <= 0:
            found.refuse(name, "must be greater than zero")
    if election.lease_seconds <= election.renew_deadline_seconds:
        found.refuse("leaseDuration", "must be greater than `RenewDeadline`")
    if election.renew_deadline_seconds <= election.retry_seconds * JITTER:
        found.refuse("renewDeadline", f"must be greater than `RetryPeriod` times {JITTER}")


def _client_connection(found: Fields, reading: Reading) -> str:
    kubeconfig = found.text("kubeconfig")
    for name in ("acceptContentTypes", "contentType"):
        if "json" not in found.text(name, "json"):
            reading.warnings.append(f"{found.at(name)}: no effect: JSON is spoken with the API server")
    found.number("qps", 0.0)
    if found.whole("burst") < 0:
        found.refuse("burst", "must be non-negative")
    for name in ("qps", "burst"):
        if name in found:
            reading.warnings.append(f"{found.at(name)}: no effect: the API server's own flow control sets the pace")
    found.close()
    return kubeconfig


def _backoff(top: Fields) -> Backoff:
    default = Backoff()
    initial = top.whole("podInitialBackoffSeconds", int(default.initial_seconds))
    longest = top.whole("podMaxBackoffSeconds", int(default.max_seconds))
    if initial <= 0:
        top.refuse("podInitialBackoffSeconds", "must be greater than 0")
    if longest < initial:
        top.refuse("podMaxBackoffSeconds", "must be greater than or equal to PodInitialBackoffSeconds")
    return Backoff(float(initial), float(longest))


def _without_effect(top: Fields, reading: Reading) -> None:
    if top.whole("parallelism", 16) <= 0:
        top.refuse("parallelism", "should be an integer value greater than zero")
    _percentage(top, reading)
    top.flag("enableProfiling", True)
    top.flag("enableContentionProfiling", True)
    top.flag("delayCacheUntilActive", False)
    for name in ("parallelism", "enableProfiling", "enableContentionProfiling", "delayCacheUntilActive"):
        if name in top:
            reading.warnings.append(f"{name}: no effect: one process decides, and a standby keeps its caches warm")
    if reading.version in ("v1beta1", "v1beta2"):
        for name in ("healthzBindAddress", "metricsBindAddress"):
            if top.text(name):
                reading.warnings.append(f"{name}: no effect: the address is given on the command line")


def _percentage(found: Fields, reading: Reading) -> None:
    percentage = found.whole("percentageOfNodesToScore")
    if not 0 <= percentage <= 100:
        found.refuse("percentageOfNodesToScore", "not in valid range [0-100]")
    elif percentage:
        where = found.at("percentageOfNodesToScore")
        reading.warnings.append(f"{where}: no effect: every node is looked at, every time")


def _profiles(top: Fields, reading: Reading) -> tuple[ProfileConfig, ...]:
    rows = top.parts("profiles") or [Fields({}, "profiles[0]", reading.problems)]
    seen: list[str] = []
    profiles = []
    sorts = []
    for row in rows:
        sets = plugin_sets.read(row.part("plugins"), reading)
        profiles.append(_profile(row, sets, len(rows) == 1, reading))
        if profiles[-1].scheduler_name in seen:
            row.refuse("schedulerName", "must not be the name of another profile")
        seen.append(profiles[-1].scheduler_name)
        sorts.append(_as_written(sets["queueSort"]))
        if sorts[-1] != sorts[0]:
            row.part("plugins").refuse("queueSort", "must be the same for all profiles")
    return tuple(profiles)


def _profile(row: Fields, sets: Mapping[str, PluginSet], alone: bool, reading: Reading) -> ProfileConfig:
    name = row.text("schedulerName", SCHEDULER_NAME if alone else "")
    if not name:
        row.refuse("schedulerName", "must be given where there are several profiles")
    _percentage(row, reading)
    chosen = plugin_sets.choose(sets, row.at("plugins"), reading)
    args, paths = _plugin_config(row.parts("pluginConfig"), reading)
    row.close()
    filters = tuple(entry.name for entry in chosen.filters)
    scorers = tuple((entry.name, entry.weight or 1) for entry in chosen.scorers)
    return ProfileConfig(name, filters, scorers, args, paths, chosen.pre_filters, chosen.points, chosen.devices)


def _plugin_config(rows: list[Fields], reading: Reading) -> tuple[dict[str, Mapping[str, Any]], dict[str, str]]:
    args: dict[str, Mapping[str, Any]] = {}
    paths: dict[str, str] = {}
    for row in rows:
        name, found = names.today(row.text("name"), reading.version), row.raw("args")
        row.close()
        if name in plugin_sets.NOT_NOW - reading.known.ours:
            reading.warnings.append(f"{row.at('name')}: no effect: {plugin_sets.not_now(name)}")
        elif name in plugin_sets.BUILT_IN.keys() - reading.known.ours:
            reading.warnings.append(f"{row.at('name')}: no effect: {name} takes no args")
        elif name in reading.known.broken:
            reading.warnings.append(f"{row.at('name')}: no effect: {plugin_sets.unknown_rule(name, reading.known)}")
        elif name not in reading.known.ours:
            row.refuse("name", plugin_sets.unknown_rule(name, reading.known))
        elif name in args:
            row.refuse("name", f"repeated config for plugin {name}")
        elif found is not None and not isinstance(found, Mapping):
            row.refuse("args", "must be a mapping")
        else:
            args[name], paths[name] = found or {}, row.at("args")
    return args, paths


def _as_written(written: PluginSet) -> tuple[tuple[str, ...], tuple[str, ...]]:
    return tuple(entry.name for entry in written.enabled), tuple(entry.name for entry in written.disabled)
