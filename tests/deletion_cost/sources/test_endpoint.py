"""The source that asks pods, against real sockets that answer well, badly, slowly or not at all."""

import asyncio
import gzip
import time
from collections.abc import Sequence

import pytest

from deletion_cost.sample import Sample
from deletion_cost.source import Target
from deletion_cost.sources import endpoint
from deletion_cost.sources.endpoint import Endpoint, Settings
from tests.deletion_cost.sources.asking import Answer, Counts, http, server, target

BUSY = b'{"active_requests": 4}'
QUICK = Settings(spread_seconds=0, within_seconds=5, timeout_seconds=0.3)


async def ask(targets: Sequence[Target], counts: Counts, settings: Settings = QUICK) -> dict[str, Sample | None]:
    """One read with connections of its own."""
    async with Endpoint.open(settings, counts) as source:
        return dict(await source.read(targets))


async def ask_one(answer: Answer) -> tuple[Sample | None, Counts]:
    """What comes of a pod that answers so."""
    counts = Counts()
    async with server(answer) as port:
        found = await ask([target("a", port)], counts)
    return found["uid-a"], counts


async def silent(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
    await asyncio.sleep(60)


async def dripping(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
    writer.write(b"HTTP/1.1 200 OK\r\nContent-Length: 1000\r\n\r\n{")
    while True:
        writer.write(b" ")
        await asyncio.sleep(0.05)


async def endless(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
    writer.write(b"HTTP/1.1 200 OK\r\n\r\n" + BUSY)
    while True:
        writer.write(b" " * 65536)
        await writer.drain()


async def noise(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
    await reader.readuntil(b"\r\n\r\n")
    writer.write(b"SSH-2.0-OpenSSH_9.2p1\r\n")


def test_pod_is_asked_at_its_address() -> None:
    """A GET of the path, on the port and address of the pod, IPv4 or IPv6, gives the sample."""
    lines: list[bytes] = []

    async def run(host: str) -> dict[str, Sample | None]:
        async def once(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
            lines.extend((await reader.readuntil(b"\r\n\r\n")).split(b"\r\n"))
            writer.write(b"HTTP/1.1 200 OK\r\nContent-Length: %d\r\n\r\n%s" % (len(BUSY), BUSY))

        async with server(once, host) as port:
            return await ask([target("a", port, host, path="/load?x=1")], Counts())

    assert asyncio.run(run("127.1.2.3")) == {"uid-a": Sample(active_requests=4)}
    assert lines[0] == b"GET /load?x=1 HTTP/1.1"
    assert asyncio.run(run("::1")) == {"uid-a": Sample(active_requests=4)}


@pytest.mark.parametrize(
    ("answer", "why"),
    [
        (silent, "timeout"),
        (dripping, "timeout"),
        (endless, "size"),
        (http(BUSY + b" " * endpoint.LONGEST_BYTES), "size"),
        (http(BUSY, "302 Found", "Location: http://127.0.0.1:1/\r\n"), "redirect"),
        (http(BUSY, "500 Internal Server Error"), "status"),
        (http(b"", "204 No Content"), "status"),
        (noise, "type"),
        (http(gzip.compress(b" " * 10_000_000), headers="Content-Encoding: gzip\r\n"), "type"),
        (http(b"<html></html>"), "type"),
        (http(b'{"active_requests": NaN}'), "nan"),
        (http(b'{"active_requests": -4}'), "negative"),
    ],
)
def test_bad_answers_are_dropped_and_counted(answer: Answer, why: str) -> None:
    """Slow, huge, wrong, elsewhere: no sample, one count by its reason, and the read ends in time."""
    begun = time.monotonic()
    found, counts = asyncio.run(ask_one(answer))

    assert found is None
    assert counts.drops == {("endpoint", why): 1}
    assert time.monotonic() - begun < 2


@pytest.mark.parametrize(
    ("ip", "port", "path"),
    [
        ("localhost", 80, "/"),
        ("pod.example.com", 80, "/"),
        ("127.0.0.1@10.0.0.1", 80, "/"),
        ("169.254.169.254", 80, "/"),
        ("::ffff:169.254.169.254", 80, "/"),
        ("fe80::1%eth0", 80, "/"),
        ("fd00:ec2::254", 80, "/"),
        ("0.0.0.0", 80, "/"),
        ("224.0.0.1", 80, "/"),
        ("10.0.0.1", 0, "/"),
        ("10.0.0.1", 65536, "/"),
        ("10.0.0.1", 80, "@example.com/"),
    ],
)
def test_nothing_but_a_pods_address_is_asked(ip: str, port: int, path: str) -> None:
    """Names, metadata services, and ports that are none are never connected to."""
    assert endpoint.url(target("a", port, ip, path=path)) is None


def test_no_path_leaves_the_pod() -> None:
    """A path that looks like another host, or like headers, stays a path on the pod."""
    for path in ("//example.com/", "/@example.com", "/\r\nHost: example.com", "/../..", "/#x"):
        built = endpoint.url(target("a", 80, "10.0.0.1", path=path))
        assert built is not None
        assert (built.host, built.port) == ("10.0.0.1", 80)
        assert "\r" not in built.raw_path_qs


def test_refused_connection_is_counted() -> None:
    """A pod where nobody listens is no sample."""
    counts = Counts()

    assert asyncio.run(ask([target("a", 1)], counts)) == {"uid-a": None}
    assert counts.drops == {("endpoint", "refused"): 1}


def test_connections_are_kept_from_read_to_read() -> None:
    """Twenty pods asked three times use twenty connections; those beyond the limit are opened anew each time."""
    connections = 0

    async def answer(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        nonlocal connections
        connections += 1
        await http(BUSY)(reader, writer)

    async def run(kept: int) -> None:
        settings = Settings(spread_seconds=0, kept_connections=kept)
        async with server(answer, "0.0.0.0") as port, Endpoint.open(settings, Counts()) as source:
            pods = [target(str(number), port, f"127.0.1.{number + 1}") for number in range(20)]
            for _ in range(3):
                assert set((await source.read(pods)).values()) == {Sample(active_requests=4)}

    asyncio.run(run(kept=20))
    assert connections == 20
    asyncio.run(run(kept=15))
    assert connections == 20 + 15 + 3 * 5


def test_reads_are_spread_and_bounded() -> None:
    """Requests come evenly over the time given, and never more at once than allowed."""
    moments: list[float] = []
    now = most = 0

    async def answer(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        nonlocal now, most
        await reader.readuntil(b"\r\n\r\n")
        moments.append(time.monotonic())
        now += 1
        most = max(most, now)
        await asyncio.sleep(0.05)
        now -= 1
        writer.write(b"HTTP/1.1 200 OK\r\nContent-Length: %d\r\n\r\n%s" % (len(BUSY), BUSY))

    async def run(settings: Settings) -> None:
        async with server(answer) as port:
            found = await ask([target(str(number), port) for number in range(20)], Counts(), settings)
            assert set(found.values()) == {Sample(active_requests=4)}

    asyncio.run(run(Settings(spread_seconds=1.0)))
    halves = [moment - moments[0] < 0.5 for moment in moments]
    assert 7 <= sum(halves) <= 13
    now = most = 0
    asyncio.run(run(Settings(spread_seconds=0, parallel=3)))
    assert most == 3


def test_read_ends_in_its_time_whatever_is_left() -> None:
    """Pods that could not be asked in time count as late, and the others' samples are kept."""
    counts = Counts()

    async def run() -> dict[str, Sample | None]:
        settings = Settings(spread_seconds=0, within_seconds=0.5, timeout_seconds=30, parallel=2)
        async with server(http(BUSY)) as good, server(silent) as bad:
            pods = [target("a", good), *(target(f"silent-{number}", bad) for number in range(5))]
            return await ask(pods, counts, settings)

    begun = time.monotonic()
    assert asyncio.run(run()) == {"uid-a": Sample(active_requests=4)}
    assert time.monotonic() - begun < 2
    assert counts.drops == {("endpoint", "late"): 5}
