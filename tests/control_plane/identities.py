"""Lays down the files that the servers of one cluster read: its certificates, keys and kubeconfigs."""

from __future__ import annotations

from tests.control_plane import credentials, pki
from tests.control_plane.components import API_SERVICE_ADDRESS, Layout
from tests.control_plane.credentials import Endpoint
from tests.control_plane.pki import Authority, Pair

ADMIN = "admin"
# identity -> groups; Kubernetes knows the two others by their names
IDENTITIES = {ADMIN: ("system:masters",), "kube-controller-manager": (), "kube-scheduler": ()}
API_HOSTS = ("127.0.0.1", "localhost", "kubernetes.default.svc", "kubernetes.default", API_SERVICE_ADDRESS)


def lay_down(at: Layout) -> tuple[Authority, Endpoint]:
    """Write everything; the authority comes back so that it can issue further users."""
    authority, etcd = Authority.create("control-plane"), Authority.create("etcd")
    _write(at, "ca", authority.pair())
    _write(at, "etcd-ca", etcd.pair())
    _write(at, "etcd", etcd.issue("etcd", hosts=("127.0.0.1", "localhost")))
    _write(at, "apiserver", authority.issue("kube-apiserver", hosts=API_HOSTS))
    _write(at, "loopback", authority.issue("loopback", hosts=("127.0.0.1", "localhost")))
    signing = pki.signing_pair()
    credentials.write_private(at.pki / "service-account.pub", signing.certificate)
    credentials.write_private(at.pki / "service-account.key", signing.key)
    endpoint = Endpoint(at.url, authority.pair().certificate)
    for identity, groups in IDENTITIES.items():
        user = identity if groups else f"system:{identity}"
        pair = authority.issue(user, groups)
        credentials.write_kubeconfig(at.kubeconfig(identity), endpoint, credentials.from_pair(pair))
    return authority, endpoint


def _write(at: Layout, name: str, pair: Pair) -> None:
    credentials.write_private(at.pki / f"{name}.crt", pair.certificate)
    credentials.write_private(at.pki / f"{name}.key", pair.key)
