"""Histograms of what happens with every pod: counting is a fraction of a microsecond, a scrape adds up."""

from bisect import bisect_left
from collections.abc import Iterable, Iterator
from itertools import accumulate, repeat
from operator import mul

from prometheus_client.core import HistogramMetricFamily, Metric
from prometheus_client.registry import Collector
from prometheus_client.utils import floatToGoString

INFINITE = "+Inf"


def exponential(start: float, factor: float, count: int) -> tuple[float, ...]:
    """Return so many bounds, multiplied one by one as Go does: a power would differ in the last digit of a label."""
    return tuple(accumulate(repeat(factor, count - 1), mul, initial=start))


class Series:
    """One series: how many observations fell into each bucket, and their sum."""

    __slots__ = ("bounds", "counts", "total")

    def __init__(self, bounds: tuple[float, ...]) -> None:
        self.bounds = bounds
        self.counts = [0] * (len(bounds) + 1)
        self.total = 0.0

    def observe(self, value: float) -> None:
        """Count one value; a bound belongs to the bucket that it ends."""
        self.counts[bisect_left(self.bounds, value)] += 1
        self.total += value

    def cumulative(self) -> list[tuple[str, float]]:
        """Return how many values were at most so much."""
        found: list[tuple[str, float]] = []
        sum_ = 0
        for bound, count in zip((*map(floatToGoString, self.bounds), INFINITE), self.counts, strict=True):
            sum_ += count
            found.append((bound, sum_))
        return found


class Histograms(Collector):
    """All series of one name, by the values of their labels. A series is told from its first observation on."""

    def __init__(self, name: str, about: str, bounds: tuple[float, ...], labels: tuple[str, ...]) -> None:
        self._name = name
        self._about = about
        self._bounds = bounds
        self._labels = labels
        self._series: dict[tuple[str, ...], Series] = {}

    def series(self, *values: str) -> Series:
        """Return the series of these values."""
        found = self._series.get(values)
        if found is None:
            found = self._series[values] = Series(self._bounds)
        return found

    def describe(self) -> Iterable[Metric]:
        """Name the family, so that no other can take the name."""
        return (self._family(),)

    def collect(self) -> Iterator[Metric]:
        """Yield the family with all its series."""
        family = self._family()
        for values, series in self._series.items():
            if any(series.counts):
                family.add_metric(values, series.cumulative(), series.total)
        yield family

    def _family(self) -> HistogramMetricFamily:
        return HistogramMetricFamily(self._name, self._about, labels=self._labels)
