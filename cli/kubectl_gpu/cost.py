"""`kubectl gpu cost`: lists pods with their deletion cost, the one that the next scale-down takes first."""

import argparse
import sys
import time
from collections.abc import Sequence
from typing import Any
from urllib.parse import quote

from cli.kubectl_gpu import flags, printing
from cli.kubectl_gpu.flags import Failure
from cli.kubectl_gpu.kubectl import Kubectl, Refused
from deletion_cost import report, standings, victims
from deletion_cost.pod_objects import Pod, ReplicaSet
from deletion_cost.report import Row

FORMATS = ("json", "name", "table", "wide", "yaml")
NONE = "<none>"
ABOUT = """
NEXT VICTIM is the pod's place in the order in which its ReplicaSet would delete
its pods now: 1 goes first. A pod that is not Ready goes before all that are,
whatever its cost. AGE is the time since the cost was written.
"""


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Declare the flags."""
    parser.description = f"List {parser.description}.\n{ABOUT}"
    parser.add_argument("names", nargs="*", metavar="POD", help="list these pods only")
    parser.add_argument("-n", "--namespace", metavar="NAME", help="namespace; else the context's own")
    parser.add_argument("-A", "--all-namespaces", action="store_true", help="pods of all namespaces")
    parser.add_argument("-l", "--selector", metavar="LABELS", help="list pods with these labels only")
    parser.add_argument("-o", "--output", metavar="FORMAT", default="table", help="one of: " + ", ".join(FORMATS))
    parser.add_argument("--no-headers", action="store_true", help="leave out the table's head")


def run(found: argparse.Namespace) -> int:
    """List pods; return the exit status."""
    _check(found)
    kubectl = Kubectl.find(flags.connection(found))
    namespace = "" if found.all_namespaces else found.namespace or kubectl.namespace()
    listed, now_ns = _rows(kubectl, found, namespace), time.time_ns()
    missing = [name for name in found.names if name not in {row.pod.metadata.name for row in listed}]
    if listed or found.output in ("json", "yaml"):
        sys.stdout.write(_written(listed, found, now_ns // victims.NANOSECONDS))
    elif not missing:
        sys.stderr.write(f"No resources found in {namespace} namespace.\n" if namespace else "No resources found\n")
    for name in missing:
        sys.stderr.write(f'Error from server (NotFound): pods "{name}" not found, or nothing looks at their cost\n')
    return 1 if missing else 0


def _check(found: argparse.Namespace) -> None:
    if found.output not in FORMATS:
        known = ",".join(FORMATS)
        raise Failure(
            f'error: unable to match a printer suitable for the output format "{found.output}", '
            f"allowed formats are: {known}"
        )
    if found.names and (found.all_namespaces or found.selector):
        with_what = "across all namespaces" if found.all_namespaces else "with a selector"
        raise Failure(f"error: a resource cannot be retrieved by name {with_what}")


def _rows(kubectl: Kubectl, found: argparse.Namespace, namespace: str) -> list[Row]:
    """Read all pods, since those beside the wanted ones decide with them, and keep the wanted."""
    within = f"/namespaces/{quote(namespace, safe='')}" if namespace else ""
    pods = kubectl.read(f"/api/v1{within}/pods", Pod)
    listed = report.rows(pods, _replica_sets(kubectl, within), time.time_ns())
    if found.selector:
        selected = kubectl.read(f"/api/v1{within}/pods", Pod, {"labelSelector": found.selector})
        uids = {pod.metadata.uid for pod in selected}
        return [row for row in listed if row.pod.metadata.uid in uids]
    return [row for row in listed if not found.names or row.pod.metadata.name in found.names]


def _replica_sets(kubectl: Kubectl, within: str) -> list[ReplicaSet] | None:
    """Read ReplicaSets; who may not is told, and sees costs without places."""
    try:
        return kubectl.try_read(f"/apis/apps/v1{within}/replicasets", ReplicaSet)
    except Refused as refused:
        sys.stderr.write(f"Warning: next victims are not known: {refused}\n")
        return None


def _written(listed: Sequence[Row], found: argparse.Namespace, now: int) -> str:
    if found.output == "name":
        return "".join(f"pod/{row.pod.metadata.name}\n" for row in listed)
    if found.output in ("json", "yaml"):
        document = {"kind": "List", "items": [_document(row) for row in listed]}
        return printing.as_json(document) if found.output == "json" else printing.as_yaml(document)
    columns = _columns(found.output == "wide", found.all_namespaces)
    lines = [[_cells(row, now)[name] for name in columns] for row in listed]
    return printing.table(columns, lines, not found.no_headers)


def _columns(wide: bool, all_namespaces: bool) -> list[str]:
    columns = ["NAME", "COST", "BAND", "REASON", "AGE", "NEXT VICTIM"]
    return ["NAMESPACE"] * all_namespaces + columns + ["OWNER", "READY", "NODE", "WRITER"] * wide


def _cells(row: Row, now: int) -> dict[str, str]:
    meta, place = row.pod.metadata, row.place
    return {
        "NAMESPACE": meta.namespace,
        "NAME": meta.name,
        "COST": NONE if row.cost is None else str(row.cost),
        "BAND": row.band,
        "REASON": row.reason,
        "AGE": NONE if row.written_seconds is None else printing.age(now - row.written_seconds),
        "NEXT VICTIM": NONE if place is None else f"{place.order} of {place.of}",
        "OWNER": f"{row.owner.kind}/{row.owner.name}" if row.owner else NONE,
        "READY": str(standings.read(row.pod).is_ready).lower(),
        "NODE": row.pod.spec.node_name or NONE,
        "WRITER": row.writer or NONE,
    }


def _document(row: Row) -> dict[str, Any]:
    """Name everything for programs; null is what is not there."""
    meta, place = row.pod.metadata, row.place
    return {
        "namespace": meta.namespace,
        "name": meta.name,
        "uid": meta.uid,
        "owner": {"kind": row.owner.kind, "name": row.owner.name} if row.owner else None,
        "node": row.pod.spec.node_name or None,
        "ready": standings.read(row.pod).is_ready,
        "cost": row.cost,
        "band": row.band,
        "reason": row.reason,
        "writer": row.writer or None,
        "written": None if row.written_seconds is None else printing.moment(row.written_seconds),
        "order": place.order if place else None,
        "of": place.of if place else None,
        "nextVictim": place is not None and place.order == 1,
    }
