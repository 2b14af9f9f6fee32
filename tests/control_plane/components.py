"""The command line of each server, as values: what a test cluster needs set and why. Starts nothing."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

SERVICE_CIDR = "10.96.0.0/16"
API_SERVICE_ADDRESS = "10.96.0.1"
ISSUER = "https://kubernetes.default.svc.cluster.local"


@dataclass(frozen=True, slots=True)
class Layout:
    """Where one control plane has its binaries, its files and its ports."""

    binaries: Path
    home: Path
    etcd_port: int
    etcd_peer_port: int
    api_port: int
    controller_manager_port: int
    scheduler_port: int

    @property
    def pki(self) -> Path:
        """Certificates and keys."""
        return self.home / "pki"

    @property
    def logs(self) -> Path:
        """One file per server."""
        return self.home / "logs"

    def kubeconfig(self, identity: str) -> Path:
        """The kubeconfig of one identity."""
        return self.home / "kubeconfigs" / f"{identity}.yaml"

    @property
    def etcd_url(self) -> str:
        """Where the API server finds etcd."""
        return f"https://127.0.0.1:{self.etcd_port}"

    @property
    def url(self) -> str:
        """Where clients find the API server."""
        return f"https://127.0.0.1:{self.api_port}"


def etcd(at: Layout) -> list[str]:
    """etcd without fsync: the data is thrown away, and a disk would set the pace."""
    peer = f"https://127.0.0.1:{at.etcd_peer_port}"
    return [
        str(at.binaries / "etcd"),
        f"--data-dir={at.home / 'etcd'}",
        "--unsafe-no-fsync",
        "--socket-reuse-port",
        f"--listen-client-urls={at.etcd_url}",
        f"--advertise-client-urls={at.etcd_url}",
        f"--listen-peer-urls={peer}",
        f"--initial-advertise-peer-urls={peer}",
        f"--initial-cluster=default={peer}",
        f"--cert-file={at.pki / 'etcd.crt'}",
        f"--key-file={at.pki / 'etcd.key'}",
        f"--trusted-ca-file={at.pki / 'etcd-ca.crt'}",
        "--client-cert-auth",
        f"--peer-cert-file={at.pki / 'etcd.crt'}",
        f"--peer-key-file={at.pki / 'etcd.key'}",
        f"--peer-trusted-ca-file={at.pki / 'etcd-ca.crt'}",
        "--peer-client-cert-auth",
        "--quota-backend-bytes=4294967296",
        "--log-level=warn",
    ]


def api_server(at: Layout) -> list[str]:
    """The API server with RBAC, ServiceAccount tokens, the default admission plugins and room for benchmarks.

    No endpoints are published for the `kubernetes` Service: a loopback address is not valid there.
    """
    return [
        str(at.binaries / "kube-apiserver"),
        f"--etcd-servers={at.etcd_url}",
        f"--etcd-cafile={at.pki / 'etcd-ca.crt'}",
        f"--etcd-certfile={at.pki / 'etcd.crt'}",
        f"--etcd-keyfile={at.pki / 'etcd.key'}",
        "--bind-address=127.0.0.1",
        "--advertise-address=127.0.0.1",
        "--endpoint-reconciler-type=none",
        f"--secure-port={at.api_port}",
        "--permit-port-sharing",
        f"--tls-cert-file={at.pki / 'apiserver.crt'}",
        f"--tls-private-key-file={at.pki / 'apiserver.key'}",
        f"--client-ca-file={at.pki / 'ca.crt'}",
        "--authorization-mode=RBAC",
        f"--service-account-issuer={ISSUER}",
        f"--service-account-key-file={at.pki / 'service-account.pub'}",
        f"--service-account-signing-key-file={at.pki / 'service-account.key'}",
        f"--service-cluster-ip-range={SERVICE_CIDR}",
        "--allow-privileged",
        "--profiling=false",
        "--max-requests-inflight=6000",
        "--max-mutating-requests-inflight=3000",
    ]


def controller_manager(at: Layout) -> list[str]:
    """All default controllers, no election, unthrottled.

    Nodes have an hour to renew their leases: a thousand fake ones then cost next to nothing.
    """
    identity = at.kubeconfig("kube-controller-manager")
    return [
        str(at.binaries / "kube-controller-manager"),
        f"--kubeconfig={identity}",
        f"--authentication-kubeconfig={identity}",
        f"--authorization-kubeconfig={identity}",
        "--bind-address=127.0.0.1",
        f"--secure-port={at.controller_manager_port}",
        "--permit-port-sharing",
        *_serving(at),
        "--leader-elect=false",
        "--use-service-account-credentials",
        f"--service-account-private-key-file={at.pki / 'service-account.key'}",
        f"--root-ca-file={at.pki / 'ca.crt'}",
        f"--cluster-signing-cert-file={at.pki / 'ca.crt'}",
        f"--cluster-signing-key-file={at.pki / 'ca.key'}",
        "--node-monitor-grace-period=1h",
        "--kube-api-qps=2000",
        "--kube-api-burst=4000",
        "--profiling=false",
    ]


def scheduler(at: Layout, config: Path) -> list[str]:
    """The stock scheduler with a configuration file, which also names its kubeconfig."""
    identity = at.kubeconfig("kube-scheduler")
    return [
        str(at.binaries / "kube-scheduler"),
        f"--config={config}",
        f"--authentication-kubeconfig={identity}",
        f"--authorization-kubeconfig={identity}",
        "--bind-address=127.0.0.1",
        f"--secure-port={at.scheduler_port}",
        "--permit-port-sharing",
        *_serving(at),
    ]


def _serving(at: Layout) -> tuple[str, ...]:
    """TLS and client certificates for a server's own /healthz and /metrics, without asking the cluster for them."""
    return (
        f"--tls-cert-file={at.pki / 'loopback.crt'}",
        f"--tls-private-key-file={at.pki / 'loopback.key'}",
        f"--client-ca-file={at.pki / 'ca.crt'}",
        "--authentication-skip-lookup",
    )
