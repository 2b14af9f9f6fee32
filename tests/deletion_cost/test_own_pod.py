"""A pod finds out who it is, and writes one annotation of its own and nothing else."""

from __future__ import annotations

import socket
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from cluster_model import deletion_cost
from deletion_cost import own_pod
from deletion_cost.own_pod import NotWritten, OwnPod
from tests.control_plane.pki import Authority
from tests.deletion_cost.pod_api import CLAIMS, PodApi


@pytest.fixture
def api(tmp_path: Path) -> Iterator[PodApi]:
    with PodApi(tmp_path) as running:
        yield running


def identity(pod: OwnPod) -> tuple[str, str, str | None]:
    return pod.namespace, pod.name, pod.uid


def test_the_annotation_is_the_one_that_all_use() -> None:
    assert own_pod.ANNOTATION == deletion_cost.ANNOTATION


def test_a_bound_token_tells_the_pod(api: PodApi) -> None:
    """Also where the host's name is another one: a pod on the host's network, or with a hostname of its own."""
    assert identity(api.pod()) == ("team", "web-1", "uid-1")


def test_the_environment_comes_first(api: PodApi) -> None:
    assert identity(api.pod(POD_NAME="web-1", POD_NAMESPACE="team")) == ("team", "web-1", "uid-1")
    assert identity(api.pod(POD_NAME="other")) == ("team", "other", None)


@pytest.mark.parametrize(
    "claims", [{"namespace": "team"}, {}, None, [], {"namespace": "team", "pod": "x"}, {"namespace": "team", "pod": {}}]
)
def test_a_token_that_is_bound_to_no_pod_leaves_the_hosts_name(api: PodApi, claims: Any) -> None:
    api.token("x", claims)
    assert identity(api.pod()) == ("team", socket.gethostname(), None)


@pytest.mark.parametrize("token", ["", "x", "a.b.c", "a.!!.c", "a.e30.c", "ä"])
def test_a_token_that_is_none_leaves_the_hosts_name(api: PodApi, token: str) -> None:
    (api.mount / "token").write_text(token)
    assert identity(api.pod()) == ("team", socket.gethostname(), None)


def test_outside_a_cluster_there_is_no_pod(tmp_path: Path) -> None:
    with pytest.raises(LookupError, match="not in a cluster"):
        OwnPod.find({}, tmp_path)
    with pytest.raises(LookupError, match="namespace is not known"):
        OwnPod.find({"KUBERNETES_SERVICE_HOST": "127.0.0.1"}, tmp_path)


def test_one_key_is_patched_under_the_reporters_name(api: PodApi) -> None:
    api.pod().write(42)

    [call] = api.calls
    assert call.path == "/api/v1/namespaces/team/pods/web-1?fieldManager=deletion-cost-reporter"
    assert call.kind == "application/merge-patch+json"
    assert call.body == {"metadata": {"uid": "uid-1", "annotations": {own_pod.ANNOTATION: "42"}}}


def test_without_a_uid_none_is_sent(api: PodApi) -> None:
    api.token("x", {"namespace": "team"})
    api.pod(POD_NAME="web-1").write(-50)
    assert api.calls[0].body == {"metadata": {"annotations": {own_pod.ANNOTATION: "-50"}}}


def test_the_token_is_read_anew_each_time(api: PodApi) -> None:
    pod = api.pod()
    pod.write(1)
    renewed = api.token("second")
    pod.write(2)
    assert [call.token for call in api.calls][1] == f"Bearer {renewed}" != api.calls[0].token


@pytest.mark.parametrize(
    ("status", "is_final"),
    [
        *((status, False) for status in (401, 403, 408, 409, 429, 500, 503, 504)),
        *((status, True) for status in (301, 400, 404, 410, 422)),
    ],
)
def test_what_never_passes_is_told_from_what_may(api: PodApi, status: int, is_final: bool) -> None:
    api.script.then(status, 'pods "web-1" is forbidden:\n no')
    with pytest.raises(NotWritten, match=f'HTTP {status}: pods "web-1" is forbidden: no') as error:
        api.pod().write(1)
    assert error.value.is_final == is_final


@pytest.mark.parametrize(("said", "seconds"), [("7", 7.0), ("soon", None), ("-1", None), ("", None)])
def test_the_servers_pause_is_read(api: PodApi, said: str, seconds: float | None) -> None:
    api.script.then(429, Retry_After=said)
    with pytest.raises(NotWritten) as error:
        api.pod().write(1)
    assert error.value.retry_seconds == seconds


def test_a_connection_that_breaks_is_tried_again(api: PodApi) -> None:
    api.script.then(0)
    with pytest.raises(NotWritten) as error:
        api.pod().write(1)
    assert not error.value.is_final


def test_nobody_there_is_tried_again(api: PodApi) -> None:
    with socket.create_server(("127.0.0.1", 0)) as free:
        port = free.getsockname()[1]
    pod = OwnPod("team", "web-1", None, "127.0.0.1", port, api.mount)
    with pytest.raises(NotWritten, match="ConnectionRefusedError"):
        pod.write(1)


def test_a_server_of_another_authority_gets_no_token(api: PodApi) -> None:
    (api.mount / "ca.crt").write_bytes(Authority.create("other").pair().certificate)
    with pytest.raises(NotWritten, match="CERTIFICATE_VERIFY_FAILED") as error:
        api.pod().write(1)
    assert (api.calls, error.value.is_final) == ([], False)


def test_without_an_authority_nothing_is_sent(api: PodApi) -> None:
    (api.mount / "ca.crt").unlink()
    with pytest.raises(NotWritten, match="FileNotFoundError"):
        api.pod().write(1)
    assert api.calls == []


def test_names_cannot_lead_elsewhere() -> None:
    pod = OwnPod("a/b", "../../secrets?x=1", None, "127.0.0.1", 1)
    assert pod.path == "/api/v1/namespaces/a%2Fb/pods/..%2F..%2Fsecrets%3Fx%3D1?fieldManager=deletion-cost-reporter"


def test_the_claims_are_those_of_a_real_token() -> None:
    """The names under which the API server puts them; test_application_rights reads a real one."""
    assert set(CLAIMS) == {"namespace", "pod", "serviceaccount"}
