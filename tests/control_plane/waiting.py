"""Waiting for what another process does: poll, and say what was missed."""

from __future__ import annotations

import time
from collections.abc import Callable


def until(seen: Callable[[], bool], what: str, timeout_seconds: float = 30, pause_seconds: float = 0.05) -> None:
    """Return as soon as `seen`; a TimeoutError names what was waited for."""
    deadline = time.monotonic() + timeout_seconds
    while not seen():
        if time.monotonic() > deadline:
            raise TimeoutError(f"not seen in {timeout_seconds:.0f} s: {what}")
        time.sleep(pause_seconds)
