"""Listening addresses as people write them, `host:port` or `[host]:port`. Opens sockets, serves nothing."""

import socket
from dataclasses import dataclass

from cluster_model.verdict import BadRequest, Problem

_WILDCARDS = ("", "::", "0.0.0.0")


@dataclass(frozen=True, slots=True)
class Address:
    """One listening address."""

    host: str
    port: int

    def __str__(self) -> str:
        return f"[{self.host}]:{self.port}" if ":" in self.host else f"{self.host}:{self.port}"

    @property
    def to_ourselves(self) -> tuple[str, int]:
        """Where the same machine reaches it."""
        return ("localhost" if self.host in _WILDCARDS else self.host), self.port


def read(text: str, path: str) -> Address:
    """Read an address; on a machine without IPv6 the wildcard `[::]` becomes `0.0.0.0`."""
    host, colon, port = text.rpartition(":")
    if not colon or not port.isascii() or not port.isdigit() or not 0 < int(port) < 65536:
        raise BadRequest(Problem(path, text, "must be host:port or [host]:port, with a port of 1 to 65535"))
    host = host.removeprefix("[").removesuffix("]")
    if host in ("", "::") and not socket.has_dualstack_ipv6():
        host = "0.0.0.0"
    return Address(host, int(port))


def listen(address: Address) -> socket.socket:
    """Open a listening socket; a wildcard takes both families where there are two."""
    family = socket.AF_INET6 if ":" in address.host else socket.AF_INET
    return socket.create_server(
        (address.host, address.port), family=family, backlog=64, dualstack_ipv6=address.host == "::"
    )
