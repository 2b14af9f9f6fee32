"""A provisioner of volumes for tests: what a CSI driver's external provisioner does, without any driver.

It makes a volume for each claim that was sent to a node, usable in that node's zone alone, or gives the claim back.
"""

from __future__ import annotations

import threading
from typing import Any

from tests.control_plane.api import Api, Json

NAME = "fake.example.com"
ZONE = "topology.kubernetes.io/zone"
SELECTED_NODE = "volume.kubernetes.io/selected-node"
CLAIMS = "/api/v1/persistentvolumeclaims"
SECONDS = 0.1  # between two looks


class Provisioner:
    """Looks at all claims in a thread of its own; `refusing` names nodes that it makes nothing for."""

    def __init__(self, api: Api) -> None:
        self._api = api
        self._stopping = threading.Event()
        self._thread = threading.Thread(target=self._run, daemon=True)
        self.refusing: set[str] = set()
        self.refused: list[str] = []
        self.idle = False

    def __enter__(self) -> Provisioner:
        self._thread.start()
        return self

    def __exit__(self, *_: object) -> None:
        self._stopping.set()
        self._thread.join()

    def _run(self) -> None:
        while not self._stopping.wait(SECONDS):
            for claim in [] if self.idle else self._api.get(CLAIMS)["items"]:
                self._look(claim)

    def _look(self, claim: Json) -> None:
        notes = claim["metadata"].get("annotations", {})
        node = notes.get(SELECTED_NODE)
        mine = notes.get("volume.kubernetes.io/storage-provisioner") == NAME
        if not node or not mine or claim["spec"].get("volumeName"):
            return
        if node in self.refusing:
            self._give_back(claim, node)
        elif not self._api.ok(f"/api/v1/persistentvolumes/{_name(claim)}"):
            self._api.post("/api/v1/persistentvolumes", self._volume(claim, node))

    def _give_back(self, claim: Json, node: str) -> None:
        """Take the node off the claim, by which a provisioner says that another one should be tried."""
        meta = claim["metadata"]
        self.refused.append(node)
        path = f"/api/v1/namespaces/{meta['namespace']}/persistentvolumeclaims/{meta['name']}"
        self._api.patch(path, {"metadata": {"annotations": {SELECTED_NODE: None}}})

    def _volume(self, claim: Json, node: str) -> Json:
        zone = self._api.get(f"/api/v1/nodes/{node}")["metadata"]["labels"][ZONE]
        meta, spec = claim["metadata"], claim["spec"]
        wanted: dict[str, Any] = {"key": ZONE, "operator": "In", "values": [zone]}
        return {
            "metadata": {"name": _name(claim), "annotations": {"pv.kubernetes.io/provisioned-by": NAME}},
            "spec": {
                "capacity": {"storage": spec["resources"]["requests"]["storage"]},
                "accessModes": spec["accessModes"],
                "storageClassName": spec["storageClassName"],
                "claimRef": {key: meta[key] for key in ("namespace", "name", "uid")},
                "csi": {"driver": NAME, "volumeHandle": _name(claim)},
                "nodeAffinity": {"required": {"nodeSelectorTerms": [{"matchExpressions": [wanted]}]}},
                "persistentVolumeReclaimPolicy": "Retain",
            },
        }


def _name(claim: Json) -> str:
    return f"pvc-{claim['metadata']['uid']}"
