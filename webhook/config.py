"""The webhook's configuration: one YAML document becomes one tree of frozen dataclasses, or an error with its path.

Reads no file and no environment.
"""

import contextlib
import dataclasses
from dataclasses import dataclass
from typing import Annotated, Any, Literal

import msgspec
import yaml

from cluster_model import deletion_cost, settings_tree
from cluster_model.verdict import BadRequest, Problem

Policy = Literal["Allow", "Deny"]
Count = Annotated[int, msgspec.Meta(ge=1, le=256)]
Seconds = Annotated[int, msgspec.Meta(ge=1, le=3600)]
Int32 = Annotated[int, msgspec.Meta(ge=-(2**31), le=2**31 - 1)]
Text = Annotated[str, msgspec.Meta(min_length=1, max_length=253)]


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
    # null: the webhook writes no deletion cost. The deletion-cost controller takes -100 to -50 for cold.
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
    return settings_tree.read(Config, {} if data is None else data, before=_as_number)


def _as_number(kind: Any, value: Any) -> Any:
    """Take `"-50"` for `-50`: in an annotation the cost is a string, so people write one here too."""
    if kind == Int32 | None and isinstance(value, str):
        with contextlib.suppress(ValueError):
            return deletion_cost.parse(value)
    return value
