"""The controller's configuration: one YAML document becomes one tree of frozen dataclasses, or an error with its path.

Reads no file and no environment.
"""

import dataclasses
from dataclasses import dataclass
from typing import Annotated, Literal

import msgspec
import yaml

from cluster_model import settings_tree
from cluster_model.verdict import BadRequest, Problem
from deletion_cost import policy
from deletion_cost.load import Weights
from deletion_cost.policy import Policy
from deletion_cost.scope import Scope

Seconds = Annotated[float, msgspec.Meta(gt=0, le=3600)]
Wait = Annotated[float, msgspec.Meta(ge=0, le=86400)]
PerSecond = Annotated[float, msgspec.Meta(gt=0, le=1000)]
Count = Annotated[int, msgspec.Meta(ge=1, le=10000)]
Points = Annotated[int, msgspec.Meta(ge=0, le=1000)]
ColdCost = Annotated[int, msgspec.Meta(ge=-100, le=-50)]
Text = Annotated[str, msgspec.Meta(min_length=1, max_length=253)]


@dataclass(frozen=True, slots=True)
class Warming:
    """When a pod that has just started counts like the others."""

    # Written when a container has restarted or a pod was not Ready; a new pod has the webhook's.
    cost: ColdCost = -50
    # A pod that is Ready is no longer cold after this time, however often it was interrupted.
    longest_seconds: Wait = 600


@dataclass(frozen=True, slots=True)
class Budget:
    """How much may be written: each write wakes the ReplicaSet controller and everyone who watches pods."""

    writes_per_second: PerSecond = 5
    burst: Count = 10
    # For writes that only improve on what is right already.
    refinements_per_second: PerSecond = 0.2
    # A smaller difference is no reason to write.
    min_change: Points = 10
    # In mode all a rise counts at once, a fall only after so many lower polls; that all work is done, at once.
    fall_polls: Count = 3
    # Between two writes of one pod.
    min_interval_seconds: Wait = 30
    # A value that could not be written for so long is dropped.
    expiry_seconds: Seconds = 90
    # Over which the first values after a start are spread where there are many.
    spread_seconds: Wait = 60


@dataclass(frozen=True, slots=True)
class Missing:
    """What happens to pods whose load is not told."""

    # Polls for which the last load holds; then the pod counts as idle.
    hold_polls: Count = 3
    # A workload of which more pods than this share are missing at once is left as it is.
    freeze_above: Annotated[float, msgspec.Meta(ge=0, le=1)] = 0.5


@dataclass(frozen=True, slots=True)
class Endpoint:
    """Reads from pods."""

    # Including the connection; a pod that takes longer has told nothing.
    timeout_seconds: Seconds = 2
    parallel: Count = 256


@dataclass(frozen=True, slots=True)
class Prometheus:
    """The server that queries go to. Without a URL the source cannot be chosen."""

    # Up to /api/v1, which is left out.
    url: str = ""
    token_file: str = ""
    ca_file: str = ""
    client_certificate_file: str = ""
    client_key_file: str = ""
    headers: dict[str, str] = dataclasses.field(default_factory=dict)
    timeout_seconds: Seconds = 10
    parallel: Count = 4


@dataclass(frozen=True, slots=True)
class Sources:
    """How each source is asked."""

    endpoint: Endpoint = dataclasses.field(default_factory=Endpoint)
    prometheus: Prometheus = dataclasses.field(default_factory=Prometheus)


@dataclass(frozen=True, slots=True)
class LeaderElection:
    """Of several processes one writes."""

    enabled: bool = True
    # Empty: the pod's own.
    namespace: Annotated[str, msgspec.Meta(max_length=63)] = ""
    name: Text = "gpu-scheduler-deletion-cost"
    lease_seconds: Seconds = 15
    # A write in flight has 5 s to end: at least so much shorter than leaseSeconds.
    renew_deadline_seconds: Seconds = 10
    retry_seconds: Seconds = 2


@dataclass(frozen=True, slots=True)
class Config:
    """Everything that can be set; the defaults are what the base manifests run with."""

    # How often loads are read. A read ends before the next one begins.
    poll_seconds: Seconds = 30
    # Which pods are in where neither they nor their namespaces say so. annotated: those with an annotation
    # gpu.nvidia.com/…; gpu: all that ask for a GPU. To be the same as the webhook's.
    scope: Scope = "annotated"
    policy: Policy = dataclasses.field(default_factory=Policy)
    load: Weights = dataclasses.field(default_factory=Weights)
    warming: Warming = dataclasses.field(default_factory=Warming)
    missing: Missing = dataclasses.field(default_factory=Missing)
    budget: Budget = dataclasses.field(default_factory=Budget)
    sources: Sources = dataclasses.field(default_factory=Sources)
    leader_election: LeaderElection = dataclasses.field(default_factory=LeaderElection)
    # A gauge with the cost of every pod, beside those by band.
    pod_cost_metric: bool = True
    log_level: Literal["debug", "info", "warning", "error"] = "info"


def read(text: str) -> Config:
    """Read a configuration; raise BadRequest with the path, the value and the rule."""
    try:
        data = yaml.safe_load(text)
    except (yaml.YAMLError, RecursionError) as error:
        raise BadRequest(Problem("configuration", " ".join(str(error).split()), "must be YAML")) from error
    config = settings_tree.read(Config, {} if data is None else data)
    problems = [*_election(config.leader_election), *policy.problems(config.policy, configured(config.sources))]
    if problems:
        raise BadRequest(*problems)
    return config


def configured(sources: Sources) -> frozenset[str]:
    """Name the sources that a policy may choose."""
    return frozenset({"none", "endpoint", "metrics", *(["prometheus"] if sources.prometheus.url else [])})


def _election(election: LeaderElection) -> list[Problem]:
    problems = []
    if not election.renew_deadline_seconds < election.lease_seconds:
        rule = "must be shorter than leaseSeconds"
        problems.append(Problem("leaderElection.renewDeadlineSeconds", election.renew_deadline_seconds, rule))
    if not election.retry_seconds * 1.2 < election.renew_deadline_seconds:
        rule = "1.2 times it must be shorter than renewDeadlineSeconds"
        problems.append(Problem("leaderElection.retrySeconds", election.retry_seconds, rule))
    return problems
