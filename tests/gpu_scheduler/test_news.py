"""News: what a change splits into, and that nothing that happened during an attempt is lost or kept too long."""

import pytest

from cluster_model.verdict import Event
from gpu_scheduler.news import Flights, News
from gpu_scheduler.queued_pod import QueuedPod
from tests.gpu_scheduler.build import pending

ADD, LABEL, DELETE = (
    News(Event.NODE_ADD, None, "n"),
    News(Event.NODE_LABEL, "o", "n"),
    News(Event.NODE_DELETE, "o", None),
)


def queued(name: str = "p") -> QueuedPod:
    return QueuedPod(pending(name), 0.0)


@pytest.mark.parametrize("news", [ADD, LABEL, DELETE])
def test_what_came_has_no_past_and_what_went_no_future(news: News) -> None:
    assert list(News.of({news.event}, "o", "n")) == [news]


def test_the_events_of_one_change_come_in_one_order() -> None:
    events = frozenset({Event.NODE_TAINT, Event.NODE_ALLOCATABLE, Event.NODE_LABEL})

    assert [news.event for news in News.of(events, "o", "n")] == [
        Event.NODE_ALLOCATABLE,
        Event.NODE_LABEL,
        Event.NODE_TAINT,
    ]


def test_each_attempt_misses_what_came_after_it_began() -> None:
    flights, first, second = Flights(), queued("a"), queued("b")
    flights.start(first)
    flights.note(ADD)
    flights.start(second)
    flights.note(LABEL)
    flights.note(DELETE, second)

    assert (list(flights.missed(first)), list(flights.missed(second))) == ([ADD, LABEL], [LABEL, DELETE])


def test_nothing_is_kept_that_began_before_the_oldest_attempt() -> None:
    flights, first, second = Flights(), queued("a"), queued("b")
    flights.start(first)
    flights.note(ADD)
    flights.start(second)
    flights.note(LABEL)
    assert flights.counts() == {"PodPopped": 2, "NodeAdd": 1, "NodeUpdateNodeLabel": 1}
    flights.end(first)
    assert flights.counts() == {"PodPopped": 1, "NodeUpdateNodeLabel": 1}
    flights.end(second)

    assert flights.counts() == {"PodPopped": 0}


def test_without_an_attempt_nothing_is_kept() -> None:
    flights = Flights()
    flights.note(ADD)
    flights.start(queued())

    assert flights.counts() == {"PodPopped": 1}


def test_an_attempt_that_ended_forgets_that_it_was_forced() -> None:
    flights, pod = Flights(), queued()
    flights.start(pod)
    flights.force(pod)
    assert flights.is_forced(pod)
    flights.end(pod)
    flights.start(pod)

    assert not flights.is_forced(pod)
