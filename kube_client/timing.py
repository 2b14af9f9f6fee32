"""Clocks, sleeps, randomness and the waits between attempts, as values that callers pass in. No I/O of its own."""

import asyncio
import random
import time
from collections.abc import Awaitable, Callable
from dataclasses import dataclass
from datetime import UTC, datetime

RFC3339 = "%Y-%m-%dT%H:%M:%SZ"


def _utc_now() -> datetime:
    return datetime.now(UTC)


@dataclass(frozen=True, slots=True)
class Timing:
    """Where time and chance come from; tests give their own."""

    monotonic: Callable[[], float] = time.monotonic
    utc_now: Callable[[], datetime] = _utc_now
    sleep: Callable[[float], Awaitable[None]] = asyncio.sleep
    random: Callable[[], float] = random.random


@dataclass(frozen=True, slots=True)
class Backoff:
    """Waits that grow by `factor` up to `longest_seconds`, each lengthened by up to `jitter` of itself."""

    first_seconds: float
    factor: float
    longest_seconds: float
    jitter: float = 0.1

    def seconds(self, failures: int, chance: float) -> float:
        """Give the wait after that many failures in a row (1 or more)."""
        # The exponent is bounded: a float overflows after a few hundred failures.
        grown = self.first_seconds * self.factor ** min(failures - 1, 64)
        return min(grown, self.longest_seconds) * (1 + self.jitter * chance)


def rfc3339(moment: datetime) -> str:
    """Write a metav1.Time: whole seconds, UTC."""
    return moment.astimezone(UTC).strftime(RFC3339)


def micro_time(moment: datetime) -> str:
    """Write a metav1.MicroTime: six digits of a second, UTC."""
    # isoformat is several times faster than strftime, and this is written for every pod.
    return moment.astimezone(UTC).replace(tzinfo=None).isoformat(timespec="microseconds") + "Z"
