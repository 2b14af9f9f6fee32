"""OpenSSL's judgement, over loopback: what the rotation's steps serve and trust really shakes hands."""

import socket
import ssl
import threading
from datetime import UTC, datetime, timedelta
from pathlib import Path

import pytest

from certs import rotate
from certs.material import Material
from certs.rotate import Step
from tests.certs.world import CONTEXT, NAMES

NOW = datetime.now(UTC)
OLD = rotate.carry_out(Step.CREATE, None, (), NOW - timedelta(days=1), CONTEXT)
BOTH = rotate.carry_out(Step.NEW_CA, OLD, (), NOW, CONTEXT)
SWITCHED = rotate.carry_out(Step.NEW_LEAF, BOTH, (), NOW, CONTEXT)
DROPPED = rotate.carry_out(Step.DROP_OLD, SWITCHED, (), NOW, CONTEXT)


def shake_hands(bundle: bytes, served: Material, folder: Path, name: str = NAMES.required) -> bool:
    server = ssl.create_default_context(ssl.Purpose.CLIENT_AUTH)
    (folder / "pair.pem").write_bytes(served.certificate + served.key)
    server.load_cert_chain(folder / "pair.pem")
    client = ssl.create_default_context(cadata=bundle.decode())
    client.verify_flags |= ssl.VERIFY_X509_STRICT
    near, far = socket.socketpair()
    with near, far:
        thread = threading.Thread(target=_serve, args=(server, far))
        thread.start()
        try:
            with client.wrap_socket(near, server_hostname=name):
                return True
        except ssl.SSLCertVerificationError:
            return False
        finally:
            near.close()
            thread.join(10)


def _serve(context: ssl.SSLContext, connection: socket.socket) -> None:
    try:
        context.wrap_socket(connection, server_side=True).close()
    except OSError:
        return  # the client has refused


@pytest.mark.parametrize(
    ("bundle", "served"),
    [(OLD, OLD), (BOTH, OLD), (BOTH, SWITCHED), (SWITCHED, OLD), (DROPPED, SWITCHED), (DROPPED, DROPPED)],
)
def test_every_pair_that_can_meet_shakes_hands(bundle: Material, served: Material, tmp_path: Path) -> None:
    assert shake_hands(bundle.bundle, served, tmp_path)
    assert shake_hands(bundle.bundle, served, tmp_path, "127.0.0.1")


@pytest.mark.parametrize(("bundle", "served"), [(OLD, SWITCHED), (DROPPED, OLD)])
def test_pairs_that_the_order_keeps_apart_would_not(bundle: Material, served: Material, tmp_path: Path) -> None:
    assert not shake_hands(bundle.bundle, served, tmp_path)


def test_another_services_name_is_refused(tmp_path: Path) -> None:
    assert not shake_hands(OLD.bundle, OLD, tmp_path, "other.gpu-scheduler.svc")
