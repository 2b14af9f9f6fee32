"""A Lease as leader election reads and writes it. Pure: what to write follows from what was read. Sends nothing."""

from dataclasses import dataclass
from datetime import datetime, timedelta
from typing import Any

from kube_client.timing import micro_time

RELEASED_SECONDS = 1


@dataclass(frozen=True, slots=True)
class Terms:
    """How long a lease lasts unrenewed, how long its holder tries to renew, and how often anybody tries."""

    lease_duration: timedelta = timedelta(seconds=15)
    renew_deadline: timedelta = timedelta(seconds=10)
    retry_period: timedelta = timedelta(seconds=2)
    jitter: float = 1.2

    def __post_init__(self) -> None:
        if not self.renew_deadline < self.lease_duration:
            raise ValueError("leaderElection.renewDeadline: must be shorter than leaseDuration")
        if not self.retry_period * self.jitter < self.renew_deadline:
            raise ValueError("leaderElection.retryPeriod: 1.2 times it must be shorter than renewDeadline")
        if self.retry_period <= timedelta(0):
            raise ValueError("leaderElection.retryPeriod: must be greater than 0")


@dataclass(frozen=True, slots=True)
class Record:
    """A Lease object; unknown fields are kept, so that writing it back changes only what is ours."""

    lease: dict[str, Any]

    @property
    def holder(self) -> str:
        """Who holds it; empty once released."""
        return str(self._spec.get("holderIdentity") or "")

    @property
    def duration_seconds(self) -> float:
        """How long its holder asked for."""
        return float(self._spec.get("leaseDurationSeconds") or 0)

    @property
    def transitions(self) -> int:
        """How often the holder changed."""
        return int(self._spec.get("leaseTransitions") or 0)

    @property
    def version(self) -> str:
        """Its resourceVersion, which guards every write."""
        return str(self.lease["metadata"].get("resourceVersion", ""))

    @property
    def _spec(self) -> dict[str, Any]:
        spec: dict[str, Any] = self.lease.get("spec") or {}
        return spec

    def held_by(self, identity: str, terms: Terms, now: datetime) -> "Record":
        """Write it as taken or renewed by that holder."""
        spec = {
            **self._spec,
            "holderIdentity": identity,
            "leaseDurationSeconds": int(terms.lease_duration.total_seconds()),
            "renewTime": micro_time(now),
        }
        if self.holder != identity:
            spec |= {"acquireTime": micro_time(now), "leaseTransitions": self.transitions + 1}
        return Record({**self.lease, "spec": spec})

    def released(self, now: datetime) -> "Record":
        """Write it as free, so that the next holder need not wait."""
        times = {"acquireTime": micro_time(now), "renewTime": micro_time(now)}
        spec = {**self._spec, "holderIdentity": "", "leaseDurationSeconds": RELEASED_SECONDS, **times}
        return Record({**self.lease, "spec": spec})


def first(namespace: str, name: str, identity: str, terms: Terms, now: datetime) -> Record:
    """Write a Lease that did not exist."""
    spec = {
        "holderIdentity": identity,
        "leaseDurationSeconds": int(terms.lease_duration.total_seconds()),
        "acquireTime": micro_time(now),
        "renewTime": micro_time(now),
        "leaseTransitions": 0,
    }
    metadata = {"name": name, "namespace": namespace}
    return Record({"apiVersion": "coordination.k8s.io/v1", "kind": "Lease", "metadata": metadata, "spec": spec})
