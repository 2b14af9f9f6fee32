"""Renders kustomizations as kubectl does and finds things in the result. Talks to no cluster."""

from __future__ import annotations

import functools
import os
import subprocess
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

import yaml

from tests.control_plane.cluster import kubectl_binary

Json = dict[str, Any]
ROOT = Path(__file__).parents[2] / "manifests"
OVERLAYS = sorted(path.parent.name for path in ROOT.glob("overlays/*/kustomization.yaml"))
# A patch for where another Service stands in its place: the API server would not turn the one into the other.
WITHOUT_SERVICE = {
    "patch": "{$patch: delete, apiVersion: v1, kind: Service, metadata: {name: gpu-scheduler-webhook}}",
    "target": {"kind": "Service"},
}
COMPONENTS = sorted(path.parent.name for path in ROOT.glob("components/*/kustomization.yaml"))


def render(folder: Path) -> list[Json]:
    """All objects of a kustomization, in the order in which kubectl applies them."""
    done = subprocess.run([kubectl_binary(), "kustomize", folder], capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    return list(yaml.safe_load_all(done.stdout))


@functools.cache
def overlay(name: str) -> tuple[Json, ...]:
    """One of our overlays; the result is shared, so nobody may change it."""
    return tuple(render(ROOT / "overlays" / name))


def write(folder: Path, *, base: str = "base", components: Sequence[str] = (), **fields: Any) -> Path:
    """Write a kustomization over one of ours with some of our components and further fields; return its folder."""
    folder.mkdir(parents=True, exist_ok=True)
    to_ours = os.path.relpath(ROOT, folder.resolve())
    document = {
        "resources": [f"{to_ours}/{base}"],
        "components": [f"{to_ours}/components/{name}" for name in components],
        **fields,
    }
    (folder / "kustomization.yaml").write_text(yaml.safe_dump(document))
    return folder


def only(objects: Sequence[Json], kind: str, name: str | None = None) -> Json:
    """The single object of a kind, and of a name if one is given."""
    [found] = [item for item in of_kind(objects, kind) if name in (None, item["metadata"]["name"])]
    return found


def of_kind(objects: Sequence[Json], kind: str) -> list[Json]:
    """All objects of a kind."""
    return [item for item in objects if item["kind"] == kind]


def pods(objects: Sequence[Json]) -> Iterator[tuple[str, Json]]:
    """Every pod spec that the objects lead to, with the kind of its owner."""
    for item in objects:
        if item["kind"] in ("Deployment", "Job"):
            yield item["kind"], item["spec"]["template"]["spec"]
        if item["kind"] == "CronJob":
            yield item["kind"], item["spec"]["jobTemplate"]["spec"]["template"]["spec"]


def rules(objects: Sequence[Json], account: str) -> list[Json]:
    """All RBAC rules that a ServiceAccount of ours is bound to, each with `cluster`: whether it holds everywhere."""
    found = []
    for binding in (*of_kind(objects, "RoleBinding"), *of_kind(objects, "ClusterRoleBinding")):
        if account in [subject["name"] for subject in binding["subjects"]]:
            role = only(objects, binding["roleRef"]["kind"], binding["roleRef"]["name"])
            found += [{**rule, "cluster": binding["kind"] == "ClusterRoleBinding"} for rule in role["rules"]]
    return found
