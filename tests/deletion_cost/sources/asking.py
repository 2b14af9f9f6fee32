"""What tests of the sources share: targets, a tally that can be read, and servers that answer as told."""

import asyncio
import ssl
from collections import Counter
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import asynccontextmanager
from dataclasses import dataclass, field

from deletion_cost.source import Name, Target
from tests.control_plane.pod_endpoints import loopback_socket

Answer = Callable[[asyncio.StreamReader, asyncio.StreamWriter], Awaitable[None]]


@dataclass(slots=True)
class Counts:
    """A tally of what was dropped and what failed."""

    drops: Counter[tuple[str, str]] = field(default_factory=Counter)
    failures: Counter[tuple[str, str]] = field(default_factory=Counter)

    def dropped(self, source: Name, why: str) -> None:
        self.drops[source, why] += 1

    def failed(self, source: Name, why: str) -> None:
        self.failures[source, why] += 1


def target(name: str = "a", port: int = 0, ip: str = "127.0.0.1", **others: str | int) -> Target:
    """A pod `name` with uid `uid-name`, in namespace `default`, of workload `web`."""
    given = {"namespace": "default", "workload": "web", "requested_cpu_milli": 1000, "path": "/deletion-cost"}
    fields = {**given, "query": "load", **others}
    return Target(uid=f"uid-{name}", name=name, port=port, ip=ip, **fields)  # type: ignore[arg-type]


@asynccontextmanager
async def server(answer: Answer, host: str = "127.0.0.1", tls: ssl.SSLContext | None = None) -> AsyncIterator[int]:
    """A TCP server; gives its port. Connections that are still open at the end are cut."""
    open_: set[asyncio.StreamWriter] = set()

    async def serve(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        open_.add(writer)
        try:
            await answer(reader, writer)
        except (ConnectionError, asyncio.IncompleteReadError, asyncio.CancelledError):
            pass
        finally:
            writer.close()

    running = await asyncio.start_server(serve, sock=loopback_socket(host), ssl=tls)
    async with running:
        yield running.sockets[0].getsockname()[1]
        running.close()
        for writer in open_:
            writer.transport.abort()
        await asyncio.sleep(0)


def http(body: bytes, status: str = "200 OK", headers: str = "") -> Answer:
    """Answer every request of a connection with the same."""
    head = f"HTTP/1.1 {status}\r\nContent-Length: {len(body)}\r\n{headers}\r\n".encode()

    async def answer(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        while True:
            await reader.readuntil(b"\r\n\r\n")
            writer.write(head + body)
            await writer.drain()

    return answer
