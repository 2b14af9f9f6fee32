"""The part of an API server that the client code leans on, in memory: versions, preconditions, pages, history.

Kinds are not known; what makes a write fail is what makes it fail on the real server. Faults live in `fake_api`.
"""

from __future__ import annotations

import json
import re
import uuid
from dataclasses import dataclass, field
from typing import Any

import jsonpatch

Json = dict[str, Any]
PATH = re.compile(
    r"^(?P<group>/api/v1|/apis/[^/]+/[^/]+)(?:/namespaces/(?P<namespace>[^/]+))?/(?P<plural>[^/]+)"
    r"(?:/(?P<name>[^/]+))?(?:/(?P<sub>[^/]+))?$"
)


class Refusal(Exception):
    """An error answer."""

    def __init__(self, status: int, reason: str, message: str = "", retry_after: int | None = None) -> None:
        super().__init__(message)
        self.status, self.reason, self.message, self.retry_after = status, reason, message, retry_after

    def body(self) -> Json:
        details = {} if self.retry_after is None else {"details": {"retryAfterSeconds": self.retry_after}}
        answer = {"kind": "Status", "code": self.status, "reason": self.reason, "message": self.message}
        return {**answer, "apiVersion": "v1", **details}


@dataclass(frozen=True)
class Target:
    """What a path names."""

    collection: str
    namespace: str
    name: str
    sub: str

    @classmethod
    def of(cls, path: str) -> Target:
        match = PATH.match(path)
        assert match, path
        return cls(f"{match['group']}/{match['plural']}", *(match[key] or "" for key in ("namespace", "name", "sub")))

    def holds(self, thing: Json) -> bool:
        return not self.namespace or thing["metadata"].get("namespace", "") == self.namespace

    @property
    def key(self) -> tuple[str, str, str]:
        return self.collection, self.namespace, self.name


@dataclass
class Store:
    """Objects by collection, namespace and name, and everything that happened to them."""

    objects: dict[tuple[str, str, str], Json] = field(default_factory=dict)
    history: list[tuple[int, str, Json]] = field(default_factory=list)  # version, collection, event
    version: int = 100
    oldest: int = 0
    pages_expire: bool = False

    def handle(self, method: str, path: str, params: dict[str, str], body: bytes) -> Json:
        """Answer a call, or raise Refusal."""
        target = Target.of(path)
        document: Any = json.loads(body) if body else None
        if method == "GET":
            return self.get(target) if target.name else self.page(target, params)
        if method == "POST":
            return self.bind(target, document) if target.sub == "binding" else self.create(target, document)
        if method == "PUT":
            return self.replace(target, document)
        if method == "PATCH":
            return self.patch(target, document)
        assert method == "DELETE", method
        return self.remove(target)

    def get(self, target: Target) -> Json:
        if target.key not in self.objects:
            raise Refusal(404, "NotFound", f'"{target.name}" not found')
        return self.objects[target.key]

    def page(self, target: Target, params: dict[str, str]) -> Json:
        found = [thing for key, thing in sorted(self.objects.items()) if key[0] == target.collection]
        found = [thing for thing in found if target.holds(thing)]
        if self.pages_expire and "continue" in params:
            raise Refusal(410, "Expired", "The provided continue parameter is too old")
        start, limit = int(params.get("continue", "0")), int(params.get("limit", "0")) or len(found)
        meta: Json = {"resourceVersion": str(self.version)}
        if start + limit < len(found):
            meta["continue"] = str(start + limit)
        return {"kind": "List", "metadata": meta, "items": found[start : start + limit]}

    def create(self, target: Target, document: Json) -> Json:
        name = document["metadata"]["name"]
        named = Target(target.collection, target.namespace, name, "")
        if named.key in self.objects:
            raise Refusal(409, "AlreadyExists", f'"{name}" already exists')
        place = {"namespace": target.namespace} if target.namespace else {}
        metadata = {"uid": str(uuid.uuid4()), **place, **document["metadata"]}
        return self._write(named, {**document, "metadata": metadata}, "ADDED")

    def replace(self, target: Target, document: Json) -> Json:
        old = self.get(target)
        self._check(old, document)
        return self._write(target, {**document, "metadata": {**old["metadata"], **document["metadata"]}}, "MODIFIED")

    def patch(self, target: Target, document: Any) -> Json:
        old = self.get(target)
        if isinstance(document, list):
            try:
                return self._write(target, jsonpatch.apply_patch(old, document), "MODIFIED")
            except jsonpatch.JsonPatchConflict as problem:
                raise Refusal(422, "Invalid", str(problem)) from problem
            except jsonpatch.JsonPatchTestFailed as problem:
                raise Refusal(422, "Invalid", str(problem)) from problem
        if document.get("metadata", {}).get("uid", old["metadata"]["uid"]) != old["metadata"]["uid"]:
            raise Refusal(422, "Invalid", 'metadata.uid: Invalid value: "x": field is immutable')
        self._check(old, document)
        return self._write(target, _merge(old, document), "MODIFIED")

    def bind(self, target: Target, document: Json) -> Json:
        pod = self.get(Target(target.collection, target.namespace, target.name, ""))
        self._check(pod, document)
        if pod["spec"].get("nodeName"):
            raise Refusal(409, "Conflict", f"pod {target.name} is already assigned to node")
        if pod["metadata"].get("deletionTimestamp"):
            raise Refusal(409, "Conflict", f"pod {target.name} is being deleted")
        if pod["spec"].get("schedulingGates"):
            raise Refusal(409, "Conflict", f"pod {target.name} has non-empty .spec.schedulingGates")
        self._write(target, {**pod, "spec": {**pod["spec"], "nodeName": document["target"]["name"]}}, "MODIFIED")
        return {"kind": "Status", "status": "Success"}

    def remove(self, target: Target) -> Json:
        gone = self._write(target, self.get(target), "DELETED")
        del self.objects[target.key]
        return gone

    def since(self, target: Target, version: int) -> list[tuple[int, Json]]:
        """The events of a collection after that version."""
        if version < self.oldest:
            raise Refusal(410, "Expired", "too old resource version")
        return [
            (at, event)
            for at, collection, event in self.history
            if at > version and collection == target.collection and target.holds(event["object"])
        ]

    def compact(self) -> None:
        """Forget the history, so that only a new list helps."""
        self.history.clear()
        self.oldest = self.version

    def _write(self, target: Target, thing: Json, kind: str) -> Json:
        self.version += 1
        written: Json = json.loads(json.dumps(thing))
        written["metadata"]["resourceVersion"] = str(self.version)
        self.objects[target.collection, target.namespace, target.name] = written
        self.history.append((self.version, target.collection, {"type": kind, "object": written}))
        return written

    def _check(self, old: Json, document: Json) -> None:
        for key in ("uid", "resourceVersion"):
            wanted = document.get("metadata", {}).get(key)
            if wanted and wanted != old["metadata"][key]:
                raise Refusal(409, "Conflict", f"Precondition failed: {key}")


def _merge(old: Any, patch: Any) -> Any:
    """Merge as a strategic merge does where conditions are the only list."""
    if isinstance(patch, dict) and isinstance(old, dict):
        return {**old, **{key: _merge(old.get(key), value) for key, value in patch.items()}}
    if isinstance(patch, list) and isinstance(old, list):
        by_type = {item["type"]: item for item in old}
        for item in patch:
            by_type[item["type"]] = {**by_type.get(item["type"], {}), **item}
        return list(by_type.values())
    return patch
