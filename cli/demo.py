"""`gpu-scheduler demo`: an example workload through the real webhook application and the real `decide()`, no cluster.

Stands in for the API server and the controllers only: makes AdmissionReviews, applies patches, turns workloads to pods.
"""

import argparse
import base64
import copy
import logging
import sys
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from importlib import resources
from pathlib import Path
from typing import Any

import jsonpatch
import msgspec
import yaml
from flask.testing import FlaskClient

from cluster_model import gpu_names, objects
from cluster_model.pod import PendingPod
from cluster_model.state import ClusterState
from scheduler_plugins import explain, registry
from scheduler_plugins.decide import decide
from scheduler_plugins.framework import Decision
from webhook import app

Object = dict[str, Any]

RESOURCES = {"Deployment": "apps/v1/deployments", "Job": "batch/v1/jobs", "Pod": "/v1/pods"}


@dataclass(frozen=True, slots=True)
class Outcome:
    """What became of one object: refused, left to another scheduler, or decided."""

    name: str
    refused: str = ""
    left_to: str = ""
    decision: Decision | None = None


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Declare the verb's options."""
    parser.add_argument("--nodes", type=Path, metavar="FILE", help="YAML of nodes (default: built-in examples)")
    parser.add_argument("--workload", type=Path, metavar="FILE", help="YAML of pods, Deployments and Jobs")


def run(args: argparse.Namespace) -> int:
    """Print who was admitted, who went where, and why the others did not."""
    logging.getLogger("webhook").setLevel(logging.ERROR)  # its decisions are what the table shows
    state = cluster(documents(args.nodes, "nodes.yaml"))
    outcomes = list(play(documents(args.workload, "workload.yaml"), state))
    sys.stdout.write("\n".join([*nodes_section(state), *pods_section(outcomes), *reasons_section(outcomes), ""]))
    return 0


def documents(path: Path | None, example: str) -> list[Object]:
    """Read a YAML file, or the built-in example of that name."""
    source = path or resources.files("cli") / "examples" / example
    return [document for document in yaml.safe_load_all(source.read_text(encoding="utf-8")) if document]


def cluster(nodes: list[Object]) -> ClusterState:
    """Build the state that a watch of these nodes would give."""
    state = ClusterState()
    for node in nodes:
        state.set_node(msgspec.convert(node, objects.Node))
    return state


def play(workload_objects: list[Object], state: ClusterState) -> Iterator[Outcome]:
    """Send each object, then each of its pods, through admission; place what is ours."""
    client = app.create_app().test_client()
    for body in workload_objects:
        refusal = review(client, "/validate", body)[1]
        if refusal:
            yield Outcome(body["metadata"]["name"], refused=refusal)
            continue
        for pod in pods(body):
            yield admit(client, pod, state)


def admit(client: FlaskClient, pod: Object, state: ClusterState) -> Outcome:
    """Mutate and validate one pod as the API server would, then decide if it is ours."""
    name = pod["metadata"]["name"]
    mutated, _ = review(client, "/mutate", pod)
    _, refusal = review(client, "/validate", mutated)
    if refusal:
        return Outcome(name, refused=refusal)
    if mutated["spec"]["schedulerName"] != registry.SCHEDULER_NAME:
        return Outcome(name, left_to=mutated["spec"]["schedulerName"])
    pending = PendingPod.read(msgspec.convert(mutated, objects.Pod))
    decision = decide(pending, state.snapshot(), registry.profile())
    if decision.node is not None:
        state.assume(pending, decision.node)
    return Outcome(name, decision=decision)


