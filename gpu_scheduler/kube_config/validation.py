"""kube-scheduler's check of a whole configuration with its defaults, in its order and words."""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any

from gpu_scheduler.kube_config import args_validation, go_text, rules, schema
from gpu_scheduler.kube_config.merging import Entry, PluginSet
from gpu_scheduler.kube_config.names import INVALID
from gpu_scheduler.kube_config.rules import invalid, required
from gpu_scheduler.kube_config.trees import Items, Members

OLD_LOCKS = ("endpoints", "configmaps", "endpointsleases", "configmapsleases")
LOCKS_OF_OLD: Mapping[str, tuple[str, ...]] = {"v1beta1": OLD_LOCKS, "v1beta2": OLD_LOCKS, "v1beta3": OLD_LOCKS[2:]}
POINTS_CHECKED = ("preEnqueue", *schema.OLD_POINTS, "podGroupPostFilter")


@dataclass(frozen=True, slots=True)
class ProfileRead:
    """One profile: its name, its lists as written, and its pluginConfig with typed args and defaults."""

    name: str
    sets: Mapping[str, PluginSet]
    content: Mapping[str, Any]
    typed: tuple[Mapping[str, Any] | None, ...]  # one for each pluginConfig as written; None: not a known kind


def configuration(version: str, filled: Mapping[str, Any], profiles: tuple[ProfileRead, ...]) -> Iterator[str]:
    """Yield every error."""
    if filled.get("clientConnection", {}).get("burst", 0) < 0:
        yield invalid("clientConnection.burst", filled["clientConnection"]["burst"], "must be non-negative")
    if filled["leaderElection"]["leaderElect"]:
        yield from _election(filled["leaderElection"], version)
    if filled["parallelism"] <= 0:
        yield invalid("parallelism", filled["parallelism"], "should be an integer value greater than zero")
    seen: set[str] = set()
    for index, profile in enumerate(profiles):
        yield from _profile(f"profiles[{index}]", version, profile)
        if profile.name in seen:
            # It shows the path of the first profile, which as a Go value without public fields is empty.
            yield rules.error(f"profiles[{index}].schedulerName", "Duplicate value", {})
        seen.add(profile.name)
    yield from _queue_sort(profiles)
    yield from _percentage("percentageOfNodesToScore", filled)
    yield from _backoff(filled)
    yield from _extenders(filled.get("extenders", ()))


def _election(election: Mapping[str, Any], version: str) -> Iterator[str]:
    lease, deadline = election["leaseDuration"], election["renewDeadline"]
    for name in ("leaseDuration", "renewDeadline", "retryPeriod"):
        if election[name] <= 0:
            yield invalid(f"leaderElection.{name}", go_text.duration(election[name]), "must be greater than zero")
    if lease <= deadline:
        shown = go_text.duration(deadline)  # its slip: the deadline stands where the lease is meant
        yield invalid("leaderElection.leaseDuration", shown, "must be greater than `RenewDeadline`")
    lock = election["resourceLock"]
    if lock not in ("leases", *LOCKS_OF_OLD.get(version, ())):
        yield invalid("leaderElection.resourceLock", lock, 'resourceLock value must be "leases"')


def _percentage(path: str, found: Mapping[str, Any]) -> Iterator[str]:
    percentage = found.get("percentageOfNodesToScore", 0)
    if not 0 <= percentage <= 100:
        yield invalid(path, percentage, "not in valid range [0-100]")


def _backoff(filled: Mapping[str, Any]) -> Iterator[str]:
    initial, longest = filled["podInitialBackoffSeconds"], filled["podMaxBackoffSeconds"]
    if initial <= 0:
        yield invalid("podInitialBackoffSeconds", initial, "must be greater than 0")
    if longest < initial:
        rule = "must be greater than or equal to PodInitialBackoffSeconds"
        yield invalid("podMaxBackoffSeconds", longest, rule)


