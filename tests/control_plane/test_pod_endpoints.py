"""The endpoints of fake pods: told by address, over kept connections, gone after the block."""

import http.client

import pytest

from tests.control_plane.pod_endpoints import PodEndpoints


def get(address: str, port: int, times: int = 1) -> list[bytes]:
    """Ask over one connection."""
    connection = http.client.HTTPConnection(address, port, timeout=5)
    answers = []
    for _ in range(times):
        connection.request("GET", "/deletion-cost")
        answers.append(connection.getresponse().read())
    connection.close()
    return answers


def test_each_address_answers_for_its_pod() -> None:
    """A busy pod and an idle one share the listener, not the answer; both see who asked."""
    with PodEndpoints() as endpoints:
        endpoints.tell("127.64.1.1", {"active_requests": 3})
        assert get("127.64.1.1", endpoints.port, times=2) == [b'{"active_requests": 3}'] * 2
        assert get("127.64.1.2", endpoints.port) == [b'{"active_requests": 0}']
        assert endpoints.asked == {"127.64.1.1": 2, "127.64.1.2": 1}
    with pytest.raises(ConnectionRefusedError):
        get("127.64.1.1", endpoints.port)
