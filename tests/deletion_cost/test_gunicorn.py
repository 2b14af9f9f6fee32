"""The library under a real gunicorn with four workers: what any of them says is the sum, whatever happens to some."""

from __future__ import annotations

import contextlib
import functools
import os
import signal
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest

from deletion_cost import process_files
from tests.control_plane import waiting
from tests.deletion_cost import serving
from tests.deletion_cost.serving import Serving

THREADED, SYNC = "--worker-class=gthread", "--worker-class=sync"


@contextlib.contextmanager
def gunicorn(folder: Path, *options: str) -> Iterator[Serving]:
    environment = {"RELEASE_FILE": str(folder / "release")}
    with serving.running(folder, serving.gunicorn(*options), environment) as server:
        yield server


@pytest.fixture(scope="module")
def server(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Serving]:
    """Four workers of 32 threads each."""
    with gunicorn(tmp_path_factory.mktemp("gunicorn"), THREADED, "--threads=32") as running:
        yield running


def hold(server: Serving, stack: contextlib.ExitStack, processes: int) -> list[int]:
    """Hold twenty requests, or as many as it takes until two workers have some; return who answers each."""
    all_there(server, processes)
    held: list[int] = []
    while len(held) < 20 or len(set(held)) < 2:
        held.append(stack.enter_context(server.stream("/hold"))[1])
    return held


def all_there(server: Serving, processes: int) -> None:
    """Wait until so many processes count: the server takes requests as soon as the first one does."""
    [folder] = folders(server)
    waiting.until(lambda: len(list(folder.glob(f"*{process_files.SUFFIX}"))) == processes, "all workers there", 10)


def test_workers_are_summed_and_a_killed_one_counts_no_more(tmp_path: Path) -> None:
    """Twenty requests or more are held; the worker with most is killed; the others are counted on; then all end."""
    with gunicorn(tmp_path, THREADED, "--threads=32") as server, contextlib.ExitStack() as stack:
        held = hold(server, stack, processes=4)
        assert {server.reading()["active_requests"] for _ in range(20)} == {len(held)}

        victim = max(held, key=held.count)
        os.kill(victim, signal.SIGKILL)
        server.until_reads(active_requests=len(held) - held.count(victim))

        (tmp_path / "release").touch()
        server.until_reads(active_requests=0, served=len(held) - held.count(victim))


def test_load_from_many_clients_is_counted_exactly(server: Serving) -> None:
    """2,000 requests over 16 clients, some of which fail; not one too many, not one too few."""
    before = server.reading()["served"]
    paths = ["/", "/", "/file", "/", "/fail"] * 400
    with ThreadPoolExecutor(16) as pool:
        statuses = [status for status, _ in pool.map(server.get, paths)]

    assert statuses.count(500) == 400
    server.until_reads(active_requests=0, served=before + 1600)
    assert 0 < server.reading()["mean_response_ms"] < 1000


def test_an_exception_ends_its_request(server: Serving) -> None:
    before = server.reading()["served"]
    assert server.get("/raise")[0] == 500
    server.until_reads(active_requests=0, served=before)


def test_a_client_that_goes_in_the_middle_ends_its_request(server: Serving) -> None:
    with server.stream("/endless"):
        server.until_reads(active_requests=1)
    server.until_reads(active_requests=0)


def test_a_file_is_sent_whole(server: Serving) -> None:
    assert server.get("/file")[1] == (serving.ROOT / "tests" / "deletion_cost" / "held_wsgi.py").read_bytes()


def test_an_own_port_answers_while_every_worker_is_busy(tmp_path: Path) -> None:
    """Workers that serve one request at a time: through them the endpoint would wait. One holds the port; it is
    killed, and another one takes over."""
    with gunicorn(tmp_path, SYNC) as server, contextlib.ExitStack() as stack:
        port = server.endpoint_port
        server_listens(server)
        held = [stack.enter_context(server.stream("/hold"))[1] for _ in range(4)]
        server.until_reads(port, active_requests=4)
        for number, pid in enumerate(held):
            os.kill(pid, signal.SIGKILL)
            server_listens(server)
            server.until_reads(port, active_requests=3 - number)


def test_an_application_that_is_loaded_before_the_fork_is_summed_too(tmp_path: Path) -> None:
    with gunicorn(tmp_path, THREADED, "--threads=32", "--preload") as server, contextlib.ExitStack() as stack:
        held = hold(server, stack, processes=5)  # the first is the one that forks
        server.until_reads(active_requests=len(held))
        server.until_reads(server.endpoint_port, active_requests=len(held))


def test_workers_that_are_replaced_leave_the_counter_as_it_was(tmp_path: Path) -> None:
    """Eight times the worker that answered is ended; its successor takes over what it had served."""
    with gunicorn(tmp_path, THREADED, "--threads=2") as server:
        all_there(server, processes=4)
        for _ in range(8):
            pid, *_ = [int(server.get("/pid")[1]) for _ in range(5)]
            os.kill(pid, signal.SIGTERM)
            waiting.until(functools.partial(_is_gone, pid), "worker gone", 10)
        server_listens(server)
        server.until_reads(server.endpoint_port, active_requests=0, served=40)


def test_nothing_is_left_behind(tmp_path: Path) -> None:
    with gunicorn(tmp_path, THREADED, "--threads=2") as server:
        server.get("/")
        [folder] = folders(server)
        assert folder.stat().st_mode & 0o777 == 0o700
    assert not folder.exists()


def folders(server: Serving) -> list[Path]:
    """Where the workers meet: the server leads its process group."""
    server_listens(server)
    return list(Path("/dev/shm").glob(f"deletion-cost-*-{server.process.pid}"))


def server_listens(server: Serving) -> None:
    """Wait for the own port, which moves from process to process."""

    def answers() -> bool:
        with contextlib.suppress(OSError):
            return bool(server.reading(server.endpoint_port))
        return False

    waiting.until(answers, "own port", 15)


def _is_gone(pid: int) -> bool:
    return not Path(f"/proc/{pid}").exists()
