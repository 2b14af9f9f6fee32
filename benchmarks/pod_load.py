"""The load of the deletion-cost benchmark: what every pod would say of itself, drawn anew in part, for both sources.

It knows no controller: the bands here are those of the published formula, counted again.
"""

from __future__ import annotations

import http.server
import random
import threading
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field
from types import TracebackType
from typing import Self

from tests.control_plane.api import Json
from tests.control_plane.pod_endpoints import PodEndpoints

METRIC = "app_active_requests"
QUERY = f'sum by (pod) ({METRIC}{{namespace="$namespace",workload="$workload"}})'
POINTS_PER_REQUEST, HIGHEST_ACTIVE = 5, 99
MOST_REQUESTS = 60  # three times of what fills the band of active pods


@dataclass(frozen=True, slots=True)
class Pod:
    """One pod of a workload, as far as its load goes."""

    workload: str
    name: str
    address: str

    @classmethod
    def of(cls, pod: Json) -> Pod:
        return cls(pod["metadata"]["labels"]["app"], pod["metadata"]["name"], pod["status"]["podIP"])


def band(requests: int) -> int:
    """The band of a load: idle, active, warm."""
    points = requests * POINTS_PER_REQUEST
    return (points > 0) + (points > HIGHEST_ACTIVE)


@dataclass(slots=True)
class Loads:
    """Active requests by pod; the share of idle pods differs between workloads, from none to more than half."""

    chance: random.Random
    idle_share: Mapping[str, float]
    requests: dict[Pod, int] = field(default_factory=dict)

    @classmethod
    def of(cls, pods: Iterable[Pod], seed: int) -> Loads:
        """Draw a first load for every pod."""
        chance, ordered = random.Random(seed), sorted(pods, key=lambda pod: (pod.workload, pod.name))
        workloads = sorted({pod.workload for pod in ordered})
        shares = {name: 0.6 * place / max(1, len(workloads) - 1) for place, name in enumerate(workloads)}
        loads = cls(chance, shares)
        for pod in ordered:
            loads.draw(pod)
        return loads

    def draw(self, pod: Pod) -> None:
        """Give one pod a new load."""
        idle = self.chance.random() < self.idle_share[pod.workload]
        self.requests[pod] = 0 if idle else self.chance.randint(1, MOST_REQUESTS)

    def redraw(self, share: float) -> None:
        """Give a share of all pods a new load."""
        for pod in self.chance.sample(list(self.requests), round(share * len(self.requests))):
            self.draw(pod)

    def of_lowest_bands(self, deleted: Iterable[Pod], count: int) -> int:
        """How many of the deleted pods lie in no higher band than the `count`-th lowest pod of their workload."""
        lowest: dict[str, list[int]] = {}
        for pod, requests in self.requests.items():
            lowest.setdefault(pod.workload, []).append(requests)
        highest = {workload: band(sorted(requests)[count - 1]) for workload, requests in lowest.items()}
        return sum(band(self.requests[pod]) <= highest[pod.workload] for pod in deleted)

    def page(self, namespace: str) -> bytes:
        """All loads in Prometheus' text form."""
        lines = (
            f'{METRIC}{{namespace="{namespace}",workload="{pod.workload}",pod="{pod.name}"}} {requests}\n'
            for pod, requests in self.requests.items()
        )
        return "".join(lines).encode()

    def tell(self, endpoints: PodEndpoints) -> None:
        """Let every pod's endpoint answer its load."""
        for pod, requests in self.requests.items():
            endpoints.tell(pod.address, {"active_requests": requests})


class Page:
    """Serves text for a scrape, in a thread; use it as a context manager."""

    def __init__(self, text: Callable[[], bytes]) -> None:
        self._server = _server(text)
        self._thread = threading.Thread(target=self._server.serve_forever, name="page of loads", daemon=True)
        self.target = f"127.0.0.1:{self._server.server_port}"

    def __enter__(self) -> Self:
        self._thread.start()
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._server.shutdown()
        self._thread.join()
        self._server.server_close()


def _server(text: Callable[[], bytes]) -> http.server.ThreadingHTTPServer:
    class Handler(http.server.BaseHTTPRequestHandler):
        def do_GET(self) -> None:
            body = text()
            self.send_response(200)
            self.send_header("Content-Type", "text/plain; version=0.0.4")
            self.send_header("Content-Length", str(len(body)))
            self.end_headers()
            self.wfile.write(body)

        def log_message(self, format: str, *args: object) -> None:
            """Say nothing."""

    return http.server.ThreadingHTTPServer(("127.0.0.1", 0), Handler)
