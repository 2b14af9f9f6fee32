"""What the probes have found so far, check by check: the page /metrics/slis of Kubernetes' own servers."""

from collections import Counter
from collections.abc import AsyncIterator

RESULT, RESULTS = "kubernetes_healthcheck", "kubernetes_healthchecks_total"
SUCCESS, ERROR = "success", "error"


class Findings:
    """The last answer of each check and how often it was which; `probe` is the path without its slash."""

    def __init__(self) -> None:
        self._last: dict[tuple[str, str], bool] = {}  # by check and probe
        self._counts: Counter[tuple[str, str, str]] = Counter()  # by check, status and probe

    def note(self, check: str, probe: str, is_well: bool) -> None:
        """Count one answer."""
        self._last[check, probe] = is_well
        self._counts[check, SUCCESS if is_well else ERROR, probe] += 1

    async def page(self) -> AsyncIterator[bytes]:
        """Yield the page in Prometheus' text form."""
        lines = [f"# HELP {RESULT} The last answer of a check, 1 where all is well", f"# TYPE {RESULT} gauge"]
        lines += [
            f'{RESULT}{{name="{check}",type="{probe}"}} {int(well)}' for (check, probe), well in self._last.items()
        ]
        lines += [f"# HELP {RESULTS} How often a check gave which answer", f"# TYPE {RESULTS} counter"]
        for (check, status, probe), count in self._counts.items():
            lines.append(f'{RESULTS}{{name="{check}",status="{status}",type="{probe}"}} {count}')
        yield ("\n".join(lines) + "\n").encode()
