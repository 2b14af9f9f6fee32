"""Servers as child processes under a guard: started with a log file, watched while waited for, stopped exactly once."""

from __future__ import annotations

import os
import subprocess
import sys
import time
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path

GUARD = Path(__file__).with_name("guard.py")
TAIL_LINES = 15


class ProcessError(RuntimeError):
    """A server did not start, ended early or did not become ready; the message carries the end of its log."""


class Process:
    """One running server. `pid` is the server's own, not its guard's."""

    def __init__(self, log: Path, command: Sequence[str | Path], environment: Mapping[str, str], grace: float) -> None:
        """`grace` is the seconds between SIGTERM and SIGKILL when it is stopped."""
        self.name, self.log = log.stem, log
        self._guard = subprocess.Popen(
            [sys.executable, "-I", "-S", GUARD, log, str(grace), *command],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            env=environment,
            start_new_session=True,  # Ctrl-C in a terminal reaches us alone; we stop the rest in order
        )
        self.pid = self._read_pid()

    def _read_pid(self) -> int:
        assert self._guard.stdout is not None
        with self._guard.stdout as output:
            line = output.readline()
        if not line:
            self.stop()
            raise ProcessError(f"{self.name} could not be started")
        return int(line)

    def signal(self, number: int) -> None:
        """Send the server itself a signal, if it still runs."""
        if self.exit_code() is None:
            os.kill(self.pid, number)

    def exit_code(self) -> int | None:
        """None while it runs."""
        return self._guard.poll()

    def wait_until(self, ready: Callable[[], bool], what: str, timeout_seconds: float = 60) -> None:
        """Poll until ready; a server that ends, or takes longer, is an error that shows its log."""
        deadline = time.monotonic() + timeout_seconds
        while not ready():
            if self.exit_code() is not None:
                raise ProcessError(f"{self.name} ended with exit code {self.exit_code()}\n{self.tail()}")
            if time.monotonic() > deadline:
                raise ProcessError(f"{self.name}: {what} not seen in {timeout_seconds:.0f} s\n{self.tail()}")
            time.sleep(0.05)

    def tail(self) -> str:
        """The last lines of the log."""
        text = self.log.read_text(errors="replace") if self.log.exists() else ""
        return "\n".join(text.splitlines()[-TAIL_LINES:])

    def stop(self) -> None:
        """End the server and wait for it; a second call does nothing."""
        if self._guard.stdin is not None:
            self._guard.stdin.close()
        self._guard.wait()
