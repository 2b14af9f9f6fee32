"""Runs the Go program that judges cases with kube-scheduler's own framework. Knows nothing of our decisions."""

from __future__ import annotations

import subprocess
import tempfile
from collections.abc import Iterable, Iterator, Mapping
from pathlib import Path
from threading import Event, Thread
from types import TracebackType
from typing import IO, Any, Self, TypeAlias

import msgspec

from tests.control_plane import build
from tests.differential.answers import FrameworkAnswer

Case: TypeAlias = Mapping[str, Any]  # a cluster and a pod, in the API's JSON; see case.go

SOURCES = Path(build.__file__).parent / "go" / "framework"
LAST_LINES = 20
SECONDS_TO_STOP = 5


class FrameworkError(RuntimeError):
    """The program cannot be used any more; the message ends with its last lines on standard error."""


class Framework:
    """One running program. A case that it cannot judge is an answer with an error, never an exception."""

    def __init__(self, binary: Path | None = None) -> None:
        self._binary = binary or build.program("framework", SOURCES)
        self._decode = msgspec.json.Decoder(FrameworkAnswer).decode
        self._encode = msgspec.json.Encoder().encode

    def __enter__(self) -> Self:
        self._errors: IO[bytes] = tempfile.TemporaryFile()
        self._process = subprocess.Popen(
            [self._binary], stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=self._errors
        )
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, at: TracebackType | None) -> None:
        process = self._process
        try:
            assert process.stdin is not None
            process.stdin.close()
            process.wait(SECONDS_TO_STOP)
        except (BrokenPipeError, subprocess.TimeoutExpired):
            process.kill()
            process.wait()
        finally:
            assert process.stdout is not None
            process.stdout.close()
            self._errors.close()

    @property
    def pid(self) -> int:
        """The program's process."""
        return self._process.pid

    def judge(self, case: Case) -> FrameworkAnswer:
        """Judge one case."""
        [answer] = self.judge_all([case])
        return answer

    def judge_all(self, cases: Iterable[Case]) -> Iterator[FrameworkAnswer]:
        """Yield the answers in the order of the cases, which are sent ahead while answers are used.

        One batch at a time: it must be read to its end, or closed, before the next.
        """
        sender = _Sender(self._process, map(self._encode, cases))
        sender.start()
        answered = 0
        try:
            while not sender.is_done(answered):
                line = self._next_line()
                answered += 1
                yield self._decode(line)
        finally:
            sender.stop.set()
            while not sender.is_done(answered) and self._process.poll() is None:
                answered += bool(self._stdout.readline())
        sender.raise_error()

    @property
    def _stdout(self) -> IO[bytes]:
        assert self._process.stdout is not None
        return self._process.stdout

    def _next_line(self) -> bytes:
        line = self._stdout.readline()
        if not line.endswith(b"\n"):
            raise self._died()
        return line

    def _died(self) -> FrameworkError:
        code = self._process.wait(SECONDS_TO_STOP)
        self._errors.seek(0)
        last = self._errors.read().decode(errors="replace").splitlines()[-LAST_LINES:]
        return FrameworkError("\n".join([f"the framework's program ended with exit code {code}", *last]))


class _Sender(Thread):
    """Writes cases while the answers of earlier ones are read, so that neither side waits for a full pipe."""

    def __init__(self, process: subprocess.Popen[bytes], lines: Iterator[bytes]) -> None:
        super().__init__(daemon=True)
        self._process, self._lines = process, lines
        self._sent = 0
        self._error: BaseException | None = None
        self._progress = Event()
        self._ended = False
        self.stop = Event()

    def run(self) -> None:
        try:
            self._send()
        except BaseException as error:  # noqa: BLE001 - raised again where the answers are read
            self._error = error
        finally:
            self._ended = True
            self._progress.set()

    def _send(self) -> None:
        stdin = self._process.stdin
        assert stdin is not None
        for line in self._lines:
            if self.stop.is_set():
                return
            self._sent += 1
            self._progress.set()
            stdin.write(line + b"\n")
            stdin.flush()

    def is_done(self, answered: int) -> bool:
        """Wait until another answer is due, or none will be; say whether none will be."""
        while answered >= self._sent:
            if self._ended:
                return answered >= self._sent
            self._progress.wait()
            self._progress.clear()
        return False

    def raise_error(self) -> None:
        """Raise what ended the sending early, except a pipe that the program closed: reading tells why."""
        if self._error is not None and not isinstance(self._error, BrokenPipeError):
            raise self._error
