"""The source that asks Prometheus: against a real one, and against servers that answer as no healthy one does."""

import asyncio
import http.server
import json
import ssl
import threading
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

import pytest

from deletion_cost.sample import Sample
from deletion_cost.source import Target
from deletion_cost.sources.prometheus import Prometheus, Settings, expression
from tests.control_plane import prometheus as real
from tests.control_plane import waiting
from tests.control_plane.pki import Authority
from tests.deletion_cost.sources.asking import Answer, Counts, server, target
from tests.deletion_cost.sources.asking import http as canned

PAGE = """
busy{namespace="default",pod="a",route="x"} 1
busy{namespace="default",pod="a",route="y"} 2
busy{namespace="default",pod="b",route="x"} 0
busy{namespace="default",pod="stranger",route="x"} 9
busy{namespace="other",pod="b",route="x"} 7
hits{pod="a"} 30
hits{pod="b"} 0
lookups{pod="a"} 40
lookups{pod="b"} 0
"""


async def ask(settings: Settings, counts: Counts, *targets: Target) -> Mapping[str, Sample | None]:
    """One read with a session of its own."""
    async with Prometheus.open(settings, counts) as source:
        return await source.read(targets)


async def ask_one(answer: Answer, **settings: Any) -> tuple[Mapping[str, Sample | None], Counts]:
    """What comes of a server that answers so."""
    counts = Counts()
    async with server(answer) as port:
        found = await ask(Settings(f"http://127.0.0.1:{port}", timeout_seconds=0.5, **settings), counts, target("a"))
    return found, counts


def vector(*series: Mapping[str, Any], kind: str = "vector", **others: Any) -> Answer:
    """A successful answer with those series."""
    body = {"status": "success", "data": {"resultType": kind, "result": list(series)}, **others}
    return canned(json.dumps(body).encode())


def one(value: str = "3", **labels: str) -> Mapping[str, Any]:
    """A series of pod a."""
    return {"metric": {"pod": "a", **labels}, "value": [1.5, value]}


class Page(http.server.BaseHTTPRequestHandler):
    """What the real server scrapes."""

    def do_GET(self) -> None:
        body = PAGE.encode()
        self.send_response(200)
        self.send_header("Content-Type", "text/plain")
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)

    def log_message(self, format: str, *args: object) -> None:
        """Say nothing."""


@pytest.fixture(scope="module")
def running(tmp_path_factory: pytest.TempPathFactory) -> Iterator[real.Prometheus]:
    """A real Prometheus that has scraped the page."""
    page = http.server.ThreadingHTTPServer(("127.0.0.1", 0), Page)
    threading.Thread(target=page.serve_forever, daemon=True).start()
    scrape = {"job_name": "page", "scrape_interval": "200ms", "scrape_timeout": "200ms", "honor_labels": True}
    scrape["static_configs"] = [{"targets": [f"127.0.0.1:{page.server_port}"]}]
    with real.Prometheus(tmp_path_factory.mktemp("prometheus"), {"scrape_configs": [scrape]}) as started:
        waiting.until(lambda: bool(started.query("busy")), "the page was scraped")
        yield started
    page.shutdown()
    page.server_close()


@pytest.mark.control_plane
def test_one_query_gives_a_sample_per_pod(running: real.Prometheus) -> None:
    """Both pods of a workload come from one query with its namespace filled in; other pods' series do not count."""
    query = 'sum by (namespace, pod) (busy{namespace="$namespace",pod=~".*"})'
    targets = [target("a", query=query), target("b", query=query), target("c", query=query)]

    found = asyncio.run(ask(Settings(running.url), Counts(), *targets))

    assert found == {"uid-a": Sample(active_requests=3), "uid-b": Sample(active_requests=0)}


@pytest.mark.control_plane
def test_one_query_gives_several_fields(running: real.Prometheus) -> None:
    """The label `load` names the field; the hit rate of no lookups is NaN and takes nothing else with it."""
    query = (
        'sum by (pod) (busy{namespace="default"}) or label_replace(hits / lookups, "load", "cache_hit_rate", "", "")'
        ' or label_replace(lookups, "load", "served", "", "")'
    )
    counts = Counts()

    found = asyncio.run(ask(Settings(running.url), counts, target("a", query=query), target("b", query=query)))

    assert found["uid-a"] == Sample(active_requests=3, cache_hit_rate=0.75, served=40)
    assert found["uid-b"] == Sample(active_requests=0, served=0)
    assert counts.drops == {("prometheus", "nan"): 1}


@pytest.mark.control_plane
def test_query_that_fails_leaves_the_other_workloads(running: real.Prometheus) -> None:
    """A malformed query, and one whose answer is no vector, have no samples and are counted; the third has."""
    counts = Counts()
    targets = [
        target("a", query="busy{", workload="malformed"),
        target("b", query="1", workload="scalar"),
        target("c", query='label_replace(vector(5), "pod", "c", "", "")', workload="sound"),
    ]

    assert asyncio.run(ask(Settings(running.url), counts, *targets)) == {"uid-c": Sample(active_requests=5)}
    assert counts.failures == {("prometheus", "query"): 1, ("prometheus", "type"): 1}


@pytest.mark.control_plane
def test_pod_with_two_series_has_no_sample(running: real.Prometheus) -> None:
    """A query that forgot to sum says two things of one pod: neither is taken."""
    counts = Counts()
    query = 'busy{namespace="default"}'

    found = asyncio.run(ask(Settings(running.url), counts, target("a", query=query), target("b", query=query)))

    assert found == {"uid-a": None, "uid-b": Sample(active_requests=0)}
    assert counts.drops == {("prometheus", "duplicate"): 1}


