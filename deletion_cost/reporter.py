"""Writes an application's own load to its pod's deletion cost, now and then, and never in the way of the application.

Part of the library that applications import: standard library only.
"""

import collections
import logging
import random
import threading
from collections.abc import Callable
from dataclasses import dataclass
from types import TracebackType
from typing import TYPE_CHECKING, Literal, Self

from deletion_cost import bands
from deletion_cost.background import Background, Leadership
from deletion_cost.own_pod import NotWritten, OwnPod
from deletion_cost.sample import Sample
from deletion_cost.tracker import ConnectionTracker

if TYPE_CHECKING:
    from deletion_cost import load

_log = logging.getLogger("deletion_cost")
_STAND_BY_SECONDS = 5.0  # how soon another process takes over
_NEVER_SECONDS = 86_400.0
_LONGEST_PAUSE_SECONDS, _MOST_DOUBLINGS = 600.0, 10
_JITTER = 0.1


@dataclass(frozen=True, slots=True)
class ReporterSettings:
    """How often and how much. A rise counts at once; a fall only when the last `hold_readings` readings agree."""

    period_seconds: float = 30.0
    warmup_seconds: float = 60.0
    minimum_change: int = 10
    hold_readings: int = 3
    measure: Literal["requests", "connections"] = "requests"
    weights: "load.Weights | None" = None  # of the load formula; None for the controller's defaults

    def __post_init__(self) -> None:
        _check("period_seconds", self.period_seconds, 1, 3600)
        _check("warmup_seconds", self.warmup_seconds, 0, 86_400)
        _check("minimum_change", self.minimum_change, 1, 1000)
        _check("hold_readings", self.hold_readings, 1, 100)


class DeletionCostReporter:
    """Reports the load of a tracker: `start()` for a daemon thread, `run()` for a task of asyncio.

    Of a prefork server's processes one reports, the next when it ends. Use it as a context manager to stop it.
    """

    def __init__(
        self,
        tracker: ConnectionTracker,
        settings: ReporterSettings | None = None,
        *,
        find_pod: Callable[[], OwnPod] = OwnPod.find,
        chance: Callable[[], float] = random.random,
    ) -> None:
        self._tracker, self._settings = tracker, settings or ReporterSettings()
        self._find_pod, self._chance = find_pod, chance
        self._leadership = Leadership(tracker, "reporter")
        self._readings: collections.deque[int] = collections.deque(maxlen=self._settings.hold_readings)
        self._written: int | None = None
        self._failures, self._is_over = 0, False
        self._background = Background("deletion-cost-reporter", self._work, self._leadership.release)

    def start(self) -> None:
        """Begin in a daemon thread; forked children stand by on their own."""
        self._background.start()

    def stop(self) -> None:
        """End the thread. The last cost stays: it says what was true last."""
        self._background.stop()

    async def run(self) -> None:
        """Report until cancelled; the loop is not held up, since writes go to a thread."""
        import asyncio  # half the time that importing this library took

        try:
            await asyncio.sleep(self._first_pause())
            while True:
                await asyncio.sleep(await asyncio.to_thread(self.step))
        finally:
            self._leadership.release()

    def step(self) -> float:
        """Report if there is something to report; return the seconds until the next step."""
        if self._is_over:
            return _NEVER_SECONDS
        if not self._leadership.take():
            return _STAND_BY_SECONDS
        wanted = self._wanted()
        if not self._is_change(wanted):
            return self._varied(self._settings.period_seconds)
        try:
            self._find_pod().write(wanted)
        except LookupError as error:
            return self._end(str(error))
        except NotWritten as error:
            return self._end(str(error)) if error.is_final else self._later(error)
        return self._note(wanted)

    def __enter__(self) -> Self:
        self.start()
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.stop()

    def _work(self, stop: threading.Event) -> None:
        pause = self._first_pause()
        while not stop.wait(pause):
            pause = self.step()

    def _wanted(self) -> int:
        """Cold at first, then the highest of the last readings: what fell must stay low to be believed."""
        if self._tracker.running_seconds() < self._settings.warmup_seconds:
            return bands.HIGHEST_COLD
        self._readings.append(cost(self._tracker.reading(), self._settings))
        return max(self._readings)

    def _is_change(self, wanted: int) -> bool:
        written = self._written
        if written is None or _side(written) != _side(wanted):
            return True
        return abs(wanted - written) >= self._settings.minimum_change

    def _note(self, written: int) -> float:
        _log.info("deletion cost reported cost=%d before=%s", written, self._written)
        self._written, self._failures = written, 0
        return self._varied(self._settings.period_seconds)

    def _later(self, error: NotWritten) -> float:
        if not self._failures:
            _log.warning("deletion cost not reported, will try again error=%s", error)
        self._failures = min(self._failures + 1, _MOST_DOUBLINGS)
        pause = min(self._settings.period_seconds * 2**self._failures, _LONGEST_PAUSE_SECONDS)
        return max(self._varied(pause), error.retry_seconds or 0.0)

    def _end(self, why: str) -> float:
        """Give up, but go on leading, so that no other process of this application asks for the same."""
        _log.warning("deletion cost is not reported any more error=%s", why)
        self._is_over = True
        return _NEVER_SECONDS

    def _first_pause(self) -> float:
        """Anywhere in a period, so that pods that start together do not report together."""
        return self._chance() * self._settings.period_seconds

    def _varied(self, seconds: float) -> float:
        return seconds * (1 + _JITTER * (2 * self._chance() - 1))


def cost(sample: Sample, settings: ReporterSettings) -> int:
    """Compute what the controller would for a warm pod: 0 to the cap."""
    from deletion_cost import load  # brings msgspec along, which an application need not wait for at its start

    weights = settings.weights or load.Weights()
    # A tracker has a mean only where something was served within its window.
    return load.of(sample, sample.mean_response_ms is not None, settings.measure, weights).points


def _side(cost: int) -> int:
    """Cold, normal or busy: a change between them is never too small."""
    return (cost > 0) - (cost < 0)


def _check(name: str, value: float, least: float, most: float) -> None:
    if not least <= value <= most:
        raise ValueError(f"{name}: Invalid value: {value}: must be {least} to {most}")
