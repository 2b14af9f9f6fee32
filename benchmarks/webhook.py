"""The webhook's latency: the real gunicorn with TLS, driven at a fixed rate over kept connections from this machine.

Requests leave by the clock, not when an answer frees a client (open loop), and are timed from when they were due.
"""

import argparse
import asyncio
import importlib.metadata
import json
import math
import ssl
import tempfile
import time
from collections.abc import Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from benchmarks import record
from tests.webhook import server
from tests.webhook.build import FRACTION, MEMORY, MODEL, Json, pod, review, workload

_TIMING = b"server-timing: handler;dur="
_PACKAGES = ("gunicorn", "flask", "msgspec", "jsonpatch", "prometheus-client")
WARM_UP_SECONDS = 2


@dataclass(frozen=True, slots=True)
class Plan:
    """How hard and how long."""

    rate: int
    seconds: int
    connections: int

    @property
    def requests(self) -> int:
        """How many requests there are, those that only warm up included."""
        return self.rate * (self.seconds + WARM_UP_SECONDS)


@dataclass(frozen=True, slots=True)
class Sample:
    """One answered request, in milliseconds."""

    handler: float  # as the server measured it: from the request's headers to its answer
    client: float  # from when it was due to the last byte of its answer
    late: float  # of that, how late it left


@dataclass(slots=True)
class Connection:
    """One kept TLS connection."""

    reader: asyncio.StreamReader
    writer: asyncio.StreamWriter

    async def post(self, request: bytes) -> tuple[float, bytes]:
        """Send one request; return the handler's milliseconds and the body."""
        self.writer.write(request)
        head = (await self.reader.readuntil(b"\r\n\r\n")).lower()
        body = await self.reader.readexactly(int(_after(head, b"content-length: ")))
        if not head.startswith(b"http/1.1 200"):
            raise RuntimeError(f"refused: {head!r} {body!r}")
        return float(_after(head, _TIMING)), body


@dataclass(slots=True)
class Run:
    """A run in progress."""

    plan: Plan
    requests: Sequence[tuple[str, bytes]]  # uid, bytes on the wire
    free: asyncio.Queue[Connection] = field(default_factory=asyncio.Queue)
    samples: list[Sample] = field(default_factory=list)

    async def all(self, port: int) -> None:
        """Open the connections, then send every request when it is due."""
        for _ in range(self.plan.connections):
            self.free.put_nowait(Connection(*await asyncio.open_connection("127.0.0.1", port, ssl=_trusting())))
        begin = time.perf_counter() + 0.1
        async with asyncio.TaskGroup() as group:
            for index in range(self.plan.requests):
                due = begin + index / self.plan.rate
                await asyncio.sleep(max(due - time.perf_counter(), 0))
                group.create_task(self._one(index, due))

    async def _one(self, index: int, due: float) -> None:
        connection = await self.free.get()
        left = time.perf_counter()
        uid, request = self.requests[index % len(self.requests)]
        handler, body = await connection.post(request)
        ended = time.perf_counter()
        self.free.put_nowait(connection)
        if json.loads(body)["response"]["uid"] != uid:
            raise RuntimeError(f"answered another request: {body!r}")
        if index >= self.plan.rate * WARM_UP_SECONDS:
            self.samples.append(Sample(handler, (ended - due) * 1000, (left - due) * 1000))


