"""A certificate rotation and the death of the leader in the middle of a burst of pods: nothing lost, nothing twice."""

import signal
import ssl
import threading
import time
from collections import Counter

import pytest
from cryptography import x509

from tests.control_plane import waiting
from tests.control_plane.bundle import WEBHOOK_PORT, Bundle
from tests.e2e import objects

pytestmark = pytest.mark.control_plane

GPUS = {"a100-0": 4, "a100-1": 4, "h100-0": 8}
COUNT = sum(GPUS.values())
# The CA that is there (two years) does not outlive such a certificate, so a new one is due; both overlap for a day.
ROTATE = ("--validity-days=731", "--ca-validity-days=2000", "--propagation-seconds=1")
SELECTOR = "burst=yes"


def served_issuer() -> bytes:
    """Which CA signed what a new connection to the webhook is shown."""
    text = ssl.get_server_certificate(("127.0.0.1", WEBHOOK_PORT))
    shown = x509.load_pem_x509_certificate(text.encode())
    key = shown.extensions.get_extension_for_class(x509.AuthorityKeyIdentifier).value.key_identifier
    assert key is not None
    return key


def create_burst(bundle: Bundle) -> None:
    """Create exactly as many one-GPU pods as there are GPUs, over some seconds."""
    for number in range(COUNT):
        body = objects.pod(f"burst-{number}", 1, model="A100,H100")
        body["metadata"]["labels"] = {"burst": "yes"}
        bundle.plane.api.post("/api/v1/namespaces/default/pods", body)
        time.sleep(0.4)


def test_rotation_and_leader_kill_in_a_burst_lose_nothing(bundle: Bundle) -> None:
    standby, leader, before = bundle.start_scheduler(), bundle.schedulers[0], served_issuer()
    burst = threading.Thread(target=create_burst, args=(bundle,))
    burst.start()
    waiting.until(lambda: any(pod["spec"].get("nodeName") for pod in objects.pods(bundle, SELECTOR)), "a first bind")
    leader.signal(signal.SIGKILL)
    bundle.ensure_certificates(*ROTATE)
    burst.join()
    waiting.until(lambda: objects.bound(objects.pods(bundle, SELECTOR), COUNT), "every pod running", timeout_seconds=60)
    found = objects.pods(bundle, SELECTOR)
    assert {pod["spec"]["schedulerName"] for pod in found} == {"gpu-scheduler"}, "a pod went past the webhook"
    assert Counter(pod["spec"]["nodeName"] for pod in found) == GPUS
    assert served_issuer() != before
    assert standby.exit_code() is None
    assert leader.exit_code() is not None
    bundle.plane.kubectl("delete", "pods", "-l", SELECTOR)
