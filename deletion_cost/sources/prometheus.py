"""Asks a Prometheus, or what speaks its query API, once per workload for the load of all its pods. Decides nothing."""

import asyncio
import ssl
from collections.abc import AsyncIterator, Iterable, Mapping, Sequence
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import aiohttp
import msgspec

from deletion_cost.sample import Sample
from deletion_cost.source import Name, Tally, Target
from deletion_cost.sources import reading
from deletion_cost.sources.reading import Unusable

NAME: Name = "prometheus"
LONGEST_BYTES = 16 * 1024 * 1024
POD, NAMESPACE, FIELD = "pod", "namespace", "load"  # labels; FIELD names the field of the sample
DEFAULT_FIELD = "active_requests"


@dataclass(frozen=True, slots=True)
class Settings:
    """Where the server is and who we are to it. `url` ends before `/api/v1/query`; a token is read anew each time."""

    url: str
    token_file: Path | None = None
    ca_file: Path | None = None  # None: the system's authorities
    client_certificate: tuple[Path, Path] | None = None  # certificate, key
    headers: Mapping[str, str] = field(default_factory=dict)  # such as X-Scope-OrgID
    timeout_seconds: float = 10.0
    parallel: int = 4


class _Series(msgspec.Struct, frozen=True):
    metric: dict[str, str]
    value: tuple[float, str] | None = None  # None: a histogram


class _Data(msgspec.Struct, frozen=True, rename="camel"):
    result_type: str
    result: msgspec.Raw


class _Answer(msgspec.Struct, frozen=True):
    data: _Data
    status: str
    warnings: list[str] = []


class _Failed(Exception):
    """A question without an answer; `why` is a constant word."""

    def __init__(self, why: str) -> None:
        super().__init__(why)
        self.why = why


Question = tuple[str, str, str]  # namespace, workload, query


class Prometheus:
    """The source that asks one query per workload; made by `Prometheus.open`."""

    def __init__(self, session: aiohttp.ClientSession, settings: Settings, tally: Tally) -> None:
        self._session = session
        self._settings = settings
        self._tally = tally

    @classmethod
    @asynccontextmanager
    async def open(cls, settings: Settings, tally: Tally) -> AsyncIterator["Prometheus"]:
        """Hold the connections; OSError where a certificate cannot be read."""
        connector = aiohttp.TCPConnector(limit=settings.parallel, ssl=_trust(settings))
        session = aiohttp.ClientSession(
            connector=connector,
            headers={"User-Agent": "gpu-scheduler", **settings.headers},
            timeout=aiohttp.ClientTimeout(total=settings.timeout_seconds),
            cookie_jar=aiohttp.DummyCookieJar(),
            trust_env=False,
        )
        async with session:
            yield cls(session, settings, tally)

    async def read(self, targets: Sequence[Target]) -> Mapping[str, Sample | None]:
        """Ask for every workload at once, a few at a time; one that fails has no samples, the others keep theirs."""
        groups: dict[Question, list[Target]] = {}
        for target in targets:
            groups.setdefault((target.namespace, target.workload, target.query), []).append(target)
        turn = asyncio.Semaphore(self._settings.parallel)
        answers = await asyncio.gather(*(self._workload(turn, *group) for group in groups.items()))
        return {uid: sample for answer in answers for uid, sample in answer.items()}

    async def _workload(
        self, turn: asyncio.Semaphore, question: Question, targets: Sequence[Target]
    ) -> Mapping[str, Sample | None]:
        try:
            async with turn:
                series = await self._ask(expression(*question))
        except _Failed as failure:
            self._tally.failed(NAME, failure.why)
            return {}
        samples, dropped = values(series, question[0], {target.name: target.uid for target in targets})
        for why in dropped:
            self._tally.dropped(NAME, why)
        return samples

    async def _ask(self, query: str) -> list[_Series]:
        address = self._settings.url.rstrip("/") + "/api/v1/query"
        headers = self._authorization()
        try:
            # A redirect would carry the token to wherever it leads.
            call = self._session.post(address, data={"query": query}, headers=headers, allow_redirects=False)
            async with call as answer:
                if answer.status != 200:
                    raise _Failed("query" if answer.status in (400, 422) else "status")
                body = await _body(answer)
        except TimeoutError as late:
            raise _Failed("timeout") from late
        except (aiohttp.ClientError, OSError, ValueError) as problem:
            raise _Failed("unreachable") from problem
        return decode(body)

    def _authorization(self) -> Mapping[str, str]:
        file = self._settings.token_file
        try:
            return {"Authorization": f"Bearer {file.read_text().strip()}"} if file else {}
        except (OSError, UnicodeDecodeError) as problem:
            raise _Failed("token") from problem


def expression(namespace: str, workload: str, query: str) -> str:
    """Fill in `$namespace` and `$workload`; such names hold nothing that PromQL's strings would take for more."""
    return query.replace("$namespace", namespace).replace("$workload", workload)


def decode(body: bytes) -> list[_Series]:
    """Read an answer; a part of an answer is none, since a sum over half of the stores would be too low."""
    try:
        answer = msgspec.json.decode(body, type=_Answer)
        if answer.status != "success":
            raise _Failed("status")
        if any(not warning.startswith("PromQL ") for warning in answer.warnings):
            raise _Failed("partial")
        if answer.data.result_type != "vector":
            raise _Failed("type")
        return msgspec.json.decode(answer.data.result, type=list[_Series])
    except (msgspec.DecodeError, UnicodeDecodeError, RecursionError) as problem:
        raise _Failed("undecodable") from problem


def values(
    series: Iterable[_Series], namespace: str, pods: Mapping[str, str]
) -> tuple[Mapping[str, Sample | None], list[str]]:
    """Give samples by uid, and why series were dropped; those of other pods and namespaces are none of our business.

    Each series stands for itself: a hit rate of nothing is 0/0, and must not hide that there are no requests.
    """
    told: dict[str, dict[str, float]] = {}
    dropped: list[str] = []
    seen: set[tuple[str, str]] = set()
    for one in series:
        pod, name = one.metric.get(POD, ""), one.metric.get(FIELD, DEFAULT_FIELD)
        if pod not in pods or one.metric.get(NAMESPACE, namespace) != namespace:
            continue
        fields, number = told.setdefault(pods[pod], {}), _number(one, name)
        if isinstance(number, Unusable):
            dropped.append(number.why)
        elif (pod, name) in seen:
            dropped.append("duplicate")
            fields.pop(name, None)
        else:
            fields[name] = number
        seen.add((pod, name))
    return {uid: Sample(**fields) if fields else None for uid, fields in told.items()}, dropped


def _number(series: _Series, name: str) -> float | Unusable:
    """Read a value as that field of a sample would have it."""
    if name not in reading.FIELDS or series.value is None:
        return Unusable("type")
    try:
        number = float(series.value[1])
    except ValueError:
        return Unusable("type")
    found = reading.sample([(name, number)])
    return found if isinstance(found, Unusable) else number


async def _body(answer: aiohttp.ClientResponse) -> bytes:
    body = bytearray()
    async for chunk in answer.content.iter_any():
        body += chunk
        if len(body) > LONGEST_BYTES:
            raise _Failed("size")
    return bytes(body)


def _trust(settings: Settings) -> Any:
    context = ssl.create_default_context(cafile=settings.ca_file)
    if settings.client_certificate is not None:
        context.load_cert_chain(*settings.client_certificate)
    return context
