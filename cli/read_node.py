"""How a node is understood, as the JSON object of `gpu-scheduler read node`. Opens and prints no file itself."""

import re
from dataclasses import asdict
from typing import Any

import msgspec

from cluster_model import node_facts, objects
from cluster_model.verdict import BadRequest, Problem

# Only what the reading rests on, so that a slip elsewhere in the file does no harm.
_FIELDS = {
    "metadata": ("name", "labels", "annotations"),
    "spec": ("taints",),
    "status": ("capacity", "allocatable"),
}


def describe(document: dict[str, Any]) -> dict[str, Any]:
    """Read a Node object as parsed from YAML or JSON; raise BadRequest when it is none."""
    if document.get("kind") != "Node":
        raise BadRequest(Problem("kind", document.get("kind"), "must be Node"))
    facts = node_facts.read(_node(document))
    return {
        "model": facts.model,
        "memory_mib": facts.memory_mib,
        "physical": facts.physical,
        "replicas": facts.replicas,
        "shared": facts.shared,
        "unhealthy": facts.unhealthy,
        "capacity": dict(facts.capacity),
        "schedulable": dict(facts.schedulable),
        "device_memory_mib": dict(facts.device_memory_mib),
        "taints": list(facts.taints),
        "untrusted": [asdict(found) for found in facts.untrusted],
    }


def _node(document: dict[str, Any]) -> objects.Node:
    picked = {part: _picked(document.get(part), fields) for part, fields in _FIELDS.items()}
    try:
        return msgspec.convert(picked, objects.Node)
    except msgspec.ValidationError as error:
        raise BadRequest(_problem(str(error))) from None


def _problem(message: str) -> Problem:
    """Turn msgspec's words, "Expected `object`, got `array` - at `$.status`", into the API server's form."""
    found = re.fullmatch(r"Expected `(?P<wanted>.+)`, got `(?P<got>.+)` - at `\$\.(?P<path>.+)`", message)
    return Problem(found["path"], found["got"], f"must be {found['wanted']}") if found else Problem("node", "", message)


def _picked(part: Any, fields: tuple[str, ...]) -> Any:
    """Take the fields that are set; null is as good as absent."""
    if part is None:
        return {}
    if not isinstance(part, dict):
        return part
    return {field: _plain(field, part[field]) for field in fields if part.get(field) is not None}


def _plain(field: str, value: Any) -> Any:
    """Write the texts of labels, annotations and taints as such: in a hand-written file 8 means "8"."""
    if field in ("labels", "annotations"):
        return _texts(value)
    if field == "taints" and isinstance(value, list):
        return [_texts(taint) for taint in value]
    if field in ("capacity", "allocatable") and isinstance(value, dict):
        return {str(name): amount for name, amount in value.items() if amount is not None}
    return _text(value) if field == "name" else value


def _texts(value: Any) -> Any:
    return {str(key): _text(text) for key, text in value.items()} if isinstance(value, dict) else value


def _text(value: Any) -> Any:
    if isinstance(value, bool):
        return str(value).lower()
    return value if isinstance(value, dict | list) else "" if value is None else str(value)
