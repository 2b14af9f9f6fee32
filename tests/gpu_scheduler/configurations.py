"""Makes configurations at random from a seed: most of them right but for one or two things."""

import json
import random
from collections.abc import Callable, Sequence
from typing import Any

import yaml

from gpu_scheduler.kube_config import defaults, names, schema
from gpu_scheduler.kube_config.schema import Field, Type

GROUP_VERSION = f"{schema.GROUP}/v1"
LONG = "x" * 64
LABELS = (
    "example.com/gpu",
    "example.com/fpga",
    "a.io/b",
    "nvidia.com/gpu",
    "zone",
    LONG,
    "a b",
    "A.b/c",
    "/x",
    "a/b/c",
)
NAMES = (*names.POINTS, *names.POINTS, *names.DISK_LIMITS, "NodeLabel", "Nobody", "*", "")
WORDS: dict[str, tuple[str, ...]] = {
    "type": ("LeastAllocated", "MostAllocated", "RequestedToCapacityRatio", "Best", ""),
    "defaultingType": ("List", "List", "List", "System", "Other"),
    "whenUnsatisfiable": ("DoNotSchedule", "ScheduleAnyway", "Never", ""),
    "operator": ("In", "NotIn", "Exists", "DoesNotExist", "Gt", "Lt", "Like", ""),
    "resourceLock": ("leases", "configmaps", ""),
    "kubeconfig": ("",),
    "schedulerName": ("default-scheduler", "one", "Two", "three", "four", "one", ""),
    "bindVerb": ("", "bind"),
    "caFile": ("",),
    "certFile": ("",),
    "keyFile": ("",),
}
DURATIONS = ("15s", "1m30s", "2h", "1.5h", "20s", "0s", "0", "-1s", "10s", "5s", "250ms", "3", "x", "1d", "")
NUMBERS = (1, 2, 5, 8, 10, 1, 100, 0, 101, -1, 16, 2**31, 2**63)
WRONG: tuple[object, ...] = ("text", 3, 1.5, True, [], {}, [1], {"a": 1}, None, "15s", 1e30, "<&>")


