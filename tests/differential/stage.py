"""A real cluster, of etcd, API server and kube-scheduler alone, on which one case at a time is set up and decided.

Nobody else changes an object: without controllers a claim stays as it was created, and a node needs no heartbeat.
"""

from __future__ import annotations

import json
import time
from collections import ChainMap
from collections.abc import Iterable, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, field
from types import TracebackType
from typing import Any, Self

import yaml

from tests.control_plane import waiting
from tests.control_plane.api import Api, ApiError, Json
from tests.control_plane.cluster import ControlPlane
from tests.control_plane.processes import Process
from tests.differential import acceptable
from tests.differential.acceptable import KINDS, PODS, Kind
from tests.differential.documents import CONFIG, Document

# They would change the objects of a case, or want others that stand for nothing in it.
WITHOUT = "ServiceAccount,StorageObjectInUseProtection,TaintNodesByCondition,Priority,RuntimeClass"
NAMESPACES = ("default", "other", "third")
SETTLE_SECONDS = 0.15
ANSWER_SECONDS = 30.0
NEVER_AGAIN_SECONDS = 600  # one attempt a pod
WORKERS = 8


class Refused(Exception):
    """The API server does not take an object of the case."""


@dataclass(frozen=True, slots=True)
class Outcome:
    """What became of the pod: a node, or the text of the first event that says why there is none."""

    node: str = ""
    text: str = ""


@dataclass(slots=True)
class Scene:
    """A case that is set up."""

    pod: Json  # as it was created
    paths: list[str] = field(default_factory=list)  # of all objects


