"""The ceiling of the throughput benchmark: a client that decides nothing and only posts a Binding and an Event per pod.

It is run as a process of its own, like the schedulers: one event loop, the pods listed once, round robin over nodes.
As many calls are in flight as the scheduler has, events behind the bindings as there: else it would be no ceiling.
"""

import argparse
import asyncio
import base64
import itertools
import ssl
import tempfile
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import aiohttp
import msgspec
import uvloop
import yaml

from gpu_scheduler.attempts import IN_FLIGHT
from kube_client.events import DEFAULT_LIMITS

PODS_PER_NODE = 8

Bound = asyncio.Queue[tuple[str, str]]  # pod, node


def main() -> None:
    """Bind every pod of one namespace."""
    parser = argparse.ArgumentParser()
    parser.add_argument("kubeconfig", type=Path)
    parser.add_argument("namespace")
    arguments = parser.parse_args()
    uvloop.run(bind_all(arguments.kubeconfig, arguments.namespace))


async def bind_all(kubeconfig: Path, namespace: str) -> None:
    """List pods and nodes, then post for all pods with a fixed number in flight."""
    document = yaml.safe_load(kubeconfig.read_text())
    server = document["clusters"][0]["cluster"]["server"]
    connector = aiohttp.TCPConnector(ssl=trust(document), limit=0)
    async with aiohttp.ClientSession(server, connector=connector, cookie_jar=aiohttp.DummyCookieJar()) as session:
        pods = await names(session, f"/api/v1/namespaces/{namespace}/pods")
        nodes = await names(session, "/api/v1/nodes")
        places = (node for node in itertools.cycle(nodes) for _ in range(PODS_PER_NODE))
        await post_all(session, namespace, zip(pods, places, strict=False))


async def post_all(session: aiohttp.ClientSession, namespace: str, work: Iterator[tuple[str, str]]) -> None:
    """Post all Bindings, and meanwhile and afterwards all Events."""
    bound = Bound()
    async with asyncio.TaskGroup() as group:
        events = [group.create_task(post_events(session, namespace, bound)) for _ in range(DEFAULT_LIMITS.workers)]
        await asyncio.gather(*(post_bindings(session, namespace, work, bound) for _ in range(IN_FLIGHT)))
        await bound.join()
        for task in events:
            task.cancel()


async def names(session: aiohttp.ClientSession, path: str) -> list[str]:
    """Give the names of a collection."""
    async with session.get(path) as answer:
        answer.raise_for_status()
        return [item["metadata"]["name"] for item in msgspec.json.decode(await answer.read())["items"]]


async def post_bindings(
    session: aiohttp.ClientSession, namespace: str, work: Iterator[tuple[str, str]], bound: Bound
) -> None:
    """Take pods one after the other and bind each."""
    for pod, node in work:
        binding = {
            "apiVersion": "v1",
            "kind": "Binding",
            "metadata": {"name": pod},
            "target": {"kind": "Node", "name": node},
        }
        await send(session, f"/api/v1/namespaces/{namespace}/pods/{pod}/binding", binding)
        bound.put_nowait((pod, node))


async def post_events(session: aiohttp.ClientSession, namespace: str, bound: Bound) -> None:
    """Write an Event for each bound pod, for ever."""
    while True:
        body = event(namespace, *await bound.get())
        await send(session, f"/apis/events.k8s.io/v1/namespaces/{namespace}/events", body)
        bound.task_done()


def event(namespace: str, pod: str, node: str) -> dict[str, Any]:
    """An event such as a scheduler writes."""
    return {
        "apiVersion": "events.k8s.io/v1",
        "kind": "Event",
        "metadata": {"name": f"{pod}.{time.time_ns():x}", "namespace": namespace},
        "eventTime": time.strftime("%Y-%m-%dT%H:%M:%S.000000Z", time.gmtime()),
        "type": "Normal",
        "reason": "Scheduled",
        "action": "Binding",
        "note": f"Successfully assigned {namespace}/{pod} to {node}",
        "regarding": {"kind": "Pod", "namespace": namespace, "name": pod, "apiVersion": "v1"},
        "reportingController": "bare-binder",
        "reportingInstance": "bare-binder-0",
    }


async def send(session: aiohttp.ClientSession, path: str, body: dict[str, Any]) -> None:
    """Post JSON and read the answer to its end."""
    headers = {"Content-Type": "application/json"}
    async with session.post(path, data=msgspec.json.encode(body), headers=headers) as answer:
        answer.raise_for_status()
        await answer.read()


def trust(document: dict[str, Any]) -> ssl.SSLContext:
    """Trust the server and show the client certificate of a kubeconfig."""
    cluster, user = document["clusters"][0]["cluster"], document["users"][0]["user"]
    context = ssl.create_default_context(cadata=base64.b64decode(cluster["certificate-authority-data"]).decode())
    with tempfile.NamedTemporaryFile() as file:
        file.write(base64.b64decode(user["client-certificate-data"]) + base64.b64decode(user["client-key-data"]))
        file.flush()
        context.load_cert_chain(file.name)
    return context


if __name__ == "__main__":
    main()
