"""The webhook's configuration: one YAML document becomes one tree of frozen dataclasses, or an error with its path.

Reads no file and no environment.
"""

import contextlib
import dataclasses
import typing
from collections.abc import Iterable
from dataclasses import dataclass
from typing import Annotated, Any, Literal, TypeVar

import msgspec
import yaml

from cluster_model import deletion_cost
from cluster_model.verdict import BadRequest, Problem

Policy = Literal["Allow", "Deny"]
Count = Annotated[int, msgspec.Meta(ge=1, le=256)]
Seconds = Annotated[int, msgspec.Meta(ge=1, le=3600)]
Int32 = Annotated[int, msgspec.Meta(ge=-(2**31), le=2**31 - 1)]
Text = Annotated[str, msgspec.Meta(min_length=1, max_length=253)]

_Tree = TypeVar("_Tree")


@dataclass(frozen=True, slots=True)
class LeftAlone:
    """Objects that are never changed and never refused, beside those that no configuration may touch."""

    namespaces: tuple[Text, ...] = ("kube-system", "kube-node-lease")
    # Labels on the object or on its pod template; any one of them opts out.
    labels: dict[str, str] = dataclasses.field(default_factory=lambda: {"gpu.nvidia.com/admission": "ignore"})


@dataclass(frozen=True, slots=True)
class Models:
    """What counts as a known GPU model beyond the built-in ones."""

    extra: tuple[Text, ...] = ()
    allow_unknown: bool = False


@dataclass(frozen=True, slots=True)
class Validation:
    """What /validate answers where it cannot judge."""

    # A real API server has decoded the object before admission, so only other callers can send a wrong type.
    unreadable: Policy = "Deny"
    # A bug of ours must not stop a cluster; the ValidatingAdmissionPolicy still holds the plain rules.
    failure: Policy = "Allow"


@dataclass(frozen=True, slots=True)
class Server:
    """How gunicorn serves."""

    workers: Count = 2
    threads: Count = 16
    # Above the 90 s after which the API server closes an idle connection: it does not repeat a request that was cut.
    keepalive_seconds: Seconds = 110
    # The pod's grace period must exceed the preStop pause plus this.
    graceful_seconds: Seconds = 25
    # A worker whose main loop hangs for this long is replaced.
    timeout_seconds: Seconds = 30
    body_limit_mib: Count = 7


@dataclass(frozen=True, slots=True)
class Config:
    """Everything that can be set; the defaults are what the base manifests run with."""

    scheduler_name: Text = "gpu-scheduler"
    # null: the webhook writes no deletion cost.
    initial_deletion_cost: Int32 | None = -50
    # annotated: pods with a GPU annotation; gpu: every pod that asks for a GPU.
    scope: Literal["annotated", "gpu"] = "annotated"
    # Our own namespace, so that the webhook never stands in its own way.
    namespace: Text = "gpu-scheduler"
    left_alone: LeftAlone = dataclasses.field(default_factory=LeftAlone)
    models: Models = dataclasses.field(default_factory=Models)
    validation: Validation = dataclasses.field(default_factory=Validation)
    server: Server = dataclasses.field(default_factory=Server)
    log_level: Literal["debug", "info", "warning", "error"] = "info"


def read(text: str) -> Config:
    """Read a configuration; raise BadRequest with the path, the value and the rule."""
    try:
        data = yaml.safe_load(text)
    except (yaml.YAMLError, RecursionError) as error:
        raise BadRequest(Problem("configuration", " ".join(str(error).split()), "must be YAML")) from error
    return _tree(Config, {} if data is None else data, "")


def _tree(kind: type[_Tree], data: Any, path: str) -> _Tree:
    prefix = f"{path}." if path else ""
    if not isinstance(data, dict):
        raise BadRequest(Problem(path or "configuration", data, "must be a mapping"))
    fields = {_camel(field.name): field.name for field in dataclasses.fields(kind)}  # type: ignore[arg-type]
    _refuse_unknown(data, fields, prefix)
    hints = typing.get_type_hints(kind, include_extras=True)
    return kind(**{fields[key]: _value(hints[fields[key]], value, prefix + key) for key, value in data.items()})


def _refuse_unknown(data: dict[Any, Any], known: Iterable[str], prefix: str) -> None:
    names = ", ".join(sorted(known))
    problems = [
        Problem(f"{prefix}{key}", data[key], f"unknown key, known are {names}") for key in data if key not in known
    ]
    if problems:
        raise BadRequest(*problems)


def _value(kind: Any, value: Any, path: str) -> Any:
    if dataclasses.is_dataclass(kind):
        return _tree(typing.cast(type[Any], kind), value, path)
    try:
        return msgspec.convert(_as_number(kind, value), kind)
    except msgspec.ValidationError as error:
        raise BadRequest(Problem(path, value, str(error).replace("Expected", "expected", 1))) from error


def _as_number(kind: Any, value: Any) -> Any:
    """Take `"-50"` for `-50`: in an annotation the cost is a string, so people write one here too."""
    if kind == Int32 | None and isinstance(value, str):
        with contextlib.suppress(ValueError):
            return deletion_cost.parse(value)
    return value


def _camel(name: str) -> str:
    head, *tail = name.split("_")
    return head + "".join(word.capitalize() for word in tail)
