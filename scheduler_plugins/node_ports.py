"""NodePorts: two pods on one node cannot hold the same host port of the same protocol on overlapping addresses."""

from collections.abc import Iterable

from cluster_model.pod import PendingPod
from cluster_model.request import HostPort
from cluster_model.snapshot import Snapshot
from cluster_model.verdict import Event, Reason
from scheduler_plugins.framework import Verdict, cures

TAKEN = Reason(
    "node(s) didn't have free ports for the requested pod ports",
    cures(Event.NODE_ADD, Event.ASSIGNED_POD_DELETE),
)
EVERY_ADDRESS = ("", "0.0.0.0")


def check(pod: PendingPod, snapshot: Snapshot) -> Verdict | None:
    """Reject the nodes where a port that the pod wants is held."""
    wanted = pod.request.host_ports
    if not wanted:
        return None
    return Verdict.where(snapshot.usage.ports.where(lambda held: clash(wanted, held)), TAKEN)


def clash(wanted: Iterable[HostPort], held: Iterable[HostPort]) -> bool:
    """Say whether some port is wanted that is held."""
    return any(_same(one, other) for one in wanted for other in held)


def _same(one: HostPort, other: HostPort) -> bool:
    if one.port != other.port or one.protocol != other.protocol:
        return False
    return one.ip == other.ip or one.ip in EVERY_ADDRESS or other.ip in EVERY_ADDRESS
