"""Our own writes are never taken for another's, whatever is lost, late or told twice; another's value always is one."""

from collections import deque
from dataclasses import dataclass, field
from typing import Any

import msgspec
from hypothesis import given
from hypothesis import strategies as st

from cluster_model.deletion_cost import ANNOTATION
from deletion_cost.ownership import OURS, Ownership
from deletion_cost.pod_objects import Meta

OWNED: dict[str, Any] = {"f:metadata": {"f:annotations": {f"f:{ANNOTATION}": {}}}}


@dataclass
class Server:
    """One pod at the API server, and the events that its watch has not told yet."""

    cost: int | None = None
    writer: str = ""
    version: int = 1
    events: deque[Meta] = field(default_factory=deque)

    def patch(self, cost: int | None, writer: str) -> None:
        """Change the cost as a merge patch does: an equal one changes nothing, not even who owns it."""
        if cost == self.cost:
            return
        self.cost, self.writer, self.version = cost, "" if cost is None else writer, self.version + 1
        self.events.append(self.meta())

    def meta(self) -> Meta:
        entries = [{"manager": self.writer, "fieldsV1": OWNED}] if self.writer else []
        annotations = {} if self.cost is None else {ANNOTATION: str(self.cost)}
        found: dict[str, Any] = {"resourceVersion": str(self.version), "managedFields": entries}
        return msgspec.convert({**found, "annotations": annotations}, Meta)

    def tell(self, state: Ownership, most: int) -> None:
        """Deliver the oldest events."""
        for _ in range(min(most, len(self.events))):
            state.see(self.events.popleft(), judging=True)


COSTS = st.none() | st.sampled_from([-50, -49, 5])
# What is written, what becomes of it, and how many events arrive afterwards.
STEPS = st.lists(
    st.tuples(COSTS, st.sampled_from(["answered", "not sent", "answer lost"]), st.integers(0, 3)), max_size=30
)


def write(server: Server, state: Ownership, cost: int | None, outcome: str) -> None:
    if state.value == cost:
        return  # an equal value is not written
    state.sending(cost)
    if outcome != "not sent":
        server.patch(cost, OURS)
    if outcome == "answered":
        state.see(server.meta(), judging=True)
        state.answered()


@given(st.none() | st.just(-50), STEPS)
def test_alone_we_never_stand_down(first: int | None, steps: list[tuple[int | None, str, int]]) -> None:
    server, state = Server(first), Ownership()
    state.see(server.meta(), judging=True)
    for cost, outcome, told in steps:
        write(server, state, cost, outcome)
        server.tell(state, told)
        assert state.stood_down is None
    server.tell(state, len(server.events))
    assert (state.stood_down, state.value) == (None, server.cost)


@given(STEPS)
def test_a_removal_by_another_is_seen_once_our_last_write_was_answered(
    steps: list[tuple[int | None, str, int]],
) -> None:
    server, state = Server(), Ownership()
    for cost, outcome, told in [*steps, (7, "answered", 0)]:
        write(server, state, cost, outcome)
        server.tell(state, told)
    server.patch(None, "kubectl-annotate")
    server.tell(state, len(server.events))
    assert state.stood_down == "vanished"


@given(STEPS, st.integers(6, 9))
def test_a_value_of_another_is_seen_unless_we_have_written_over_it(
    steps: list[tuple[int | None, str, int]], theirs: int
) -> None:
    server, state = Server(), Ownership()
    state.see(server.meta(), judging=True)
    for cost, outcome, told in steps:
        write(server, state, cost, outcome)
        server.tell(state, told)
    server.patch(theirs, "kubectl-annotate")
    server.tell(state, len(server.events))
    assert (state.stood_down, state.value) == ("foreign", theirs)
