"""Loopback ports that nobody else on the machine can take between choosing and listening."""

from __future__ import annotations

import socket
from types import TracebackType
from typing import Self


class Ports:
    """Free ports, each held by a bound socket that never listens.

    The socket and the server share the port by SO_REUSEPORT, which all servers here have a flag for. The kernel gives
    a bound port to nobody else, so two control planes that start together cannot meet.
    """

    def __init__(self) -> None:
        self._held: list[socket.socket] = []

    def reserve(self) -> int:
        """A port that stays ours until `release`; whoever listens on it must set SO_REUSEPORT."""
        holder = socket.socket(socket.AF_INET, socket.SOCK_STREAM)
        holder.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEPORT, 1)
        holder.bind(("127.0.0.1", 0))
        self._held.append(holder)
        return int(holder.getsockname()[1])

    def release(self) -> None:
        """Give all of them back."""
        while self._held:
            self._held.pop().close()

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.release()


def free_port() -> int:
    """A port that was free a moment ago, for a server that does not share its port as those of Go can."""
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        port: int = probe.getsockname()[1]
        return port


def require_free(port: int) -> None:
    """Fail if anybody listens on a port that cannot be chosen: two listeners would share its connections in silence."""
    with socket.socket() as probe:
        probe.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)  # connections that linger do no harm
        try:
            probe.bind(("127.0.0.1", port))
            probe.listen()
        except OSError as error:
            raise RuntimeError(f"127.0.0.1:{port} is in use: stop what listens there, perhaps make cluster") from error
