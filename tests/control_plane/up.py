"""A GPU cluster without a GPU, to try kubectl on: control plane, example nodes, the product. Runs until Ctrl-C."""

from __future__ import annotations

import signal
import sys
from pathlib import Path

from tests.control_plane import nodes
from tests.control_plane.bundle import Bundle
from tests.control_plane.cluster import ControlPlane, kubectl_binary
from tests.control_plane.kubelet import Kubelet

ROOT = Path(__file__).parents[2]
EXAMPLE_NODES = ROOT / "cli" / "examples" / "nodes.yaml"

GUIDE = """
A cluster with {count} nodes is running, with the webhook and the scheduler on it.

  export KUBECONFIG={kubeconfig}
  {kubectl} get nodes
  {kubectl} apply -f manifests/examples/deployment.yaml
  {kubectl} get pods -o wide
  {kubectl} apply -f manifests/examples/refused.yaml     # refused, with the reason

Logs of all processes are in {logs}. Ctrl-C ends it and removes everything.
"""


def main() -> int:
    """Start everything, say how to use it, wait for a signal, stop everything."""
    signal.signal(signal.SIGTERM, signal.default_int_handler)
    try:
        serve()
    except KeyboardInterrupt:
        sys.stdout.write("\nstopped, everything removed\n")
    return 0


def serve() -> None:
    """Run the cluster until an interrupt, which may come at any moment: each part stops what it started."""
    sys.stdout.write("starting etcd, the API server, the controller-manager, kube-scheduler and the product …\n")
    sys.stdout.flush()
    with ControlPlane() as plane, Kubelet(plane.kubeconfig) as kubelet:
        names = kubelet.create_nodes(nodes.from_yaml(EXAMPLE_NODES))
        plane.start_scheduler()  # for the pods that are not ours
        with Bundle(plane):
            kubelet.wait_ready()
            sys.stdout.write(
                GUIDE.format(count=len(names), kubeconfig=plane.kubeconfig, kubectl=kubectl_binary(), logs=plane.logs)
            )
            sys.stdout.flush()
            while True:
                signal.pause()


if __name__ == "__main__":
    sys.exit(main())