@pytest.mark.parametrize(
    ("answer", "why"),
    [
        (canned(b"", "503 Service Unavailable"), "status"),
        (canned(b"", "302 Found", "Location: http://127.0.0.1:1/\r\n"), "status"),
        (canned(b"{}", "422 Unprocessable Entity"), "query"),
        (canned(b"<html></html>"), "undecodable"),
        (canned(b'{"status":"success"}'), "undecodable"),
        (vector(one(), kind="matrix"), "type"),
        (vector(one(), status="error"), "status"),
        (vector(one(), warnings=["store 10.0.0.1:10901: deadline exceeded"]), "partial"),
    ],
)
def test_answers_that_are_none_fail_as_a_whole(answer: Answer, why: str) -> None:
    """No sample at all, so that the workload is frozen rather than taken for idle."""
    found, counts = asyncio.run(ask_one(answer))

    assert found == {}
    assert counts.failures == {("prometheus", why): 1}


@pytest.mark.parametrize(
    ("series", "why"),
    [
        (one("NaN"), "nan"),
        (one("+Inf"), "nan"),
        (one("-1"), "negative"),
        (one("many"), "type"),
        (one("2", load="cache_hit_rate"), "range"),
        (one("2", load="temperature"), "type"),
        ({"metric": {"pod": "a"}, "histogram": [1.5, {"count": "1"}]}, "type"),
    ],
)
def test_unusable_series_are_dropped_and_counted(series: Mapping[str, Any], why: str) -> None:
    """A pod whose only series is unusable has no sample."""
    found, counts = asyncio.run(ask_one(vector(series)))

    assert found == {"uid-a": None}
    assert counts.drops == {("prometheus", why): 1}


def test_remarks_on_the_query_are_no_partial_answer() -> None:
    """Prometheus itself warns of what it finds odd in an expression; the data are complete."""
    warning = "PromQL info: metric might not be a counter, name does not end in _total: busy"

    assert asyncio.run(ask_one(vector(one(), warnings=[warning])))[0] == {"uid-a": Sample(active_requests=3)}


def test_slow_and_absent_servers_fail() -> None:
    """The read ends with the timeout, and says which of the two it was."""

    async def silent(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        await asyncio.sleep(60)

    counts = Counts()
    assert asyncio.run(ask(Settings("http://127.0.0.1:1"), counts, target("a"))) == {}
    assert counts.failures == {("prometheus", "unreachable"): 1}
    assert asyncio.run(ask_one(silent))[1].failures == {("prometheus", "timeout"): 1}


def test_token_is_read_anew_and_sent_with_the_headers(tmp_path: Path) -> None:
    """A rotated token is used at the next read; a file that is gone fails the read without asking."""
    heads: list[str] = []
    file = tmp_path / "token"

    async def answer(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        heads.append((await reader.readuntil(b"\r\n\r\n")).decode())
        await vector(one())(reader, writer)

    async def run() -> Counts:
        counts = Counts()
        async with server(answer) as port:
            settings = Settings(f"http://127.0.0.1:{port}/", token_file=file, headers={"X-Scope-OrgID": "ml"})
            for token in ("first\n", "second\n"):
                file.write_text(token)
                async with asyncio.timeout(5), Prometheus.open(settings, counts) as source:
                    reading = asyncio.create_task(source.read([target("a")]))
                    waiting_for = len(heads) + 1
                    while len(heads) < waiting_for:
                        await asyncio.sleep(0.01)
                    reading.cancel()
            file.unlink()
            await ask(settings, counts, target("a"))
        return counts

    assert asyncio.run(run()).failures == {("prometheus", "token"): 1}
    assert ["Authorization: Bearer first" in heads[0], "Authorization: Bearer second" in heads[1]] == [True, True]
    assert "X-Scope-OrgID: ml" in heads[0]
    assert heads[0].startswith("POST /api/v1/query HTTP/1.1")


def test_names_are_filled_in() -> None:
    """Both names may stand anywhere; anchors of regular expressions stay."""
    query = 'sum by (pod) (busy{namespace="$namespace",pod=~"$workload-[^-]+-[^-]+$"})'

    assert expression("ml", "web", query) == 'sum by (pod) (busy{namespace="ml",pod=~"web-[^-]+-[^-]+$"})'


def test_server_and_client_prove_who_they_are(tmp_path: Path) -> None:
    """With the authority and a client certificate the read succeeds; without either it does not."""
    authority = Authority.create("monitoring")
    (tmp_path / "ca.crt").write_bytes(authority.pair().certificate)
    for name in ("server", "client"):
        pair = authority.issue(name, hosts=("127.0.0.1",))
        (tmp_path / f"{name}.crt").write_bytes(pair.certificate)
        (tmp_path / f"{name}.key").write_bytes(pair.key)
    context = ssl.create_default_context(ssl.Purpose.CLIENT_AUTH, cafile=tmp_path / "ca.crt")
    context.verify_mode = ssl.CERT_REQUIRED
    context.load_cert_chain(tmp_path / "server.crt", tmp_path / "server.key")
    ca, client = tmp_path / "ca.crt", (tmp_path / "client.crt", tmp_path / "client.key")

    async def run(**trust: Any) -> Mapping[str, Sample | None]:
        async with server(vector(one()), tls=context) as port:
            return await ask(Settings(f"https://127.0.0.1:{port}", **trust), Counts(), target("a"))

    assert asyncio.run(run(ca_file=ca, client_certificate=client)) == {"uid-a": Sample(active_requests=3)}
    assert asyncio.run(run(client_certificate=client)) == {}
    assert asyncio.run(run(ca_file=ca)) == {}
