"""The folder of counts: who lives is counted, who has ended is not, however it ended, and nothing is cleared twice."""

from __future__ import annotations

import os
import signal
import threading
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from pathlib import Path

import pytest

from deletion_cost import process_counts, process_files
from deletion_cost.process_counts import ACTIVE
from deletion_cost.process_files import OwnFile
from tests.control_plane import waiting
from tests.deletion_cost import forking

NOW = 1000.0


def claim(folder: Path, now: float = NOW, served: int = 0) -> OwnFile:
    own = process_files.claim(folder, 60.0, now)
    own.counts.add(ACTIVE, 1)
    for _ in range(served):
        own.counts.answered(now, 0.1)
    return own


@contextmanager
def process(folder: Path, served: int = 0) -> Iterator[int]:
    """A forked process that has one request in work and does not end by itself."""
    read, write = os.pipe()
    child = forking.fork()
    if not child:
        claim(folder, served=served)
        os.write(write, b"!")
        signal.pause()
        os._exit(0)
    assert os.read(read, 1) == b"!"
    try:
        yield child
    finally:
        os.kill(child, signal.SIGKILL)
        os.waitpid(child, 0)
        os.close(read)
        os.close(write)


def files(folder: Path) -> int:
    return len(list(folder.glob(f"*{process_files.SUFFIX}")))


def test_the_living_are_summed(tmp_path: Path) -> None:
    with process(tmp_path, 3), process(tmp_path, 4), process(tmp_path, 5):
        totals = process_files.read(tmp_path, NOW).totals
        assert (totals.active, totals.served, totals.answered) == (3, 12, 12)


def test_a_killed_process_counts_no_more_at_once(tmp_path: Path) -> None:
    """No process has cleared up yet: the kernel alone tells."""
    with process(tmp_path, 3):
        with process(tmp_path, 4):
            pass
        totals = process_files.read(tmp_path, NOW).totals
        assert (totals.active, totals.answered) == (1, 3)
        assert totals.served == 7
        assert files(tmp_path) == 2


def test_a_stopped_process_still_counts(tmp_path: Path) -> None:
    with process(tmp_path) as child:
        os.kill(child, signal.SIGSTOP)
        assert process_files.read(tmp_path, NOW).totals.active == 1


def test_the_next_process_clears_away_and_keeps_what_was_served(tmp_path: Path) -> None:
    with process(tmp_path, 3):
        for _ in range(4):
            with process(tmp_path, 10):
                pass
        own = claim(tmp_path)
        assert process_files.read(tmp_path, NOW).totals.served == 43
        assert files(tmp_path) == 2
        own.unlock()


def test_after_all_have_ended_counting_begins_anew(tmp_path: Path) -> None:
    """A container that was restarted on a folder that outlived it is cold, and has served nothing."""
    with process(tmp_path, 10):
        pass
    own = claim(tmp_path, NOW + 500)
    found = process_files.read(tmp_path, NOW + 500)
    assert (found.totals.served, found.since, files(tmp_path)) == (0, NOW + 500, 1)
    own.unlock()


def test_a_successor_goes_on_where_the_others_began(tmp_path: Path) -> None:
    with process(tmp_path):
        own = claim(tmp_path, NOW + 500)
        assert process_counts.since(own.counts.cells) == NOW
        own.unlock()


def test_many_who_come_at_once_lose_nothing(tmp_path: Path) -> None:
    """They clear away the same ended processes; each is found by one alone."""
    first = claim(tmp_path)
    for _ in range(20):
        with process(tmp_path, 2):
            pass
    with ThreadPoolExecutor(16) as pool:
        owned = list(pool.map(lambda _: claim(tmp_path), range(16)))

    totals = process_files.read(tmp_path, NOW).totals
    assert (totals.active, totals.served, files(tmp_path)) == (17, 40, 17)
    for own in (first, *owned):
        own.unlock()


def test_readers_do_not_take_each_other_for_the_owner(tmp_path: Path) -> None:
    with process(tmp_path, 1):
        pass
    with ThreadPoolExecutor(8) as pool:
        readings = pool.map(lambda _: process_files.read(tmp_path, NOW).totals.active, range(500))
    assert set(readings) == {0}


