"""Asks pods themselves: GET on the pod's address, never on a name, never where a redirect leads. Decides nothing."""

import asyncio
import ipaddress
import math
from collections.abc import AsyncIterator, Iterator, Mapping, Sequence
from contextlib import asynccontextmanager
from dataclasses import dataclass, field

import aiohttp
from yarl import URL

from deletion_cost.sample import Sample
from deletion_cost.source import Name, Tally, Target
from deletion_cost.sources import reading
from deletion_cost.sources.reading import Unusable
from kube_client.timing import Timing

NAME: Name = "endpoint"
LONGEST_BYTES = 64 * 1024
METADATA = frozenset({ipaddress.ip_address("fd00:ec2::254")})  # Amazon's, the one that is not link-local
# Plain bytes: a small compressed answer could unfold into a huge one.
HEADERS = {"Accept": "application/json, text/plain;q=0.9", "Accept-Encoding": "identity", "User-Agent": "gpu-scheduler"}


@dataclass(frozen=True, slots=True)
class Settings:
    """How pods are asked. One read takes `spread_seconds` where all answer, and ends by `within_seconds`."""

    spread_seconds: float = 24.0
    widest_seconds: float = math.inf  # between two pods, so that few pods are read at once
    within_seconds: float = 30.0
    timeout_seconds: float = 2.0  # connection, headers and body together
    parallel: int = 256
    kept_connections: int = 8192  # more are opened anew each time, for the sake of file descriptors
    timing: Timing = field(default_factory=Timing)


class Endpoint:
    """The source that asks each pod; made by `Endpoint.open`."""

    def __init__(
        self, kept: aiohttp.ClientSession, fresh: aiohttp.ClientSession, settings: Settings, tally: Tally
    ) -> None:
        self._kept, self._fresh = kept, fresh
        self._settings = settings
        self._tally = tally

    @classmethod
    @asynccontextmanager
    async def open(cls, settings: Settings, tally: Tally) -> AsyncIterator["Endpoint"]:
        """Hold the connections, which are kept from one read to the next."""
        idle_seconds = 2 * settings.within_seconds + 5
        kept = aiohttp.TCPConnector(limit=0, keepalive_timeout=idle_seconds)
        fresh = aiohttp.TCPConnector(limit=0, force_close=True)
        async with _session(kept, settings) as first, _session(fresh, settings) as second:
            yield cls(first, second, settings, tally)

    async def read(self, targets: Sequence[Target]) -> Mapping[str, Sample | None]:
        """Ask all pods, evenly over the time given; what has no usable answer by the end has None."""
        found: dict[str, Sample | None] = {}
        turns = self._turns(targets)
        workers = [self._work(turns, found) for _ in range(min(self._settings.parallel, len(targets)))]
        try:
            async with asyncio.timeout(self._settings.within_seconds):
                await asyncio.gather(*workers)
        except TimeoutError:
            for _ in range(len(targets) - len(found)):
                self._tally.dropped(NAME, "late")
        return found

    def _turns(self, targets: Sequence[Target]) -> Iterator[tuple[float, int, Target]]:
        """Give each target with its moment, shared by all workers."""
        start = self._settings.timing.monotonic()
        apart = min(self._settings.spread_seconds / max(len(targets), 1), self._settings.widest_seconds)
        return ((start + number * apart, number, target) for number, target in enumerate(targets))

    async def _work(self, turns: Iterator[tuple[float, int, Target]], found: dict[str, Sample | None]) -> None:
        timing = self._settings.timing
        for moment, number, target in turns:
            ahead = moment - timing.monotonic()
            if ahead > 0:
                await timing.sleep(ahead)
            found[target.uid] = await self._ask(target, keep=number < self._settings.kept_connections)

    async def _ask(self, target: Target, keep: bool) -> Sample | None:
        address = url(target)
        answer = await self._fetch(address, keep) if address else Unusable("address")
        if isinstance(answer, bytes):
            read = reading.read(answer)
            if isinstance(read, Sample):
                return read
            answer = read
        self._tally.dropped(NAME, answer.why)
        return None

    async def _fetch(self, address: URL, keep: bool) -> bytes | Unusable:
        session = self._kept if keep else self._fresh
        try:
            async with session.get(address, allow_redirects=False) as answer:
                if answer.status != 200:
                    return Unusable("redirect" if 300 <= answer.status < 400 else "status")
                return await _body(answer)
        except TimeoutError:
            return Unusable("timeout")
        except (aiohttp.ClientConnectionError, OSError):
            return Unusable("refused")
        except (aiohttp.ClientError, ValueError):
            return Unusable("type")


def _session(connector: aiohttp.TCPConnector, settings: Settings) -> aiohttp.ClientSession:
    """Open a session that follows nothing, remembers nothing and heeds no proxy of the environment."""
    return aiohttp.ClientSession(
        connector=connector,
        headers=HEADERS,
        timeout=aiohttp.ClientTimeout(total=settings.timeout_seconds),
        cookie_jar=aiohttp.DummyCookieJar(),
        auto_decompress=False,
        trust_env=False,
    )


async def _body(answer: aiohttp.ClientResponse) -> bytes | Unusable:
    """Read up to the limit; beyond it the connection is given up, not drained."""
    body = bytearray()
    async for chunk in answer.content.iter_any():
        body += chunk
        if len(body) > LONGEST_BYTES:
            answer.close()
            return Unusable("size")
    return bytes(body)


def url(target: Target) -> URL | None:
    """Where the pod is asked; None where there is no port, or the address is not that of one pod."""
    address = _address(target.ip)
    if address is None or not 0 < target.port < 65536 or not target.path.startswith("/"):
        return None
    host = f"[{address}]" if address.version == 6 else str(address)
    return URL(f"http://{host}:{target.port}{target.path}")


def _address(text: str) -> ipaddress.IPv4Address | ipaddress.IPv6Address | None:
    """Read a pod's address. A node that lies about its pods must not lead us to a cloud's metadata service."""
    try:
        address = ipaddress.ip_address(text)
    except ValueError:
        return None
    plain = getattr(address, "ipv4_mapped", None) or address
    scoped = getattr(address, "scope_id", None)
    if scoped or plain.is_link_local or plain.is_multicast or plain.is_unspecified or plain in METADATA:
        return None
    return address
