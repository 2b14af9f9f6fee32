"""The product installed on a control plane: manifests applied with kubectl, every process under its own ServiceAccount.

Only two things differ from a cluster with machines: processes run here rather than in pods, and the webhook's Service
is an ExternalName `localhost`, so that the webhook configurations stay as the manifests have them.
"""

from __future__ import annotations

import os
import subprocess
import sys
import urllib.error
import urllib.request
from collections.abc import Mapping, Sequence
from pathlib import Path
from types import TracebackType
from typing import Self

import yaml

from tests.control_plane import volumes
from tests.control_plane.api import Json
from tests.control_plane.cluster import ControlPlane
from tests.control_plane.ports import free_port, require_free
from tests.control_plane.processes import Process
from tests.control_plane.volumes import Volume

NAMESPACE = "gpu-scheduler"
WEBHOOK = "gpu-scheduler-webhook"
CERTS = "gpu-scheduler-certs"
SCHEDULER = "gpu-scheduler"
DELETION_COST = "gpu-scheduler-deletion-cost"
TLS_SECRET = "gpu-scheduler-webhook-tls"
WEBHOOK_PORT = 8443  # as the manifests have it
MANIFESTS = Path(__file__).parents[2] / "manifests"
GRACE_SECONDS = 30.0


class Bundle:
    """The product, running. `start_scheduler` can be called again for a second replica."""

    def __init__(self, plane: ControlPlane, overlay: Path = MANIFESTS / "overlays" / "kind") -> None:
        self.plane, self.overlay = plane, overlay
        self._processes: list[Process] = []
        self.schedulers: list[Process] = []  # in the order of their start
        self.deletion_costs: dict[str, Process] = {}  # by host and port, in the order of their start
        self._tls = Volume(plane.home / "mounted" / "tls")
        self._configs: dict[str, Volume] = {}

    def install(self) -> None:
        """Apply the manifests, put the Service on loopback, issue the certificates."""
        self.plane.kubectl("apply", "-k", self.overlay)
        self._put_service_on_loopback()
        self.ensure_certificates()

    def ensure_certificates(self, *arguments: str) -> str:
        """Run the Job's own command under its ServiceAccount, then let the Secret reach the webhook's volume."""
        args = [*self._container("batch/v1", "cronjobs", CERTS)["args"], *arguments]
        kubeconfig = self.plane.service_account_kubeconfig(NAMESPACE, CERTS)
        done = subprocess.run(
            [command(), *args, f"--kubeconfig={kubeconfig}"], capture_output=True, text=True, check=False
        )
        if done.returncode:
            raise RuntimeError(f"certs ensure: exit code {done.returncode}\n{done.stdout}{done.stderr}")
        self.mount_certificates()
        return done.stdout + done.stderr

    def mount_certificates(self) -> None:
        """Bring the webhook's volume up to what the Secret holds, as a kubelet does within a minute or two."""
        self._tls.publish(volumes.secret(self.plane.api, NAMESPACE, TLS_SECRET))

    def start_webhook(self) -> Process:
        """Start gunicorn as the webhook's Deployment does and wait until it is ready."""
        require_free(WEBHOOK_PORT)
        probes = free_port()
        extra = [
            f"--tls-dir={self._tls.path}",
            f"--bind=127.0.0.1:{WEBHOOK_PORT}",
            f"--probe-bind=127.0.0.1:{probes}",
        ]
        return self._start(WEBHOOK, extra, f"http://127.0.0.1:{probes}/readyz")

    def start_scheduler(self) -> Process:
        """Start one replica of the scheduler; it is ready when its caches are, leader or not."""
        port = free_port()
        kubeconfig = self.plane.service_account_kubeconfig(NAMESPACE, SCHEDULER)
        extra = [f"--kubeconfig={kubeconfig}", "--bind-address=127.0.0.1", f"--port={port}"]
        self.schedulers.append(self._start(SCHEDULER, extra, f"http://127.0.0.1:{port}/readyz"))
        return self.schedulers[-1]

    def start_deletion_cost(self, settings: Json | None = None) -> Process:
        """Start one replica of the deletion-cost controller, with some settings in place of the manifests' own."""
        host = f"127.0.0.1:{free_port()}"
        kubeconfig = self.plane.service_account_kubeconfig(NAMESPACE, DELETION_COST)
        config = yaml.safe_load((self._mounted_config(DELETION_COST) / "config.yaml").read_text()) | (settings or {})
        file = self.plane.home / f"deletion-cost-{len(self.deletion_costs)}.yaml"
        file.write_text(yaml.safe_dump(config))
        extra = [f"--config={file}", f"--kubeconfig={kubeconfig}", "--bind-address=127.0.0.1"]
        process = self._start(DELETION_COST, [*extra, f"--port={host.split(':')[1]}"], f"http://{host}/readyz")
        self.deletion_costs[host] = process
        return process

    def start(self) -> None:
        """Install everything and start webhook and scheduler; the deletion cost is kept only where a test asks."""
        self.install()
        self.start_webhook()
        self.start_scheduler()

    def stop(self) -> None:
        """Stop exactly what was started here, last first."""
        while self._processes:
            self._processes.pop().stop()

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

    def _put_service_on_loopback(self) -> None:
        path = f"/api/v1/namespaces/{NAMESPACE}/services"
        self.plane.api.delete(f"{path}/{WEBHOOK}")
        spec = {"type": "ExternalName", "externalName": "localhost"}
        self.plane.api.post(path, {"metadata": {"name": WEBHOOK}, "spec": spec})

    def _start(self, deployment: str, extra: Sequence[str], ready: str) -> Process:
        container = self._container("apps/v1", "deployments", deployment)
        config = self._mounted_config(deployment)
        args = [
            str(config / Path(arg).name) if arg.startswith("/etc/gpu-scheduler/") else arg for arg in container["args"]
        ]
        log = self.plane.logs / f"{deployment}-{len(self._processes)}.log"
        process = Process(log, [command(), *args, *extra], self._environment(container, log.stem), GRACE_SECONDS)
        self._processes.append(process)
        process.wait_until(lambda: answers(ready), ready)
        return process

    def _container(self, version: str, resource: str, name: str) -> Json:
        found = self.plane.api.get(f"/apis/{version}/namespaces/{NAMESPACE}/{resource}/{name}")
        spec = found["spec"]["jobTemplate"]["spec"] if resource == "cronjobs" else found["spec"]
        container: Json = spec["template"]["spec"]["containers"][0]
        return container

    def _mounted_config(self, deployment: str) -> Path:
        found = self.plane.api.get(f"/apis/apps/v1/namespaces/{NAMESPACE}/deployments/{deployment}")
        mounted = found["spec"]["template"]["spec"]["volumes"]
        name = next(volume["configMap"]["name"] for volume in mounted if "configMap" in volume)
        if name not in self._configs:
            self._configs[name] = Volume(self.plane.home / "mounted" / name)
            self._configs[name].publish(volumes.config_map(self.plane.api, NAMESPACE, name))
        return self._configs[name].path

    def _environment(self, container: Json, process: str) -> Mapping[str, str]:
        """What the container has, with a folder of its own where it names an emptyDir."""
        folder = self.plane.home / "mounted" / f"{process}-run"
        folder.mkdir(parents=True, exist_ok=True)
        own = {entry["name"]: entry.get("value", "") for entry in container.get("env", [])}
        return {"PATH": os.defpath, "HOME": str(folder)} | {
            name: str(folder) if value.startswith("/") else value for name, value in own.items()
        }


def command() -> str:
    """The installed `gpu-scheduler` of this Python."""
    return str(Path(sys.executable).with_name("gpu-scheduler"))


def answers(url: str) -> bool:
    """Whether a plain HTTP address answers 200."""
    try:
        with urllib.request.urlopen(url, timeout=2) as response:
            return bool(response.status == 200)
    except (OSError, urllib.error.URLError):
        return False
