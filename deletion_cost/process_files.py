"""A folder in which the processes of one application keep their counts, one file each, so that any of them can sum.

A process holds a lock on its file as long as it lives. The kernel gives the lock back however the process ends, so
the counts of one that was killed are out of the sum at once, and nobody has to notice that it died.
"""

import contextlib
import fcntl
import mmap
import os
import stat
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

from deletion_cost import process_counts
from deletion_cost.process_counts import Cells, Counts, Totals

# Names that nobody else uses: an application may name a folder that holds other things.
SUFFIX, LOCK_SUFFIX = ".deletion-cost", ".deletion-cost-lock"
_OPEN = os.O_RDWR | os.O_CLOEXEC | os.O_NOFOLLOW
_MOST_TRIES = 100


@dataclass(frozen=True, slots=True)
class Sum:
    """What the folder says: the totals, and since when the living have served (None: nobody lives)."""

    totals: Totals
    since: float | None


class OwnFile:
    """This process's file: its counts, and the lock that says that it lives."""

    def __init__(self, descriptor: int, window_seconds: float, since: float) -> None:
        os.ftruncate(descriptor, process_counts.BYTES)
        self._descriptor = descriptor
        self._map = mmap.mmap(descriptor, process_counts.BYTES)
        self.counts = Counts(memoryview(self._map).cast("q"), window_seconds, since)

    def unlock(self) -> None:
        """Take this process out of the sum. The memory stays: a request may still be counted there, for nobody."""
        fcntl.flock(self._descriptor, fcntl.LOCK_UN)  # the map has a copy of the descriptor, and would keep the lock
        os.close(self._descriptor)

    def abandon(self) -> None:
        """Let go of a parent's file in its child, where requests that the parent had begun must count nowhere."""
        shared, self.counts.cells = self.counts.cells, process_counts.copied(self.counts.cells)
        shared.release()
        self._map.close()
        os.close(self._descriptor)


def common_folder() -> Path:
    """Name the folder of this process group: a server's workers are in the group of the process that forked them."""
    import tempfile  # as slow to import as all the rest

    shared_memory = Path("/dev/shm")
    parent = shared_memory if os.access(shared_memory, os.W_OK) else Path(tempfile.gettempdir())
    return parent / f"{_prefix()}{os.getpgrp()}"


def sweep(parent: Path) -> None:
    """Remove what this user's applications left in common folders when they were killed."""
    with contextlib.suppress(OSError):  # another process sweeps the same
        for folder in filter(_is_ours, parent.glob(f"{_prefix()}*")):
            discard(folder)


def prepare(folder: Path) -> None:
    """Make the folder; PermissionError if it is there and another user could write in it, or has put a link there."""
    folder.mkdir(mode=0o700, parents=True, exist_ok=True)
    if not _is_ours(folder):
        raise PermissionError(f"{folder} is not a folder that only this user can write")


def claim(folder: Path, window_seconds: float, now: float) -> OwnFile:
    """Begin a file of this process's own, and clear away those whose processes have ended."""
    alive = read(folder, now)
    own = OwnFile(_create(folder), window_seconds, now if alive.since is None else alive.since)
    ended = _clear(folder)
    if alive.since is not None:
        own.counts.inherit(ended)
    return own


def read(folder: Path, now: float) -> Sum:
    """Add up all processes. Of those that have ended only what they had served is left."""
    totals, since = Totals(), None
    for descriptor, _ in _files(folder):
        is_alive = not _is_free(descriptor)
        with _mapped(descriptor) as cells:
            if is_alive and cells is not None:
                totals = totals.plus(process_counts.totals(cells, now))
                began = process_counts.since(cells)
                since = began if since is None else min(since, began)
            elif cells is not None:
                totals = totals.plus(Totals(served=process_counts.served(cells)))
    return Sum(totals, since)


def discard(folder: Path) -> None:
    """Remove what is left if nobody lives any more. One who comes at the same time makes the folder anew."""
    with contextlib.suppress(OSError):
        if not all(_is_free(descriptor) for descriptor, _ in _files(folder)):
            return  # the next one takes over what this one has served
        _clear(folder)
        if any(folder.glob(f"*{SUFFIX}")):
            return
        for path in folder.glob(f"*{LOCK_SUFFIX}"):
            path.unlink()
        if folder.name.startswith(_prefix()):
            folder.rmdir()


def lock(path: Path) -> int | None:
    """Hold a file as long as its descriptor is open; None if another process holds it.

    Between opening and locking another may take it for the file of one that has ended, and remove it.
    """
    for _ in range(_MOST_TRIES):
        path.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
        with contextlib.suppress(FileNotFoundError):
            descriptor = os.open(path, _OPEN | os.O_CREAT, 0o600)
            is_free = _is_free(descriptor, fcntl.LOCK_EX)
            if is_free and os.fstat(descriptor).st_nlink:
                return descriptor
            os.close(descriptor)
            if not is_free:
                return None
    raise OSError(f"{path} does not stay")


def _prefix() -> str:
    return f"deletion-cost-{os.geteuid()}-"


def _is_ours(folder: Path) -> bool:
    found = folder.lstat()
    is_closed = not found.st_mode & (stat.S_IWGRP | stat.S_IWOTH)
    return stat.S_ISDIR(found.st_mode) and found.st_uid == os.geteuid() and is_closed


def _create(folder: Path) -> int:
    """Create this process's file; a reader that looks at it too early makes it another."""
    for _ in range(_MOST_TRIES):
        descriptor = lock(folder / f"{os.urandom(16).hex()}{SUFFIX}")
        if descriptor is not None:
            return descriptor
    raise OSError(f"no file in {folder} stays")


def _clear(folder: Path) -> int:
    """Remove the files of processes that have ended; return what they had served. Each is found by one alone."""
    served = 0
    for descriptor, path in _files(folder):
        if _is_free(descriptor, fcntl.LOCK_EX) and os.fstat(descriptor).st_nlink:
            with _mapped(descriptor) as cells:
                served += 0 if cells is None else process_counts.served(cells)
            path.unlink(missing_ok=True)
    return served


def _files(folder: Path) -> Iterator[tuple[int, Path]]:
    """Each file of counts, opened as long as it is looked at."""
    for path in folder.glob(f"*{SUFFIX}"):
        try:
            descriptor = os.open(path, _OPEN)
        except FileNotFoundError:
            continue
        try:
            yield descriptor, path
        finally:
            os.close(descriptor)


def _is_free(descriptor: int, kind: int = fcntl.LOCK_SH) -> bool:
    """Whether nobody holds the file. Readers share it: two who look at once do not take each other for its owner."""
    try:
        fcntl.flock(descriptor, kind | fcntl.LOCK_NB)
    except BlockingIOError:
        return False
    return True


@contextlib.contextmanager
def _mapped(descriptor: int) -> Iterator[Cells | None]:
    """The cells of a file; None as long as they are not laid out."""
    if os.fstat(descriptor).st_size < process_counts.BYTES:
        yield None
        return
    with (
        mmap.mmap(descriptor, process_counts.BYTES, access=mmap.ACCESS_READ) as mapped,
        memoryview(mapped) as view,
        view.cast("q") as cells,
    ):
        yield cells if process_counts.is_ready(cells) else None