def test_readers_never_drive_a_newcomer_out(tmp_path: Path) -> None:
    """They lock each file for a moment, also one that is just being made."""
    stop = threading.Event()

    def look() -> None:
        while not stop.is_set():
            process_files.read(tmp_path, NOW)

    with ThreadPoolExecutor(2) as pool:
        looking = pool.submit(look)
        owned = [claim(tmp_path) for _ in range(50)]
        stop.set()
        looking.result()
    assert process_files.read(tmp_path, NOW).totals.active == 50
    for own in owned:
        own.unlock()


def test_files_that_are_not_ours_to_read_are_nothing(tmp_path: Path) -> None:
    (tmp_path / f"short{process_files.SUFFIX}").write_bytes(b"x")
    (tmp_path / f"long{process_files.SUFFIX}").write_bytes(b"\xff" * 10_000)
    assert process_files.read(tmp_path, NOW).totals == process_counts.Totals()


def test_a_lock_is_held_by_one(tmp_path: Path) -> None:
    path = tmp_path / "leader.lock"
    held = process_files.lock(path)
    assert held is not None
    assert process_files.lock(path) is None
    os.close(held)
    again = process_files.lock(path)
    assert again is not None
    os.close(again)


def test_a_dead_holder_frees_its_lock(tmp_path: Path) -> None:
    child = forking.fork()
    if not child:
        process_files.lock(tmp_path / "leader.lock")
        os._exit(0)
    os.waitpid(child, 0)

    def taken() -> bool:
        found = process_files.lock(tmp_path / "leader.lock")
        if found is not None:
            os.close(found)
        return found is not None

    waiting.until(taken, "lock free", timeout_seconds=2)


def prefixed(parent: Path, number: int) -> Path:
    return parent / f"deletion-cost-{os.geteuid()}-{number}"


def test_the_last_one_leaves_nothing(tmp_path: Path) -> None:
    folder = prefixed(tmp_path, 1)
    first, second = claim(folder), claim(folder)
    (folder / f"reporter{process_files.LOCK_SUFFIX}").touch()
    first.unlock()
    process_files.discard(folder)
    assert (files(folder), process_files.read(folder, NOW).totals.active) == (2, 1)
    second.unlock()
    process_files.discard(folder)
    assert not folder.exists()


def test_what_others_have_in_a_folder_is_not_touched(tmp_path: Path) -> None:
    """An application may name a folder that holds its own things; at the end they, and the folder, are still there."""
    for name in ("data", "app.lock", "app.counts"):
        (tmp_path / name).write_text("x")
    own = claim(tmp_path)
    own.unlock()
    process_files.discard(tmp_path)
    assert sorted(path.name for path in tmp_path.iterdir()) == ["app.counts", "app.lock", "data"]


def test_what_killed_applications_left_is_swept_up(tmp_path: Path) -> None:
    killed, lives, linked = (prefixed(tmp_path, number) for number in (1, 2, 3))
    elsewhere = tmp_path / "elsewhere"
    linked.symlink_to(elsewhere)
    for folder in (killed, elsewhere):
        with process(folder):
            pass
    with process(lives):
        process_files.sweep(tmp_path)
        assert [folder.exists() for folder in (killed, lives)] == [False, True]
    assert files(elsewhere) == 1


def test_a_folder_that_others_can_write_is_refused(tmp_path: Path) -> None:
    open_to_all = tmp_path / "open"
    open_to_all.mkdir()
    open_to_all.chmod(0o777)
    with pytest.raises(PermissionError):
        process_files.prepare(open_to_all)


def test_a_link_in_the_folders_place_is_refused(tmp_path: Path) -> None:
    (tmp_path / "link").symlink_to(tmp_path)
    with pytest.raises(PermissionError):
        process_files.prepare(tmp_path / "link")


def test_the_common_folder_is_the_process_groups() -> None:
    folder = process_files.common_folder()
    assert folder.name == f"deletion-cost-{os.geteuid()}-{os.getpgrp()}"
