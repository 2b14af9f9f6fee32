"""The pods that were rejected or are held, by what their plugins want to hear of. Says whom a change may help.

Pods that are alike in all that a hint reads share one answer: of thousands of equal pods one is asked.
"""

from collections.abc import Callable, Hashable, Iterator, Mapping
from dataclasses import dataclass, field
from typing import TypeAlias

from cluster_model.verdict import Event
from gpu_scheduler.news import News
from gpu_scheduler.queued_pod import QueuedPod
from scheduler_plugins.framework import Profile
from scheduler_plugins.hints.interest import Hint, Interest, Interests, OwnersOf, of_cures
from scheduler_plugins.hints.table import HOLDING

Judged: TypeAlias = Callable[[str, str, str, float], None]  # plugin, event, hint, seconds
Known: TypeAlias = Mapping[tuple[str, str], Interests]  # by profile and plugin
Only: TypeAlias = Callable[[QueuedPod], bool]
_Place: TypeAlias = tuple[str, str, int, Hashable]  # profile, plugin, the number of its interest, what that reads


class Hints:
    """Who judges what for the pods that a plugin of a profile rejected; `judged` hears of each judgement."""

    def __init__(self, known: Known, now: Callable[[], float], judged: Judged) -> None:
        self._known = known
        self._by_cures: dict[frozenset[Event], Interests] = {}
        self._now = now
        self._judged = judged

    @classmethod
    def none(cls) -> "Hints":
        """Know no plugin: whatever its reasons name counts."""
        return cls({}, lambda: 0.0, lambda _plugin, _event, _hint, _seconds: None)

    def of(self, profile: str, plugin: str, cures: frozenset[Event]) -> Interests:
        """Return the plugin's hints; without any, the events that its reasons name count, all of them."""
        known = self._known.get((profile, plugin)) or HOLDING.get(plugin)
        if known is None:
            known = self._by_cures.get(cures)
        if known is None:
            known = self._by_cures[cures] = (of_cures(cures),)
        return known

    def judge(self, plugin: str, interest: Interest, queued: QueuedPod, news: News) -> Hint:
        """Ask one hint about one pod."""
        began = self._now()
        hint = interest.judges[news.event](queued.pending, news.old, news.new)
        self._judged(plugin, news.event, hint, self._now() - began)
        return hint


@dataclass(slots=True, eq=False)
class _Group:
    """Pods that share the answers of one interest of one plugin."""

    plugin: str
    interest: Interest
    members: dict[QueuedPod, None] = field(default_factory=dict)


class WaitingRoom:
    """Pods in groups; a pod is in one for each interest of each of its rejectors."""

    def __init__(self, hints: Hints) -> None:
        self._hints = hints
        self._groups: dict[_Place, _Group] = {}
        self._by_event: dict[Event, dict[_Place, _Group]] = {event: {} for event in Event}
        self._places: dict[QueuedPod, list[_Place]] = {}

    def __iter__(self) -> Iterator[QueuedPod]:
        return iter(tuple(self._places))

    def __len__(self) -> int:
        return len(self._places)

    def add(self, queued: QueuedPod) -> None:
        """Let a pod wait for what its plugins want to hear of."""
        places = self._places[queued] = []
        for plugin, cures in queued.cures.items():
            for number, interest in enumerate(self._hints.of(queued.profile, plugin, cures)):
                place = (queued.profile, plugin, number, interest.reads(queued.pending))
                places.append(place)
                group = self._groups.get(place)
                if group is None:
                    group = self._open(place, _Group(plugin, interest))
                group.members[queued] = None

    def discard(self, queued: QueuedPod) -> None:
        """Let a pod go."""
        for place in self._places.pop(queued, ()):
            group = self._groups[place]
            del group.members[queued]
            if not group.members:
                self._close(place, group)

    def cured(self, news: News, only: Only | None = None) -> tuple[QueuedPod, ...]:
        """Return those that a change may help, among those that `only` lets pass; asks one pod of each group."""
        found: dict[QueuedPod, None] = {}
        idle: set[int] = set()  # interests that the change does not concern
        for group in tuple(self._by_event[news.event].values()):
            if id(group.interest) in idle or not _concerns(group.interest, news, idle):
                continue
            hearing = (queued for queued in group.members if queued not in found and self._may_hear(queued, news, only))
            one = next(hearing, None)
            if one is not None and self._hints.judge(group.plugin, group.interest, one, news) is not Hint.SKIP:
                found |= dict.fromkeys((one, *hearing))
        return tuple(found)

    def cures(self, queued: QueuedPod, news: News) -> bool:
        """Say whether a change may help one pod."""
        return any(
            self._hints.judge(plugin, interest, queued, news) is not Hint.SKIP
            for plugin, cures in queued.cures.items()
            for interest in self._hints.of(queued.profile, plugin, cures)
            if news.event in interest.judges
        )

    def _may_hear(self, queued: QueuedPod, news: News, only: Only | None) -> bool:
        """A pod that is held hears only of what the plugin that holds it wants to hear of."""
        if only is not None and not only(queued):
            return False
        held = queued.held
        return held is None or any(
            news.event in interest.judges for interest in self._hints.of(queued.profile, held.plugin, held.cured_by)
        )

    def _open(self, place: _Place, group: _Group) -> _Group:
        self._groups[place] = group
        for event in group.interest.judges:
            self._by_event[event][place] = group
        return group

    def _close(self, place: _Place, group: _Group) -> None:
        del self._groups[place]
        for event in group.interest.judges:
            del self._by_event[event][place]


def _concerns(interest: Interest, news: News, idle: set[int]) -> bool:
    if interest.concerns is None or interest.concerns(news.old, news.new):
        return True
    idle.add(id(interest))
    return False


def known(profiles: Mapping[str, Profile], owners_of: OwnersOf) -> Known:
    """Collect what the plugins of all profiles want to hear of."""
    return {
        (name, found.name): found.hints(owners_of)
        for name, profile in profiles.items()
        for found in profile.filters
        if found.hints is not None
    }
