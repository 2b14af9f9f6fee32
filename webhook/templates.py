"""Where the pod stands in an object of each kind: the object itself, or its pod template. Interprets nothing of it."""

from collections.abc import Mapping
from dataclasses import dataclass
from types import MappingProxyType
from typing import Any

from cluster_model.verdict import BadRequest, Problem

# (group, kind) -> the keys that lead from the object to its pod.
PATHS: Mapping[tuple[str, str], tuple[str, ...]] = MappingProxyType(
    {
        ("", "Pod"): (),
        ("apps", "Deployment"): ("spec", "template"),
        ("apps", "ReplicaSet"): ("spec", "template"),
        ("apps", "StatefulSet"): ("spec", "template"),
        ("apps", "DaemonSet"): ("spec", "template"),
        ("batch", "Job"): ("spec", "template"),
        ("batch", "CronJob"): ("spec", "jobTemplate", "spec", "template"),
    }
)


@dataclass(frozen=True, slots=True)
class Template:
    """A pod inside an object; `at` is its field path in it ("" where it is the object itself)."""

    at: str
    raw: Mapping[str, Any]


def find(group: str, kind: str, body: Mapping[str, Any]) -> Template:
    """Find the pod of a known kind; an absent template is an empty one, one of a wrong type raises BadRequest."""
    found: Any = body
    walked: list[str] = []
    for key in PATHS[group, kind]:
        walked.append(key)
        found = found.get(key)
        if found is None:
            found = {}
        if not isinstance(found, dict):
            raise BadRequest(Problem(".".join(walked), found, "must be an object"))
    return Template(".".join(walked), found)
