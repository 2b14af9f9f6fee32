"""What a workload wishes of the controller: read from the annotations of its pod template, over the defaults. Pure."""

import dataclasses
import re
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from typing import Annotated, Any, Literal

import msgspec

from cluster_model import deletion_cost, durations
from cluster_model.verdict import Problem
from deletion_cost.load import Measure

PREFIX = f"{deletion_cost.SWITCH}-"
TEMPLATE = "spec.template.metadata.annotations"
PORT_NAME = "deletion-cost"  # of the container port that is asked where no other is named
LONGEST_WARMUP_SECONDS = 86400.0

Mode = Literal["victims", "all"]
SourceName = Literal["none", "endpoint", "prometheus", "metrics"]

_SHARE = re.compile(r"(100|[1-9]?[0-9])%|(0|[1-9][0-9]{0,4})")
_PORT = re.compile(r"[1-9][0-9]{0,4}|(?=.{0,14}[a-z])[a-z0-9](?:[a-z0-9-]{0,13}[a-z0-9])?")
_PATH = re.compile(r"/[!-~]{0,1023}")
_LONGEST_QUERY = 4096


@dataclass(frozen=True, slots=True)
class Policy:
    """What holds for a workload that says nothing; each field has its annotation."""

    # victims: mark only the pods that go next. all: every pod carries its cost.
    mode: Mode = "victims"
    # Where loads come from. none: warm-up alone.
    source: SourceName = "endpoint"
    # What counts as work.
    load: Measure = "requests"
    # How many go next, of a workload without a HorizontalPodAutoscaler: a share of its replicas or a number.
    victims: str = "20%"
    warmup_seconds: Annotated[float, msgspec.Meta(ge=0, le=LONGEST_WARMUP_SECONDS)] = 60
    # Number or name of a container port. Empty: the one named deletion-cost, or nothing is asked.
    port: str = ""
    path: str = "/deletion-cost"
    # PromQL with one sample per label pod; $namespace and $workload are filled in.
    query: str = ""

    def victims_of(self, replicas: int) -> int:
        """Say how many pods go next without an autoscaler; a share is rounded up."""
        if self.victims.endswith("%"):
            return -(-replicas * int(self.victims[:-1]) // 100)
        return min(int(self.victims), replicas)


@dataclass(frozen=True, slots=True)
class _Key:
    """One annotation: the field it sets, its rule, and its reader, which raises ValueError."""

    field: str
    rule: str
    read: Callable[[str], Any]


def _one_of(*words: str) -> Callable[[str], str]:
    def read(text: str) -> str:
        if text not in words:
            raise ValueError(text)
        return text

    return read


def _matching(form: re.Pattern[str]) -> Callable[[str], str]:
    def read(text: str) -> str:
        if form.fullmatch(text) is None:
            raise ValueError(text)
        return text

    return read


def _port(text: str) -> str:
    if _PORT.fullmatch(text) is None or (text.isdigit() and int(text) > 65535):
        raise ValueError(text)
    return text


def _warmup(text: str) -> float:
    seconds = float(text) if text.isascii() and text.isdigit() else durations.seconds(text)
    if not 0 <= seconds <= LONGEST_WARMUP_SECONDS:
        raise ValueError(text)
    return seconds


def _query(text: str) -> str:
    if not text.strip() or len(text) > _LONGEST_QUERY:
        raise ValueError(text)
    return text


KEYS: Mapping[str, _Key] = {
    f"{PREFIX}mode": _Key("mode", "must be victims or all", _one_of("victims", "all")),
    f"{PREFIX}source": _Key(
        "source",
        "must be none, endpoint, prometheus or metrics",
        _one_of("none", "endpoint", "prometheus", "metrics"),
    ),
    f"{PREFIX}load": _Key("load", "must be requests or connections", _one_of("requests", "connections")),
    f"{PREFIX}victims": _Key("victims", 'must be a share such as "20%" or a number of pods', _matching(_SHARE)),
    f"{PREFIX}warmup": _Key("warmup_seconds", 'must be a duration such as "90s", at most a day', _warmup),
    f"{PREFIX}port": _Key("port", "must be the number or the name of a container port", _port),
    f"{PREFIX}path": _Key("path", "must begin with / and hold no blanks", _matching(_PATH)),
    f"{PREFIX}query": _Key("query", f"must be a query of at most {_LONGEST_QUERY} characters", _query),
}


@dataclass(frozen=True, slots=True)
class Reading:
    """A workload's policy; with a problem it is the default one."""

    policy: Policy
    problems: tuple[Problem, ...] = ()


def read(annotations: Mapping[str, str], default: Policy, sources: frozenset[str]) -> Reading:
    """Read what a pod template wishes; whatever is wrong leads to the default policy, since half a wish is none."""
    own = {key: text for key, text in annotations.items() if key.startswith(deletion_cost.SWITCH)}
    if not own:
        return Reading(default)
    found: dict[str, Any] = {}
    problems = list(_unreadable(own, found))
    wished = dataclasses.replace(default, **_with_source(found))
    problems += _impossible(wished, sources, lambda field: f"{TEMPLATE}[{PREFIX}{field}]")
    return Reading(default, tuple(problems)) if problems else Reading(wished)


def problems(default: Policy, sources: frozenset[str]) -> list[Problem]:
    """Return what is wrong with the default policy of a configuration."""
    found = []
    for key in KEYS.values():
        value = getattr(default, key.field)
        if isinstance(value, str) and not (value == "" and key.field in ("port", "query")):
            try:
                key.read(value)
            except ValueError:
                found.append(Problem(f"policy.{key.field}", value, key.rule))
    return found + _impossible(default, sources, lambda field: f"policy.{field}")


def _unreadable(annotations: Mapping[str, str], found: dict[str, Any]) -> Iterator[Problem]:
    """Read each annotation into `found`; yield the problem of each that cannot be read."""
    for name, text in sorted(annotations.items()):
        key = KEYS.get(name)
        if name == deletion_cost.SWITCH:
            if text not in ("on", "off"):
                yield Problem(f"{TEMPLATE}[{name}]", text, deletion_cost.SWITCH_RULE)
        elif key is None:
            yield Problem(f"{TEMPLATE}[{name}]", text, f"unknown key, known are {', '.join(KEYS)}")
        else:
            try:
                found[key.field] = key.read(text)
            except ValueError:
                yield Problem(f"{TEMPLATE}[{name}]", text, key.rule)


def _with_source(found: Mapping[str, Any]) -> Mapping[str, Any]:
    """Who names a query and no source means Prometheus, who names a port the endpoint."""
    if "source" in found:
        return found
    if "query" in found:
        return {**found, "source": "prometheus"}
    return {**found, "source": "endpoint"} if "port" in found else found


def _impossible(wished: Policy, sources: frozenset[str], at: Callable[[str], str]) -> list[Problem]:
    if wished.source not in sources:
        return [Problem(at("source"), wished.source, "is not configured in this cluster")]
    if wished.source == "prometheus" and not wished.query:
        return [Problem(at("query"), "", "must be set where the source is prometheus")]
    return []