class Maker:
    """Draws everything from one source of randomness."""

    def __init__(self, seed: int) -> None:
        self.random = random.Random(seed)
        self.faults = self.random.choice((0, 0, 0, 1, 1, 2))
        self.care = self.random.choice((1.0, 1.0, 0.97, 0.9, 0.5))  # how often a value is one that may stand there

    def pick(self, values: Sequence[Any]) -> Any:
        """Take a good value, the first half of them all, or any."""
        return self.random.choice(values[: (len(values) + 1) // 2] if self.chance(self.care) else values)

    def chance(self, share: float) -> bool:
        return self.random.random() < share

    def document(self) -> dict[str, Any]:
        found = self.struct(schema.configuration("v1"), 0.3)
        return {**found, "apiVersion": GROUP_VERSION, "kind": "KubeSchedulerConfiguration"}

    def struct(self, type_: Type, share: float) -> dict[str, Any]:
        found = {}
        for name, field in type_.fields.items():
            if name not in ("apiVersion", "kind") and self.chance(share * SHARES.get(name, 1)):
                found[name] = self.field(name, field)
        if self.faults and self.chance(0.03):
            self.faults -= 1
            found[self.random.choice(("unknown", "Name", "kind", "apiVersion", "profile"))] = self.random.choice(WRONG)
        return found

    def field(self, name: str, field: Field) -> Any:
        if self.faults and self.chance(0.03):
            self.faults -= 1
            return self.random.choice(WRONG)
        return self.value(name, field.type)

    def value(self, name: str, type_: Type) -> Any:
        if name in SPECIAL:
            return SPECIAL[name](self)
        match type_.kind:
            case "struct":
                return self.struct(type_, 0.8)
            case "slice":
                assert type_.elem is not None
                return [self.value(name, type_.elem) for _ in range(self.random.choice((0, 1, 1, 2, 3)))]
            case "map":
                return {"app": "x"}
            case "bool":
                return self.chance(0.5)
            case "duration":
                return "10s" if name == "renewDeadline" and self.chance(self.care) else self.pick(DURATIONS)
            case "bytes":
                return self.pick(("", "YWJj", "YQ==", "a", "?", "YQ=", "YQ=a", "YW=", "YWI=x"))
            case "string":
                return self.pick(WORDS.get(name, LABELS))
            case "float32":
                return self.random.choice((1, 2.5, 50))
        return self.pick(NUMBERS)

    def plugins(self) -> dict[str, Any]:
        points = (*schema.POINTS, schema.MULTI_POINT)
        return {point: self.plugin_set(point) for point in points if self.chance(0.15)}

    def plugin_set(self, point: str) -> dict[str, Any]:
        fitting = [name for name, at in names.POINTS.items() if point in at or point == schema.MULTI_POINT]
        found: dict[str, Any] = {}
        for kind in ("enabled", "disabled"):
            if self.chance(0.7):
                pool = (fitting or NAMES) if self.chance(self.care) else NAMES
                found[kind] = [self.plugin(pool) for _ in range(self.random.choice((0, 1, 1, 2, 4)))]
        if self.chance(0.15):
            found.setdefault("disabled", []).append({"name": "*"})
        return found

    def plugin(self, pool: Any) -> dict[str, Any]:
        found: dict[str, Any] = {"name": self.random.choice(pool)}
        if self.chance(0.3):
            found["weight"] = self.pick((0, 1, 2, 100, 2147483647, -1))
        return found

    def plugin_config(self) -> list[dict[str, Any]]:
        chosen = [
            *defaults.BY_NAME,
            *(() if self.chance(self.care) else ("Nobody", "NodeName", "EBSLimits", "NodeResourcesFitArgs")),
        ]
        picked = self.random.sample(chosen, self.random.choice((0, 1, 1, 2, 3)))
        if picked and not self.chance((1 + self.care) / 2):
            picked.append(picked[0])
        return [self.configured(name) for name in picked]

    def configured(self, name: str) -> dict[str, Any]:
        type_ = schema.plugin_args("v1").get(f"{name}Args")
        args: Any = {"any": [1, "<x>"]} if type_ is None else self.struct(type_, 0.7)
        if self.chance(0.1):
            args |= {"apiVersion": GROUP_VERSION, "kind": f"{name}Args"}
        if self.faults and self.chance(0.05):
            self.faults -= 1
            args = self.random.choice((*WRONG, {"kind": "VolumeBindingArgs"}, {"apiVersion": "v1"}, {"kind": 3}))
        return {"name": name, "args": args} if self.chance(0.95) else {"name": name}

    def label(self) -> str:
        return str(self.pick(LABELS))


SHARES = {"extenders": 0.5, "profiles": 2.5, "pluginConfig": 1.0, "labelSelector": 0.1, "clientConnection": 0.3}
SPECIAL: dict[str, Callable[[Maker], Any]] = {
    "plugins": Maker.plugins,
    "pluginConfig": Maker.plugin_config,
    "topologyKey": Maker.label,
    "key": Maker.label,
}


def text(seed: int) -> str:
    """Write one configuration, as YAML or JSON, now and then with a name or a line too many."""
    maker = Maker(seed)
    document = maker.document()
    if maker.chance(0.3):
        return _doubled(json.dumps(document, indent=1), maker, ",\n")
    return _doubled(yaml.safe_dump(document, sort_keys=False, width=10_000), maker, "\n")


def _doubled(written: str, maker: Maker, end: str) -> str:
    """Write some line twice, or leave some letter out."""
    if maker.chance(0.05):
        lines = written.split("\n")
        at = maker.random.randrange(len(lines))
        return "\n".join((*lines[: at + 1], *lines[at:]))
    if maker.chance(0.03):
        at = maker.random.randrange(len(written))
        return written[:at] + written[at + 1 :]
    return written
