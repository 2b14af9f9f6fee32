"""Answers HTTP for all pods of LOOPBACK_NETWORK: one listener, which knows the pod by the address it was asked at."""

from __future__ import annotations

import asyncio
import json
import socket
import threading
from collections import Counter
from collections.abc import Mapping
from types import TracebackType
from typing import Any, Self

IDLE = {"active_requests": 0}
QUEUE = 4096
SO_BINDTODEVICE = getattr(socket, "SO_BINDTODEVICE", 25)


def loopback_socket(address: str = "0.0.0.0", port: int = 0) -> socket.socket:
    """A listening socket that only this machine reaches, whatever its address."""
    listener = socket.socket(socket.AF_INET6 if ":" in address else socket.AF_INET, socket.SOCK_STREAM)
    listener.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
    listener.setsockopt(socket.SOL_SOCKET, SO_BINDTODEVICE, b"lo\0")
    listener.bind((address, port))
    listener.listen(QUEUE)
    return listener


class PodEndpoints:
    """The pods' endpoints, in a thread of their own; use it as a context manager. What is not told is idle."""

    def __init__(self) -> None:
        self._listener = loopback_socket()
        self.port: int = self._listener.getsockname()[1]
        self._answers: dict[str, bytes] = {}
        self._idle = _answer(IDLE)
        self.asked: Counter[str] = Counter()  # by address
        self._loop = asyncio.new_event_loop()
        self._thread = threading.Thread(target=self._serve, name="pod endpoints", daemon=True)

    def tell(self, address: str, load: Mapping[str, Any]) -> None:
        """From now on the pod at that address answers so."""
        self._answers[address] = _answer(load)

    def answer(self, address: str) -> bytes:
        """Count a request and give what that pod answers."""
        self.asked[address] += 1
        return self._answers.get(address, self._idle)

    def start(self) -> None:
        """Begin to answer."""
        self._thread.start()

    def stop(self) -> None:
        """Cut all connections and end the thread."""
        self._loop.call_soon_threadsafe(self._loop.stop)
        self._thread.join()
        self._listener.close()

    def __enter__(self) -> Self:
        self.start()
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.stop()

    def _serve(self) -> None:
        connections: set[asyncio.Transport] = set()
        creating = self._loop.create_server(lambda: _Connection(self, connections), sock=self._listener)
        server = self._loop.run_until_complete(creating)
        self._loop.run_forever()
        server.close()
        for connection in list(connections):
            connection.abort()
        self._loop.run_until_complete(asyncio.sleep(0))  # lets them end
        self._loop.close()


class _Connection(asyncio.Protocol):
    def __init__(self, endpoints: PodEndpoints, connections: set[asyncio.Transport]) -> None:
        self._endpoints, self._connections = endpoints, connections
        self._received = b""

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        assert isinstance(transport, asyncio.Transport)
        self._transport = transport
        self._address = str(transport.get_extra_info("sockname")[0])
        self._connections.add(transport)

    def data_received(self, data: bytes) -> None:
        *requests, self._received = (self._received + data).split(b"\r\n\r\n")
        for _ in requests:
            self._transport.write(self._endpoints.answer(self._address))

    def connection_lost(self, _exc: Exception | None) -> None:
        self._connections.discard(self._transport)


def _answer(load: Mapping[str, Any]) -> bytes:
    body = json.dumps(load).encode()
    return b"HTTP/1.1 200 OK\r\nContent-Type: application/json\r\nContent-Length: %d\r\n\r\n%s" % (len(body), body)
