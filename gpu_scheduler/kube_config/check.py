"""The verdict on a configuration file: kube-scheduler 1.37.2's own for v1, that of its time for a beta version."""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Any

from gpu_scheduler.kube_config import building, defaults, documents, merging, names, validation
from gpu_scheduler.kube_config.documents import Decoded, Refused
from gpu_scheduler.kube_config.schema import BETAS, MULTI_POINT, POINTS, V1
from gpu_scheduler.kube_config.validation import ProfileRead

VERSIONS = (V1, *BETAS)


@dataclass(frozen=True, slots=True)
class Verdict:
    """Whether a kube-scheduler would load the file, with the plugins of others at hand."""

    errors: tuple[str, ...] = ()
    profiles: tuple[str, ...] = ()
    unknown_plugins: tuple[str, ...] = ()  # enabled, but neither kube-scheduler's nor ours
    reads: tuple[ProfileRead, ...] = ()

    @property
    def valid(self) -> bool:
        """Whether it would."""
        return not self.errors


def check(text: str, ours: Mapping[str, frozenset[str]], alone: bool = False) -> Verdict:
    """Judge the text of a file. `ours` are this scheduler's own plugins with the points where they work.

    `alone`: a plugin of others is not at hand, so that there is none of its name.
    """
    try:
        decoded = documents.decode(text, VERSIONS)
    except Refused as error:
        return Verdict((str(error),))
    filled = defaults.fill(decoded.content)
    profiles = tuple(_profile(index, content, decoded) for index, content in enumerate(filled["profiles"]))
    plugins = _plugins(decoded.version, ours, profiles, alone)
    found = tuple(dict.fromkeys(validation.configuration(decoded.version, filled, profiles)))
    found = found or tuple(building.errors(profiles, filled.get("extenders", []), plugins))
    named = tuple(profile.name for profile in profiles)
    return Verdict(found, named, tuple(name for name in _enabled(profiles) if name in plugins.foreign), profiles)


def _profile(index: int, content: Mapping[str, Any], decoded: Decoded) -> ProfileRead:
    typed = [decoded.typed.get((index, place)) for place in range(len(content.get("pluginConfig", ())))]
    filled = tuple(
        None if args is None else defaults.BY_NAME.get(configured["name"], dict)(args)
        for args, configured in zip(typed, content.get("pluginConfig", ()), strict=True)
    )
    sets = merging.read(content.get("plugins", {}), f"profiles[{index}].plugins")
    return ProfileRead(content.get("schedulerName", ""), sets, content, filled)


def _enabled(profiles: Iterable[ProfileRead]) -> tuple[str, ...]:
    """Return every enabled name once, profile by profile and point by point."""
    points = (*POINTS, MULTI_POINT)
    found = (
        entry.name
        for profile in profiles
        for point in points
        for entry in profile.sets.get(point, merging.NOTHING).enabled
    )
    return tuple(dict.fromkeys(found))


def _plugins(
    version: str, ours: Mapping[str, frozenset[str]], profiles: Iterable[ProfileRead], alone: bool
) -> building.Plugins:
    missing = names.missing(version)
    points = {**ours, **names.POINTS}
    if version != V1:
        points |= {old: names.POINTS[new] for old, new in names.TODAY.items()}
    foreign = frozenset(_enabled(profiles)) - points.keys() - missing
    if alone:
        return building.Plugins(points, missing | foreign)
    return building.Plugins(points, missing, foreign)
