"""Listening addresses."""

import contextlib
import socket

import pytest

from cluster_model.verdict import BadRequest
from webhook import addresses
from webhook.addresses import Address


@pytest.mark.parametrize(
    ("text", "address"),
    [
        ("127.0.0.1:80", Address("127.0.0.1", 80)),
        ("0.0.0.0:8443", Address("0.0.0.0", 8443)),
        ("[::1]:80", Address("::1", 80)),
        ("localhost:80", Address("localhost", 80)),
    ],
)
def test_address_is_read_and_written_back(text: str, address: Address) -> None:
    assert addresses.read(text, "--bind") == address
    assert str(address) == text


@pytest.mark.parametrize("text", ["", "8080", "host", "host:", "host:0", "host:65536", "host:x", "host:-1", "host:٣"])
def test_malformed_address_is_refused(text: str) -> None:
    with pytest.raises(BadRequest, match=r"--bind: Invalid value: .*: must be host:port"):
        addresses.read(text, "--bind")


def test_wildcard_takes_what_the_machine_has_and_is_reached_as_localhost() -> None:
    address = addresses.read("[::]:8443", "--bind")

    assert address.host == ("::" if socket.has_dualstack_ipv6() else "0.0.0.0")
    assert address.to_ourselves == ("localhost", 8443)


def test_socket_listens() -> None:
    with contextlib.closing(addresses.listen(Address("127.0.0.1", 0))) as listener:
        socket.create_connection(listener.getsockname()[:2], timeout=5).close()
