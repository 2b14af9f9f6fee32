"""A fake kubelet for all nodes of a control plane: it registers them, keeps them Ready and pretends to run their pods.

It runs in threads of the caller, or as a process of its own with `python -m tests.control_plane.kubelet`.
"""

from __future__ import annotations

import argparse
import ipaddress
import itertools
import logging
import signal
import threading
from collections.abc import Callable, Iterable
from concurrent.futures import ThreadPoolExecutor
from functools import partial
from pathlib import Path
from types import TracebackType
from typing import Self

import urllib3

from tests.control_plane import nodes, pods, waiting
from tests.control_plane.api import Api, ApiError, Json
from tests.control_plane.follower import Follower

WORKERS = 8
RENEW_SECONDS = 600.0  # the controller manager gives nodes an hour
RETRY_SECONDS = 0.2
POD_NETWORK = ipaddress.IPv4Network("10.128.0.0/9")
LOOPBACK_NETWORK = ipaddress.IPv4Network("127.64.0.0/10")
FINAL = (404, 409, 422)  # the object is gone, another took its name, or the API server will never take this


class Kubelet:
    """All nodes' kubelet; use it as a context manager. With `run_pods=False` it leaves pods alone.

    Each pod gets the next address of `pod_network`; in LOOPBACK_NETWORK a listener can answer for it.
    """

    def __init__(
        self,
        kubeconfig: Path,
        run_pods: bool = True,
        renew_seconds: float = RENEW_SECONDS,
        pod_network: ipaddress.IPv4Network = POD_NETWORK,
    ) -> None:
        self._api = Api(kubeconfig, connections=WORKERS + 2)
        self._log = logging.getLogger(__name__)
        self._names: list[str] = []
        # A map, since a generator must not be asked by two threads at once.
        self._addresses = map(pod_network.__getitem__, itertools.count(256))
        self._stopping = threading.Event()
        self._workers = ThreadPoolExecutor(WORKERS, thread_name_prefix="kubelet-worker")
        self._renewer = threading.Thread(target=self._renew_leases, name="kubelet-leases", daemon=True)
        self.pod_follower = Follower(self._api, "/api/v1/pods", self._see, fieldSelector="spec.nodeName!=")
        self._run_pods, self._renew_seconds = run_pods, renew_seconds
        self._started: set[str] = set()  # pod uids, touched by the follower's thread only

    def create_nodes(self, documents: Iterable[Json]) -> list[str]:
        """Register nodes as they are in the documents, status included; give their names."""
        names = list(self._workers.map(self._create_node, documents))
        self._names.extend(names)
        return names

    def wait_ready(self, names: Iterable[str] | None = None, timeout_seconds: float = 60) -> None:
        """Return once the nodes (all created here, if none are named) are Ready and untainted."""
        wanted = set(self._names if names is None else names)
        what = f"{len(wanted)} nodes Ready and without the not-ready taint"
        waiting.until(lambda: wanted <= self._ready_nodes(), what, timeout_seconds, pause_seconds=0.2)

    def set_ready(self, name: str, ready: bool) -> None:
        """Let a node fail, or come back."""
        self._api.patch(f"/api/v1/nodes/{name}/status", {"status": {"conditions": [nodes.ready_condition(ready)]}})

    def delete_nodes(self, names: Iterable[str] | None = None) -> None:
        """Take nodes (all created here, if none are named) out of the cluster."""
        gone = list(self._names if names is None else names)
        self._names = [name for name in self._names if name not in gone]
        list(self._workers.map(lambda name: self._api.delete(f"/api/v1/nodes/{name}"), gone))

    def cut_watch(self) -> None:
        """Break the running watch as a network would; the kubelet resumes it."""
        self.pod_follower.cut()

    def start(self) -> None:
        """Begin to renew leases and to run pods."""
        self._renewer.start()
        if self._run_pods:
            self.pod_follower.start()

    def stop(self) -> None:
        """End all threads; nodes and pods stay as they are."""
        self._stopping.set()
        if self._run_pods:
            self.pod_follower.stop()
        self._renewer.join()
        self._workers.shutdown(cancel_futures=True)
        self._api.close()

    def __enter__(self) -> Self:
        self.start()
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.stop()

    def _create_node(self, document: Json) -> str:
        created = self._api.post("/api/v1/nodes", nodes.registration(document))
        self._api.post(nodes.LEASES, nodes.lease(created))
        return str(created["metadata"]["name"])

    def _ready_nodes(self) -> set[str]:
        listed = self._api.get("/api/v1/nodes", resourceVersion="0")["items"]
        return {node["metadata"]["name"] for node in listed if nodes.is_ready(node)}

    def _renew_leases(self) -> None:
        """One lease after the other, evenly over the period, so that a thousand make no burst."""
        turn = 0
        while not self._stopping.wait(self._renew_seconds / max(len(self._names), 1)):
            names = self._names
            if names:
                turn = (turn + 1) % len(names)
                self._persist(partial(self._renew, names[turn]))

    def _renew(self, name: str) -> None:
        self._api.patch(f"{nodes.LEASES}/{name}", {"spec": {"renewTime": nodes.now(precise=True)}})

    def _see(self, kind: str, pod: Json) -> None:
        uid = pod["metadata"]["uid"]
        if kind == "DELETED":
            self._started.discard(uid)
        elif "deletionTimestamp" in pod["metadata"]:
            self._later(lambda: self._finish(pod))
        elif pod["status"]["phase"] == "Pending" and uid not in self._started:
            self._started.add(uid)
            self._later(lambda: self._run(pod))

    def _run(self, pod: Json) -> None:
        self._api.patch(f"{pods.path(pod)}/status", pods.running(pod, str(next(self._addresses))))

    def _finish(self, pod: Json) -> None:
        options = {"gracePeriodSeconds": 0, "preconditions": {"uid": pod["metadata"]["uid"]}}
        self._api.delete(pods.path(pod), options)

    def _later(self, call: Callable[[], object]) -> None:
        if not self._stopping.is_set():
            self._workers.submit(self._persist, call)

    def _persist(self, call: Callable[[], object]) -> None:
        """Repeat until it is done, or the object is gone: the server may be away for a while."""
        while not self._stopping.is_set():
            try:
                call()
            except ApiError as error:
                if error.status in FINAL:
                    return
                self._log.warning("call refused, will be repeated: %s", error)
            except urllib3.exceptions.HTTPError as error:
                self._log.warning("call failed, will be repeated: %s", error)
            else:
                return
            self._stopping.wait(RETRY_SECONDS)


def main() -> None:
    """Register the nodes of YAML files and run pods until SIGTERM or SIGINT."""
    parser = argparse.ArgumentParser(description="A fake kubelet for a control plane without machines.")
    parser.add_argument("kubeconfig", type=Path)
    parser.add_argument("nodes", type=Path, nargs="*", help="YAML files with Node objects")
    parser.add_argument("--no-pods", action="store_true", help="leave pods alone")
    arguments = parser.parse_args()
    signals = {signal.SIGTERM, signal.SIGINT}
    signal.pthread_sigmask(signal.SIG_BLOCK, signals)  # threads inherit it: only sigwait below sees them
    with Kubelet(arguments.kubeconfig, run_pods=not arguments.no_pods) as kubelet:
        kubelet.create_nodes(node for file in arguments.nodes for node in nodes.from_yaml(file))
        kubelet.wait_ready()
        print("ready", flush=True)
        signal.sigwait(signals)


if __name__ == "__main__":
    main()
