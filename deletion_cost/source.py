"""What a source of load is asked and what it answers. The sources themselves stand in files of their own."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Literal, Protocol

from deletion_cost.sample import Sample

Name = Literal["endpoint", "prometheus", "metrics"]


@dataclass(frozen=True, slots=True)
class Target:
    """One Ready pod that is to be read, and how: each source looks at the fields that are its own."""

    uid: str
    namespace: str
    name: str
    ip: str  # status.podIP as the API server gives it, IPv4 or IPv6; never empty
    workload: str  # the owner's name; the targets of one namespace and workload share port, path and query
    requested_cpu_milli: int  # metrics.k8s.io: 0 where the pod requests none
    port: int  # endpoint: 0 where none is known, then nothing is asked
    path: str  # endpoint: begins with "/"
    query: str  # prometheus: one query for all pods of the workload, one sample per label `pod`


class Source(Protocol):
    """Reads many pods at one moment; never raises because of what a pod or a server answers."""

    async def read(self, targets: Sequence[Target]) -> Mapping[str, Sample | None]:
        """Return samples by uid; None, or no entry, where nothing usable was answered. Ends within the poll period."""
        ...


class Tally(Protocol):
    """Where a source tells what went wrong; the values become labels, so they are few and constant words."""

    def dropped(self, source: Name, why: str) -> None:
        """Count a pod's answer that was not usable: timeout, refused, status, redirect, size, type, nan, negative."""
        ...

    def failed(self, source: Name, why: str) -> None:
        """Count a question about many pods that failed as a whole: unreachable, status, undecodable."""
        ...