def _profile(path: str, version: str, profile: ProfileRead) -> Iterator[str]:
    if not profile.name:
        yield required(f"{path}.schedulerName")
    yield from _percentage(f"{path}.percentageOfNodesToScore", profile.content)
    gone, since = INVALID.get(version, ((), ""))
    group_version = f"{schema.GROUP}/{version}"
    rule = f'was invalid in version "{since}" (KubeSchedulerConfiguration is version "{group_version}")'
    for point in POINTS_CHECKED:
        for index, entry in enumerate(profile.sets.get(point, PluginSet()).enabled):
            if entry.name in gone:
                yield invalid(f"{path}.plugins.{point}.enabled[{index}]", entry.name, rule)
    seen: set[str] = set()
    for index, configured in enumerate(profile.content.get("pluginConfig", ())):
        at, name = f"{path}.pluginConfig[{index}]", configured.get("name", "")
        if name in seen:
            yield rules.error(at, "Duplicate value", name)
        seen.add(name)
        if name in gone:
            yield invalid(at, name, rule)
        else:
            yield from _args(f"{at}.args", name, profile.typed[index], configured.get("args"))
            if name == "VolumeBinding" and version != schema.V1:
                yield from _shape_of_old(f"{at}.args.shape", configured.get("args"))


def _args(path: str, name: str, typed: Mapping[str, Any] | None, written: object) -> Iterator[str]:
    if name == args_validation.SLIPPED_KEY:
        yield f"{path}: Invalid value: {go_text.as_json(written)}: has to match plugin args"
    elif typed is not None and name in args_validation.BY_NAME:
        yield from args_validation.BY_NAME[name](path, typed)


def _shape_of_old(path: str, written: object) -> Iterator[str]:
    """Refuse a line from utilization to score where the gate of its feature was off."""
    found = written.get("shape") if isinstance(written, Members) else None
    if isinstance(found, Items):
        shape = [
            {"Utilization": one.get("utilization"), "Score": one.get("score")}
            for one in found
            if isinstance(one, Members)
        ]
        rule = "unexpected field `shape`, remove it or turn on the feature gate VolumeCapacityPriority"
        yield invalid(path, shape, rule)


def _queue_sort(profiles: tuple[ProfileRead, ...]) -> Iterator[str]:
    first = profiles[0].sets.get("queueSort", PluginSet())
    if len(first.enabled) > 1:
        at = "profiles[0].plugins.queueSort.Enabled"
        yield invalid(at, len(first.enabled), "only one queue sort plugin can be enabled")
    name = first.enabled[0].name if first.enabled else ""
    args = _args_of(name, profiles[0]) if name else None
    for index, profile in enumerate(profiles[1:], 1):
        found = profile.sets.get("queueSort", PluginSet())
        if _plain(found) != _plain(first):
            at = f"profiles[{index}].plugins.queueSort"
            yield invalid(at, _plain(found), "must be the same for all profiles")
        for configured in profile.content.get("pluginConfig", ()):
            if configured.get("name", "") == name and configured.get("args") != args:
                at = f"profiles[{index}].pluginConfig.args"
                yield invalid(at, configured.get("args"), "queueSort must be the same for all profiles")


def _args_of(name: str, profile: ProfileRead) -> object:
    found = [one.get("args") for one in profile.content.get("pluginConfig", ()) if one.get("name", "") == name]
    return found[-1] if found else None


def _plain(found: PluginSet) -> dict[str, object]:
    """Show a point as Go shows the internal type: without JSON names, an empty list as null."""
    disabled = tuple(Entry(entry.name) for entry in found.disabled)
    return {"Enabled": _entries(found.enabled), "Disabled": _entries(disabled)}


def _entries(entries: tuple[Entry, ...]) -> list[dict[str, object]] | None:
    return [{"Name": entry.name, "Weight": entry.weight or 0} for entry in entries] or None


def _extenders(extenders: list[Mapping[str, Any]]) -> Iterator[str]:
    seen: set[str] = set()
    for index, extender in enumerate(extenders):
        weight = extender.get("weight", 0)
        if extender.get("prioritizeVerb") and weight <= 0:
            yield invalid(f"extenders[{index}].weight", weight, "must have a positive weight applied to it")
        for place, resource in enumerate(extender.get("managedResources", ())):
            at, name = f"extenders[{index}].managedResources[{place}].name", resource.get("name", "")
            yield from _resource_name(at, name)
            if name in seen:
                yield invalid(at, name, "duplicate extender managed resource name")
            seen.add(name)
    binders = sum(bool(extender.get("bindVerb")) for extender in extenders)
    if binders > 1:
        found = f"found {binders} extenders implementing bind"
        yield invalid("extenders", found, "only one extender can implement bind")


def _resource_name(path: str, name: str) -> Iterator[str]:
    wrong = list(rules.label_name(name))
    yield from (invalid(path, name, rule) for rule in wrong)
    if not wrong and not rules.is_extended_resource(name):
        yield invalid(path, name, "is an invalid extended resource name")