def main() -> None:
    """Measure, print, and with --record keep the result."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--rate", type=int, default=200, help="requests a second (default: %(default)s)")
    parser.add_argument("--seconds", type=int, default=25, help="measured time (default: %(default)s)")
    parser.add_argument("--connections", type=int, default=16, help="kept connections (default: %(default)s)")
    parser.add_argument("--record", action="store_true", help=f"append the result to {record.RESULTS.name}")
    args = parser.parse_args()
    plan = Plan(args.rate, args.seconds, args.connections)
    lines = report(plan, measure(plan))
    print("\n".join(lines))
    if args.record:
        versions = {package: importlib.metadata.version(package) for package in _PACKAGES}
        record.append("webhook latency, load generator on the same machine", "\n".join(lines), versions)


def measure(plan: Plan) -> list[Sample]:
    """Start the server, drive it, stop it."""
    run = Run(plan, _requests())
    with tempfile.TemporaryDirectory() as folder, server.running(Path(folder)) as running:
        asyncio.run(run.all(running.port))
    return run.samples


def report(plan: Plan, samples: Sequence[Sample]) -> list[str]:
    """Say how long requests took; the last line is for programs."""
    columns = {name: sorted(getattr(sample, name) for sample in samples) for name in ("handler", "client", "late")}
    lines = [f"{len(samples)} requests at {plan.rate}/s over {plan.connections} kept TLS connections, milliseconds"]
    for name, values in columns.items():
        shown = "  ".join(f"p{share} {percentile(values, share):7.3f}" for share in (50, 90, 99, 99.9))
        lines.append(f"{name:<8} {shown}  max {values[-1]:7.3f}")
    handler, client = (percentile(columns[name], 99) for name in ("handler", "client"))
    return [*lines, f"handler_p99_ms={handler:.3f} client_p99_ms={client:.3f} rate={plan.rate}"]


def percentile(ordered: Sequence[float], share: float) -> float:
    """Return the least value that `share` percent of all do not exceed."""
    return ordered[max(math.ceil(len(ordered) * share / 100) - 1, 0)]


def _requests() -> list[tuple[str, bytes]]:
    """Build requests as an API server sends them: mostly valid pods, some workloads, some refusals, both paths."""
    annotated = [{MODEL: "A100-80GB,H100", MEMORY: "40Gi"}, {MODEL: "H100"}, {MEMORY: "24576"}, {FRACTION: "0.25"}]
    bodies = [_as_sent(pod(annotations)) for annotations in annotated for _ in range(3)]
    bodies += [_as_sent(pod({MODEL: "H1000"})), workload("Deployment", _as_sent(pod({MODEL: "L4"})))]
    built = []
    for number, (body, path) in enumerate((body, path) for body in bodies for path in ("/mutate", "/validate")):
        uid = f"705ab4f5-6393-11e8-b7cc-{number:012d}"
        data = json.dumps(
            review(body, uid=uid, userInfo={"username": "system:serviceaccount:kube-system:job"})
        ).encode()
        head = f"POST {path}?timeout=3s HTTP/1.1\r\nHost: webhook\r\nContent-Type: application/json\r\n"
        built.append((uid, head.encode() + f"Content-Length: {len(data)}\r\n\r\n".encode() + data))
    return built


def _as_sent(body: Json) -> Json:
    """Fill a pod up to what it looks like in a cluster, about 6 KiB: env, mounts, tolerations, managed fields."""
    main: dict[str, Any] = body["spec"]["containers"][0]
    main["env"] = [{"name": f"VARIABLE_{n}", "value": f"value-{n}"} for n in range(12)]
    main["volumeMounts"] = [{"name": f"volume-{n}", "mountPath": f"/mnt/{n}"} for n in range(4)]
    main["resources"].setdefault("limits", {}).update({"cpu": "8", "memory": "64Gi"})
    body["spec"]["initContainers"] = [{**main, "name": "fetch", "resources": {"requests": {"cpu": "500m"}}}]
    body["spec"]["volumes"] = [{"name": f"volume-{n}", "configMap": {"name": f"c-{n}"}} for n in range(4)]
    body["spec"]["tolerations"] = [
        {"key": f"node.kubernetes.io/{key}", "operator": "Exists", "effect": "NoExecute", "tolerationSeconds": 300}
        for key in ("not-ready", "unreachable")
    ]
    fields: Json = {f"f:field-{n}": {".": {}, f'k:{{"name":"{n}"}}': {"f:name": {}, "f:value": {}}} for n in range(24)}
    body["metadata"]["managedFields"] = [{"manager": "kube-controller-manager", "fieldsV1": {"f:spec": fields}}]
    body["metadata"]["labels"] = {"app": "trainer", "pod-template-hash": "6bbdbd8bc6"}
    return body


def _after(head: bytes, name: bytes) -> bytes:
    return head.split(name, 1)[1].split(b"\r\n", 1)[0]


def _trusting() -> ssl.SSLContext:
    context = ssl.create_default_context()
    context.check_hostname = False
    context.verify_mode = ssl.CERT_NONE
    return context


if __name__ == "__main__":
    main()