def review(client: FlaskClient, path: str, body: Object) -> tuple[Object, str]:
    """Send one AdmissionReview; return the object as admitted, or why it was refused."""
    group, version, resource = RESOURCES[body["kind"]].split("/")
    uid = f"{path[1:]}-{body['metadata']['name']}"
    request = {
        "uid": uid,
        "kind": {"group": group if group != body["apiVersion"] else "", "version": version, "kind": body["kind"]},
        "resource": {"group": group, "version": version, "resource": resource},
        "namespace": body["metadata"].get("namespace", "default"),
        "operation": "CREATE",
        "object": body,
    }
    envelope = {"apiVersion": "admission.k8s.io/v1", "kind": "AdmissionReview", "request": request}
    response = client.post(path, json=envelope).get_json()["response"]
    if not response["allowed"]:
        return body, str(response["status"]["message"])
    patch = response.get("patch")
    return (jsonpatch.apply_patch(body, base64.b64decode(patch).decode()) if patch else body), ""


def pods(body: Object) -> Iterator[Object]:
    """Make the pods that the controllers would make, with the API server's defaults that matter here."""
    if body["kind"] == "Pod":
        yield defaulted(body, body["metadata"]["name"])
        return
    spec = body["spec"]
    for index in range(spec.get("replicas", spec.get("parallelism", 1))):
        pod = {"apiVersion": "v1", "kind": "Pod", **copy.deepcopy(spec["template"])}
        yield defaulted(pod, f"{body['metadata']['name']}-{index}", body["metadata"].get("namespace", "default"))


def defaulted(pod: Object, name: str, namespace: str = "default") -> Object:
    """Fill in what the API server fills in before admission, and a uid, which it gives right after."""
    metadata = {"namespace": namespace, **pod.get("metadata", {}), "name": name, "uid": name}
    return {**pod, "metadata": metadata, "spec": {"schedulerName": "default-scheduler", **pod["spec"]}}


def nodes_section(state: ClusterState) -> list[str]:
    """Show how the nodes were read, and what is left of their GPUs at the end."""
    snapshot = state.snapshot()
    rows = [["NODE", "MODEL", "MEMORY MIB", "GPUS", "LEFT"]]
    for row, name in enumerate(snapshot.names):
        record = state.node(name)
        known = (record.facts.model, record.facts.memory_mib) if record else ()
        has = {resource: int(snapshot.allocatable(resource)[row]) for resource in snapshot.resources}
        left = {resource: amount - int(snapshot.requested(resource)[row]) for resource, amount in has.items()}
        shown = {resource: left[resource] for resource in has if has[resource]}
        rows.append([name, *(str(fact or "-") for fact in known), gpus(has), gpus(shown, zero=True)])
    return explain.aligned(rows)


def gpus(amounts: Mapping[str, int], zero: bool = False) -> str:
    """Write amounts of GPU resources short: `8` whole ones, `7 mig-1g.5gb`."""
    shown = {name: amount for name, amount in amounts.items() if gpu_names.asks_for_gpu(name) and (amount or zero)}
    texts = (f"{n} {name.removeprefix('nvidia.com/')}".removesuffix(" gpu") for name, n in shown.items())
    return ", ".join(texts) or "-"


def pods_section(outcomes: list[Outcome]) -> list[str]:
    """One line a pod: admitted or not, where it went, with how many GPUs and which score."""
    return ["", *explain.aligned([["POD", "ADMISSION", "NODE", "GPUS", "SCORE"], *map(line, outcomes)])]


def line(outcome: Outcome) -> list[str]:
    """Lay out one outcome."""
    decision = outcome.decision
    if decision is None:
        return [outcome.name, "refused" if outcome.refused else f"left to {outcome.left_to}", "-", "-", "-"]
    score = "-" if decision.best is None else str(decision.total[decision.best])
    return [outcome.name, "admitted", decision.node or "pending", gpus(decision.pod.request.resources), score]


def reasons_section(outcomes: list[Outcome]) -> list[str]:
    """Say why: each refusal and each pending pod, in the words that kubectl would show."""
    lines = []
    for outcome in outcomes:
        text = outcome.refused or (explain.sentence(outcome.decision) if outcome.decision else "")
        if text:
            lines += [f"  {outcome.name}", f"    {'refused' if outcome.refused else 'pending'}: {text}"]
    return ["", "Why not:", *lines] if lines else []
