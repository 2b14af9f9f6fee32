"""A daemon thread that survives a fork, and the lock by which one process of many does what one must do alone.

Part of the library that applications import: standard library only. A failure here never ends the application.
"""

import functools
import logging
import os
import threading
import weakref
from collections.abc import Callable
from typing import TYPE_CHECKING

from deletion_cost import process_files

if TYPE_CHECKING:
    from deletion_cost.tracker import ConnectionTracker

_log = logging.getLogger("deletion_cost")
_AFTER_A_BUG_SECONDS = 60.0
_STOP_SECONDS = 10.0


class Leadership:
    """Held by one of the processes that share a tracker's folder; the kernel frees it however that one ends."""

    def __init__(self, tracker: "ConnectionTracker", name: str) -> None:
        self._tracker, self._name = tracker, name
        self._descriptor: int | None = None
        os.register_at_fork(after_in_child=functools.partial(_forget, weakref.ref(self)))

    def take(self) -> bool:
        """Whether this process leads; a process that shares with nobody always does."""
        folder = self._tracker.folder()
        if self._descriptor is not None and not os.fstat(self._descriptor).st_nlink:
            self.release()  # the last process of before, on its way out, took it for its own
        if folder is None or self._descriptor is not None:
            return True
        try:
            with self._tracker.lock:
                self._descriptor = process_files.lock(folder / f"{self._name}{process_files.LOCK_SUFFIX}")
        except OSError as error:
            _log.warning("leadership not taken name=%s error=%s", self._name, error)
        return self._descriptor is not None

    def release(self) -> None:
        """Let another lead."""
        descriptor, self._descriptor = self._descriptor, None
        if descriptor is not None:
            os.close(descriptor)


class Background:
    """Runs `work` in a daemon thread until it is stopped, in forked children too; there `release` comes first."""

    def __init__(self, name: str, work: Callable[[threading.Event], None], release: Callable[[], None]) -> None:
        self._name, self._work, self._release = name, work, release
        self._stop = threading.Event()
        self._thread: threading.Thread | None = None
        os.register_at_fork(after_in_child=functools.partial(_renew, weakref.ref(self)))

    def start(self) -> None:
        """Start the thread; one that runs is left alone."""
        if self._thread is None:
            self._stop = threading.Event()
            self._thread = threading.Thread(target=self._run, args=(self._stop,), name=self._name, daemon=True)
            self._thread.start()

    def stop(self) -> None:
        """Ask the thread to end and wait for it."""
        thread, self._thread = self._thread, None
        self._stop.set()
        if thread is not None and thread is not threading.current_thread():
            thread.join(_STOP_SECONDS)

    def _run(self, stop: threading.Event) -> None:
        while not stop.is_set():
            try:
                self._work(stop)
                break
            except Exception:  # noqa: BLE001  the outermost frame of a thread in somebody else's process
                _log.exception("deletion cost thread failed name=%s", self._name)
                stop.wait(_AFTER_A_BUG_SECONDS)
        self._release()


def _forget(reference: "weakref.ref[Leadership]") -> None:
    """Close a forked child's copy of the lock, which stays the parent's."""
    leadership = reference()
    if leadership is not None:
        leadership.release()


def _renew(reference: "weakref.ref[Background]") -> None:
    """Start anew in a forked child, where threads do not go along but descriptors do."""
    background = reference()
    if background is not None and background._thread is not None:
        background._release()
        background._thread = None
        background.start()
