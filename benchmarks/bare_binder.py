"""The ceiling of the throughput benchmark: a client that decides nothing and only posts a Binding and an Event per pod.

It is run as a process of its own, like the schedulers: one event loop, the pods listed once, round robin over nodes.
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

IN_FLIGHT = 32
PODS_PER_NODE = 8


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
    async with aiohttp.ClientSession(connector=aiohttp.TCPConnector(ssl=trust(document), limit=IN_FLIGHT)) as session:
        pods = await names(session, f"{server}/api/v1/namespaces/{namespace}/pods")
        nodes = await names(session, f"{server}/api/v1/nodes")
        places = (node for node in itertools.cycle(nodes) for _ in range(PODS_PER_NODE))
        work = zip(pods, places, strict=False)
        async with asyncio.TaskGroup() as group:
            for _ in range(IN_FLIGHT):
                group.create_task(post(session, server, namespace, work))


async def names(session: aiohttp.ClientSession, url: str) -> list[str]:
    """Give the names of a collection."""
    async with session.get(url) as answer:
        answer.raise_for_status()
        return [item["metadata"]["name"] for item in msgspec.json.decode(await answer.read())["items"]]


async def post(session: aiohttp.ClientSession, server: str, namespace: str, work: Iterator[tuple[str, str]]) -> None:
    """Take pods one after the other; for each post its Binding and then its Event."""
    for pod, node in work:
        binding = {
            "apiVersion": "v1",
            "kind": "Binding",
            "metadata": {"name": pod},
            "target": {"kind": "Node", "name": node},
        }
        await send(session, f"{server}/api/v1/namespaces/{namespace}/pods/{pod}/binding", binding)
        await send(
            session, f"{server}/apis/events.k8s.io/v1/namespaces/{namespace}/events", event(namespace, pod, node)
        )


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


async def send(session: aiohttp.ClientSession, url: str, body: dict[str, Any]) -> None:
    """Post JSON and read the answer to its end."""
    headers = {"Content-Type": "application/json"}
    async with session.post(url, data=msgspec.json.encode(body), headers=headers) as answer:
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
