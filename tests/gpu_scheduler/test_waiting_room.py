"""The waiting room: one question for all pods that are alike in what a hint reads, and nobody forgotten."""

from typing import Any

import pytest

from cluster_model.pod import PendingPod
from cluster_model.verdict import Event
from gpu_scheduler.news import News
from gpu_scheduler.queued_pod import Held, QueuedPod
from gpu_scheduler.waiting_room import Hints, WaitingRoom
from scheduler_plugins.hints.interest import Hint, Interest, always
from tests.gpu_scheduler.build import SCHEDULER, pending

NODE = News(Event.NODE_ADD, None, "x")


class Asked:
    """Hints of one plugin that queues pods by their label, and whom they asked."""

    def __init__(self) -> None:
        self.pods: list[str] = []
        self.judged: list[tuple[str, str, str, float]] = []
        wanted = Interest({Event.NODE_ADD: self.wants}, lambda pod: pod.pod.metadata.labels["l"])
        gates = Interest({Event.NODE_LABEL: always})
        known = {(SCHEDULER, "Plugin"): (wanted,), (SCHEDULER, "Quota"): (gates,)}
        self.room = WaitingRoom(Hints(known, lambda: 0.0, lambda *judged: self.judged.append(judged)))

    def wants(self, pod: PendingPod, _: Any, new: str) -> Hint:
        self.pods.append(pod.pod.metadata.name)
        return Hint.ERROR if new == "?" else Hint.QUEUE if pod.pod.metadata.labels["l"] == new else Hint.SKIP

    def add(self, name: str, label: str = "x", held: Held | None = None) -> QueuedPod:
        queued = QueuedPod(pending(name, labels={"l": label}), 0.0, cures={"Plugin": frozenset()}, held=held)
        self.room.add(queued)
        return queued


@pytest.fixture
def asked() -> Asked:
    return Asked()


def test_of_pods_that_are_alike_one_is_asked_for_all(asked: Asked) -> None:
    alike = [asked.add(name) for name in "abc"]
    asked.add("d", "other")

    assert asked.room.cured(NODE) == tuple(alike)
    assert asked.pods == ["a", "d"]


def test_a_pod_that_is_not_alike_any_more_is_asked_for_itself(asked: Asked) -> None:
    first, second = asked.add("a"), asked.add("b")
    asked.room.discard(first)
    first.pending = pending("a", labels={"l": "other"})
    asked.room.add(first)

    assert asked.room.cured(NODE) == (second,)


def test_what_cannot_be_judged_is_worth_a_try(asked: Asked) -> None:
    queued = asked.add("a")

    assert asked.room.cured(News(Event.NODE_ADD, None, "?")) == (queued,)
    assert asked.judged == [("Plugin", "NodeAdd", "Error", 0.0)]


def test_only_those_hear_of_it_that_are_let_to(asked: Asked) -> None:
    asked.add("a")
    second = asked.add("b")

    assert asked.room.cured(NODE, lambda queued: queued is second) == (second,)


def test_a_pod_that_is_held_hears_only_of_what_its_holder_waits_for(asked: Asked) -> None:
    asked.add("a", held=Held("Quota", "no quota left"))

    assert asked.room.cured(NODE) == ()
    assert asked.pods == []


def test_a_pod_that_left_is_asked_no_more(asked: Asked) -> None:
    asked.room.discard(asked.add("a"))

    assert asked.room.cured(NODE) == ()
    assert len(asked.room) == 0


def test_a_plugin_without_hints_is_taken_at_its_reasons_word(asked: Asked) -> None:
    queued = QueuedPod(pending(), 0.0, cures={"Unheard of": frozenset({Event.NODE_TAINT})})
    asked.room.add(queued)

    assert asked.room.cured(News(Event.NODE_TAINT, None, None)) == (queued,)
    assert asked.room.cured(NODE) == ()


def test_nobody_is_asked_of_what_concerns_nobody() -> None:
    asked: list[str] = []

    def judge(pod: PendingPod, _: Any, __: Any) -> Hint:
        asked.append(pod.pod.metadata.name)
        return Hint.SKIP

    interest = Interest({Event.NODE_ADD: judge}, lambda pod: pod.pod.metadata.name, lambda _, new: new != "x")
    room = WaitingRoom(Hints({(SCHEDULER, "Plugin"): (interest,)}, lambda: 0.0, lambda *_: None))
    for name in "abc":
        room.add(QueuedPod(pending(name), 0.0, cures={"Plugin": frozenset()}))

    assert (room.cured(NODE), asked) == ((), [])
    assert (room.cured(News(Event.NODE_ADD, None, "y")), asked) == ((), ["a", "b", "c"])
