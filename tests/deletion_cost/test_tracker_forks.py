"""The tracker over forks: a child begins without requests, takes nothing from its parent and holds nothing of it."""

from __future__ import annotations

import os
import threading
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

from deletion_cost import ConnectionTracker
from tests.deletion_cost import forking
from tests.deletion_cost.test_tracker import active


def test_a_forked_child_begins_without_requests(tmp_path: Path) -> None:
    """A request of the parent that the child leaves too is the parent's, and still counts there."""
    tracker = ConnectionTracker(shared=tmp_path)
    with tracker.request():
        if not (child := forking.fork()):
            os._exit(int(not tracker.lock.acquire(timeout=1)))
        assert os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]) == 0
        assert active(tracker) == 1
    assert (active(tracker), tracker.reading().served) == (0, 1)
    tracker.close()


def test_a_child_that_leaves_the_parents_request_takes_nothing_from_it(tmp_path: Path) -> None:
    tracker = ConnectionTracker(shared=tmp_path)
    span = tracker.request().begin()
    if not (child := forking.fork()):
        span.end()
        with tracker.request():
            os._exit(0 if active(tracker) == 2 else 1)
    assert os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]) == 0
    assert active(tracker) == 1
    span.end()
    tracker.close()


def test_a_fork_in_the_middle_of_counting_blocks_no_child(tmp_path: Path) -> None:
    """Two other threads count and read without a pause while fifty children begin, count and end."""
    tracker, stop = ConnectionTracker(shared=tmp_path), threading.Event()

    def work() -> None:
        while not stop.is_set():
            tracker.cache_hit()
            tracker.reading()

    with ThreadPoolExecutor(2) as pool:
        working = [pool.submit(work) for _ in range(2)]
        try:
            codes = [_child(tracker) for _ in range(50)]
        finally:
            stop.set()
        assert [found.result() for found in working] == [None, None]
    assert codes == [0] * 50
    tracker.close()


def _child(tracker: ConnectionTracker) -> int:
    child = forking.fork()
    if not child:
        with tracker.request():
            os._exit(0 if (active(tracker) or 0) >= 1 else 1)
    return os.waitstatus_to_exitcode(os.waitpid(child, 0)[1])


def test_a_child_of_a_process_that_claims_keeps_no_lock_of_it(tmp_path: Path) -> None:
    """The claim runs in one thread while another forks: the parent's file is free as soon as the parent lets go."""
    for number in range(20):
        folder = tmp_path / str(number)
        tracker = ConnectionTracker(shared=folder)
        with ThreadPoolExecutor(1) as pool:
            claiming = pool.submit(tracker.cache_hit)
            read, write = os.pipe()
            child = forking.fork()
            if not child:
                os.close(write)
                os.read(read, 1)
                os._exit(0)
            claiming.result()
        tracker.close()
        assert not list(folder.iterdir())
        os.close(write)
        os.waitpid(child, 0)
        os.close(read)
