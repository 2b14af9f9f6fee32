"""The reporter as it runs: a thread or a task that holds nothing up, one process of many, over forks and kills."""

from __future__ import annotations

import asyncio
import os
import signal
import threading
from collections.abc import Iterator
from pathlib import Path

import pytest

from deletion_cost import ConnectionTracker, DeletionCostReporter
from deletion_cost.background import Leadership
from deletion_cost.own_pod import OwnPod
from tests.control_plane import waiting
from tests.deletion_cost import forking
from tests.deletion_cost.pod_api import PodApi
from tests.deletion_cost.test_reporter import WARM, make


@pytest.fixture
def api(tmp_path: Path) -> Iterator[PodApi]:
    with PodApi(tmp_path) as running:
        yield running


def quick(tracker: ConnectionTracker, api: PodApi) -> DeletionCostReporter:
    """One that begins at once."""
    return DeletionCostReporter(tracker, WARM, find_pod=api.pod, chance=lambda: 0.0)


def test_the_thread_reports_and_ends(api: PodApi) -> None:
    with quick(ConnectionTracker(shared=False), api):
        waiting.until(lambda: api.costs() == ["0"], "report")
        [thread] = [thread for thread in threading.enumerate() if thread.name == "deletion-cost-reporter"]
        assert thread.daemon
    assert not thread.is_alive()


def test_the_task_reports_and_holds_nothing_up(api: PodApi) -> None:
    """The server takes half a second; the loop goes on meanwhile."""
    api.script.seconds = 0.5

    async def run() -> int:
        task = asyncio.create_task(quick(ConnectionTracker(shared=False), api).run())
        ticks = 0
        while not api.calls or ticks < 20:
            await asyncio.sleep(0.01)
            ticks += 1
        task.cancel()
        await asyncio.gather(task, return_exceptions=True)
        return ticks

    assert asyncio.run(run()) >= 20
    assert api.costs() == ["0"]


def test_one_of_many_processes_reports_and_the_next_takes_over(tmp_path: Path, api: PodApi) -> None:
    first, second = (ConnectionTracker(shared=tmp_path / "shared") for _ in range(2))
    leads, waits = make(first, api), make(second, api)

    assert [leads.step(), waits.step(), waits.step()] == [30, 5, 5]
    leads._leadership.release()
    assert waits.step() == 30
    assert api.costs() == ["0", "0"]
    for tracker in (first, second):
        tracker.close()


def test_a_forked_child_does_not_hold_its_parents_lead(tmp_path: Path) -> None:
    """Also without a thread, as under asyncio: the child lives on, and another leads as soon as the parent lets go."""
    tracker, other = (ConnectionTracker(shared=tmp_path / "shared") for _ in range(2))
    lead, next_one = Leadership(tracker, "reporter"), Leadership(other, "reporter")
    assert lead.take()
    child = forking.fork()
    if not child:
        (tmp_path / "child").write_text(str(lead.take()))
        signal.pause()
    try:
        waiting.until(lambda: (tmp_path / "child").exists() and (tmp_path / "child").read_text() != "", "child")
        assert ((tmp_path / "child").read_text(), next_one.take()) == ("False", False)
        lead.release()
        assert next_one.take()
    finally:
        os.kill(child, signal.SIGKILL)
        os.waitpid(child, 0)


def test_one_that_was_refused_leads_on(tmp_path: Path, api: PodApi) -> None:
    """So the others do not ask for the same."""
    first, second = (ConnectionTracker(shared=tmp_path / "shared") for _ in range(2))
    refused, waits = make(first, api), make(second, api)
    api.script.then(404)
    assert [refused.step(), waits.step(), waits.step()] == [86_400, 5, 5]
    assert len(api.calls) == 1
    for tracker in (first, second):
        tracker.close()


def test_a_forked_child_takes_over_when_its_parent_is_killed(tmp_path: Path, api: PodApi) -> None:
    """The parent reports and forks; the child's own thread stands by, then reports what it has."""
    processes = [forking.fork()]
    if not processes[0]:
        _parent_and_child(tmp_path, api)
    try:
        waiting.until((tmp_path / "child").exists, "fork")
        processes.append(int((tmp_path / "child").read_text()))
        assert api.costs() == ["0"]
        os.kill(processes[0], signal.SIGKILL)
        waiting.until(lambda: api.costs() == ["0", "15"], "child's report", 20)
    finally:
        for process in processes:
            os.kill(process, signal.SIGKILL)
        os.waitpid(processes[0], 0)


def _parent_and_child(folder: Path, api: PodApi) -> None:
    tracker = ConnectionTracker(shared=folder / "shared")
    report = quick(tracker, api)
    report.start()
    waiting.until(lambda: report._written == 0, "report")
    child = forking.fork()
    if child:
        (folder / "new").write_text(str(child))
        (folder / "new").rename(folder / "child")
    for _ in range(0 if child else 3):
        tracker.request().begin()
    signal.pause()
    os._exit(0)


def test_a_bug_in_the_thread_is_logged_and_reaches_nobody(caplog: pytest.LogCaptureFixture) -> None:
    def find() -> OwnPod:
        raise ZeroDivisionError

    report = DeletionCostReporter(ConnectionTracker(shared=False), WARM, find_pod=find, chance=lambda: 0.0)
    report.start()
    waiting.until(lambda: "deletion cost thread failed" in caplog.text, "log line")
    report.stop()