class Stage:
    """The cluster. `employ` names the profiles that cases may use from then on."""

    def __init__(self) -> None:
        self._plane = ControlPlane(api_server_args=[f"--disable-admission-plugins={WITHOUT}"], controllers=False)
        self._workers = ThreadPoolExecutor(WORKERS)
        self._scheduler: Process | None = None
        self.api: Api = self._plane.api

    def __enter__(self) -> Self:
        self._plane.__enter__()
        try:
            for name in NAMESPACES[1:]:
                self.api.post("/api/v1/namespaces", {"metadata": {"name": name}})
            waiting.until(self.api.probe("/api/v1/namespaces/default"), "namespace default")
        except BaseException:
            self._plane.stop()
            raise
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, at: TracebackType | None) -> None:
        self._workers.shutdown(cancel_futures=True)
        self._plane.stop()

    def employ(self, profiles: Iterable[Document]) -> None:
        """Run kube-scheduler with these profiles and no others; it looks at all nodes and tries a pod once."""
        if self._scheduler is not None:
            self._scheduler.stop()
        backoff = {"podInitialBackoffSeconds": NEVER_AGAIN_SECONDS, "podMaxBackoffSeconds": NEVER_AGAIN_SECONDS}
        sending = {"qps": 1000, "burst": 2000}
        config = self._plane.home / "profiles.yaml"
        settings = {**CONFIG, **backoff, "percentageOfNodesToScore": 100, "clientConnection": sending}
        config.write_text(yaml.safe_dump({**settings, "profiles": list(profiles)}))
        self._scheduler = self._plane.start_scheduler(config)

    def set_up(self, case: Document, scheduler_name: str) -> Scene:
        """Create everything, the pod to place held back; raise Refused, with nothing left behind."""
        self._label_namespaces(case.get("namespaces", ()))
        scene = Scene({})
        try:
            self._create_all(case, scheduler_name, scene)
        except Refused:
            self.clear(scene)
            raise
        return scene

    def place(self, scene: Scene, settle_seconds: float = SETTLE_SECONDS) -> tuple[Json, Outcome]:
        """Let the pod go once kube-scheduler has seen the rest; return it as it then was, and what became of it."""
        meta = scene.pod["metadata"]
        path = f"{PODS.path(meta['namespace'])}/{meta['name']}"
        time.sleep(settle_seconds)
        let_go = self.api.patch(path, {"spec": {"schedulingGates": None}})
        before = let_go["status"].get("nominatedNodeName", "")
        outcomes: list[Outcome] = []

        def answered() -> bool:
            outcomes.extend(self._outcomes(path, meta, before))
            return bool(outcomes)

        try:
            waiting.until(answered, "a node or an event", ANSWER_SECONDS, pause_seconds=0.01)
        except TimeoutError as silence:
            return let_go, Outcome(text=str(silence))  # which nobody expects
        return let_go, outcomes[0]

    def clear(self, scene: Scene) -> None:
        """Remove all objects at once, last first."""
        list(self._workers.map(self._remove, reversed(scene.paths)))

    def _create_all(self, case: Document, scheduler_name: str, scene: Scene) -> None:
        wanted = acceptable.to_place(case["pod"], scheduler_name)
        scene.pod = self._create(PODS, wanted, case["pod"], scene)
        uids: dict[str, str] = {}
        _note(uids, case["pod"], scene.pod)
        for name, kind in KINDS.items():
            documents = case.get(name, ())
            bodies = [acceptable.body(name, one, uids) for one in documents]
            for one, made in zip(documents, self._create_each(kind, bodies, documents, scene), strict=True):
                _note(uids, one, made)
        documents = case.get("pods", ())
        self._create_each(PODS, [acceptable.bystander(one, scheduler_name) for one in documents], documents, scene)

    def _create_each(
        self, kind: Kind, bodies: Sequence[Document], documents: Sequence[Document], scene: Scene
    ) -> list[Json]:
        """Create all, some at a time; all are tried before the first refusal is raised, so that none comes later."""

        def attempt(body: Document, found: Document) -> Json | Refused:
            try:
                return self._create(kind, body, found, scene)
            except Refused as refused:
                return refused

        made = list(self._workers.map(attempt, bodies, documents))
        for answer in made:
            if isinstance(answer, Refused):
                raise answer
        return [answer for answer in made if not isinstance(answer, Refused)]

    def _create(self, kind: Kind, body: Document, found: Document, scene: Scene) -> Json:
        meta = body["metadata"]
        collection = kind.path(meta.get("namespace", ""))
        path = f"{collection}/{meta['name']}"
        try:
            made = self.api.post(collection, body)
            scene.paths.append(path)
            if "status" in found and kind.plural != "nodes":
                self.api.patch(f"{path}/status", {"status": found["status"]})
            if "deletionTimestamp" in found.get("metadata", {}):
                self.api.delete(path, {"gracePeriodSeconds": 3600})
        except ApiError as error:
            raise Refused(f"{kind.plural}: {_said(error)}") from error
        return made

    def _outcomes(self, path: str, meta: Json, nominated_before: str) -> Sequence[Outcome]:
        """Return what is known yet: a binding, a node kept while volumes are bound, or an event."""
        pod = self.api.get(path)
        if pod["spec"].get("nodeName"):
            return [Outcome(node=pod["spec"]["nodeName"])]
        reasons = {one.get("reason") for one in pod["status"].get("conditions", ()) if one["type"] == "PodScheduled"}
        kept = pod["status"].get("nominatedNodeName", "")
        if kept != nominated_before and kept and not reasons & {"Unschedulable", "SchedulerError"}:
            return [Outcome(node=kept)]
        chosen = f"involvedObject.uid={meta['uid']},reason=FailedScheduling"
        events = self.api.get(f"/api/v1/namespaces/{meta['namespace']}/events", fieldSelector=chosen)["items"]
        return [Outcome(text=min(events, key=lambda one: str(one["eventTime"]))["message"])] if events else []

    def _label_namespaces(self, given: Iterable[Document]) -> None:
        labels: dict[str, Any] = {one["metadata"]["name"]: one["metadata"].get("labels", {}) for one in given}
        for name in NAMESPACES:
            wanted = dict(ChainMap(labels.get(name, {}), {"team": None}))
            self.api.patch(f"/api/v1/namespaces/{name}", {"metadata": {"labels": wanted}})

    def _remove(self, path: str) -> None:
        try:
            left = self.api.delete(path, {"gracePeriodSeconds": 0})
            if left.get("metadata", {}).get("finalizers"):
                self.api.patch(path, {"metadata": {"finalizers": None}})
        except ApiError as error:
            if error.status != 404:
                raise


def _note(uids: dict[str, str], written: Document, made: Json) -> None:
    if "uid" in written["metadata"]:
        uids[written["metadata"]["uid"]] = made["metadata"]["uid"]


def _said(error: ApiError) -> str:
    try:
        return str(json.loads(str(error).partition(": ")[2])["message"])
    except (ValueError, KeyError):
        return str(error)
