"""Users' filters and scorers: what they raise or return wrongly becomes kube-scheduler's words, and nothing else."""

from typing import Any

import numpy as np
import pytest

from cluster_model.verdict import Event, Reason
from scheduler_plugins import explain, guarded, registry
from scheduler_plugins.decide import decide
from scheduler_plugins.framework import Decision, Narrowing, PluginError, Scores, Verdict
from scheduler_plugins.interfaces import FilterPlugin, ScorePlugin
from scheduler_plugins.registry import Plugin, Wanted
from scheduler_plugins.reuse import Memory
from tests.build import node, pod, snapshot

NODES = ("a", "b", "c")
WHY = Reason("node(s) were odd", frozenset({Event.NODE_LABEL}))
FILTER, SCORE = 'running "X" filter plugin: ', "running Score plugins: "


class Works(FilterPlugin, ScorePlugin):
    """Answers what it is told to."""

    def __init__(self, verdict: Any = None, scores: Any = None, normalised: Any = None) -> None:
        self.verdict, self.scores, self.normalised = verdict, scores, normalised
        self.asked = 0

    def filter(self, *_: Any) -> Any:
        self.asked += 1
        return _answer(self.verdict)

    def score(self, *_: Any) -> Any:
        self.asked += 1
        return _answer(self.scores)

    def normalise(self, scores: Scores) -> Scores:
        found: Scores = scores if self.normalised is None else _answer(self.normalised)
        return found


def _answer(found: Any) -> Any:
    if isinstance(found, BaseException):
        raise found
    return found


def verdict(*codes: int, table: Any = ((WHY,),), kind: str = "uint8") -> Verdict:
    return Verdict(np.array(codes, kind), table)


def numbers(*found: float, kind: str = "int64") -> Any:
    return np.array(found, kind)


def decided(plugin: object, memory: bool = False) -> Decision:
    """Decide with the plugin alone, on three nodes."""
    filters = isinstance(plugin, FilterPlugin)
    row = Plugin(
        filter=(lambda name, _: guarded.as_filter(name, plugin)) if filters else None,  # type: ignore[arg-type]
        scorer=lambda name, weight, _: guarded.as_scorer(name, weight, plugin),  # type: ignore[arg-type]
    )
    wanted = Wanted("s", ("X",) if filters else (), (("X", 2),), {}, {})
    profile = registry.build(wanted, {"X": row})
    cluster = snapshot(*(node(name) for name in NODES))
    return Memory(profile).decide(pod(), cluster) if memory else decide(pod(), cluster, profile)


@pytest.mark.parametrize("memory", [False, True])
def test_a_users_plugin_decides_like_ours(memory: bool) -> None:
    decision = decided(Works(verdict(1, 0, 0), numbers(10, 90)), memory)

    assert (decision.node, decision.total.tolist()) == ("c", [20, 180])
    assert [rejection.plugin for rejection, _ in decision.counts()] == ["X"]
    assert decision.cured_by == {Event.NODE_LABEL}


def test_a_users_reasons_are_told_as_ours() -> None:
    decision = decided(Works(verdict(1, 1, 1)))

    assert explain.sentence(decision) == "0/3 nodes are available: 3 node(s) were odd."


@pytest.mark.parametrize("memory", [False, True])
@pytest.mark.parametrize(
    ("raised", "said"),
    [
        (KeyError("rack"), "KeyError: 'rack'"),
        (PluginError("the rack list is empty"), "the rack list is empty"),
        (SystemExit(3), "SystemExit: 3"),
        (RecursionError("deep"), "RecursionError: deep"),
    ],
)
def test_whatever_a_filter_raises_is_an_error_of_that_plugin(memory: bool, raised: BaseException, said: str) -> None:
    with pytest.raises(PluginError) as caught:
        decided(Works(raised), memory)

    assert str(caught.value) == FILTER + said
    assert caught.value.__cause__ is raised


def test_an_interrupt_from_the_keyboard_is_none_of_the_plugins_errors() -> None:
    with pytest.raises(KeyboardInterrupt):
        decided(Works(KeyboardInterrupt()))


@pytest.mark.parametrize(
    ("found", "said"),
    [
        ([0, 0, 0], "TypeError: must return a Verdict or None, not list"),
        (verdict(0, 0), "TypeError: codes must be uint8 or uint16 of shape (3,), not uint8 of shape (2,)"),
        (verdict(0, 0, 0, 0), "TypeError: codes must be uint8 or uint16 of shape (3,), not uint8 of shape (4,)"),
        (
            verdict(0, 0, 1, kind="int64"),
            "TypeError: codes must be uint8 or uint16 of shape (3,), not int64 of shape (3,)",
        ),
        (
            verdict(0, 0, 1, kind="uint32"),
            "TypeError: codes must be uint8 or uint16 of shape (3,), not uint32 of shape (3,)",
        ),
        (verdict(0, 2, 0), "ValueError: code 2 has no reasons: the table has 1"),
        (verdict(0, 1, 0, table=((),)), "TypeError: each entry of the table must be a tuple of one Reason or more"),
        (
            verdict(0, 1, 0, table=(("no",),)),
            "TypeError: each entry of the table must be a tuple of one Reason or more",
        ),
        (Verdict([0, 0, 0], ()), "AttributeError: 'list' object has no attribute 'dtype'"),  # type: ignore[arg-type]
    ],
)
def test_a_verdict_of_the_wrong_form_is_an_error(found: Any, said: str) -> None:
    with pytest.raises(PluginError) as caught:
        decided(Works(found))

    assert str(caught.value) == FILTER + said


@pytest.mark.parametrize("kind", ["uint8", "uint16"])
def test_codes_may_be_of_either_width(kind: str) -> None:
    assert decided(Works(verdict(1, 1, 0, kind=kind))).node == "c"


@pytest.mark.parametrize("memory", [False, True])
@pytest.mark.parametrize(
    ("works", "said"),
    [
        (Works(scores=OSError("gone")), f'{SCORE}plugin "X" failed with: OSError: gone'),
        (
            Works(scores=numbers(1, 2)),
            f'{SCORE}plugin "X" returns an invalid score array int64 of shape (2,), '
            "it should be whole numbers of shape (3,)",
        ),
        (
            Works(scores=numbers(0.5, 0, 0, kind="float64")),
            f'{SCORE}plugin "X" returns an invalid score array float64 of shape (3,), '
            "it should be whole numbers of shape (3,)",
        ),
        (
            Works(scores=[1, 2, 3]),
            f'{SCORE}plugin "X" returns an invalid score array list, it should be whole numbers of shape (3,)',
        ),
        (
            Works(scores=numbers(0, 101, 0)),
            'applying score defaultWeights on Score plugins: plugin "X" returns an invalid score 101, '
            "it should in the range of [0, 100] after normalizing",
        ),
        (
            Works(scores=numbers(0, 0, -1)),
            'applying score defaultWeights on Score plugins: plugin "X" returns an invalid score -1, '
            "it should in the range of [0, 100] after normalizing",
        ),
        (
            Works(scores=numbers(0, 0, 0), normalised=ZeroDivisionError("by nothing")),
            'running Normalize on Score plugins: plugin "X" failed with: ZeroDivisionError: by nothing',
        ),
        (
            Works(scores=numbers(0, 0, 0), normalised=numbers(7)),
            f'{SCORE}plugin "X" returns an invalid score array int64 of shape (1,), '
            "it should be whole numbers of shape (3,)",
        ),
    ],
)
def test_a_wrong_score_is_an_error_in_kube_schedulers_words(memory: bool, works: Works, said: str) -> None:
    with pytest.raises(PluginError) as caught:
        decided(works, memory)

    assert str(caught.value) == said


def test_raw_scores_may_leave_the_range_where_they_are_normalised() -> None:
    assert decided(Works(scores=numbers(-9, 900, 7), normalised=numbers(0, 100, 50))).node == "b"


def test_a_single_node_needs_no_score_to_win() -> None:
    assert decided(Works(verdict(1, 1, 0), OSError("gone"))).node == "c"


def test_a_scorer_may_stay_out() -> None:
    assert decided(Works(scores=None)).scores == {}


class Refuses(Works):
    """Speaks before nodes are judged."""

    def refuse(self, *_: Any) -> Any:
        return (WHY,)


class Narrows(Works):
    """Names the only nodes worth it."""

    def __init__(self, found: Any) -> None:
        super().__init__()
        self.found = found

    def narrow(self, *_: Any) -> Any:
        return _answer(self.found)


def test_a_filter_may_refuse_the_pod_before_nodes_are_judged() -> None:
    plugin = Refuses()
    decision = decided(plugin)

    assert (decision.refused, plugin.asked) == (True, 0)
    assert explain.sentence(decision) == "0/3 nodes are available: node(s) were odd."


def test_a_filter_may_name_the_only_nodes() -> None:
    assert decided(Narrows(Narrowing(frozenset({"b"}), frozenset()))).node == "b"


def test_an_error_before_nodes_are_judged_says_so() -> None:
    with pytest.raises(PluginError, match=r'^running PreFilter plugin "X": OSError: gone$'):
        decided(Narrows(OSError("gone")))


def test_only_what_a_class_defines_is_asked_before_nodes_are_judged() -> None:
    found = guarded.as_filter("X", Works())

    assert (found.refuse, found.narrow) == (None, None)


class RowByRow(Works):
    """Promises that rows do not depend on one another."""

    filters_row_by_row = True
    scores_row_by_row = True


def test_answers_are_kept_only_where_the_class_promises_that_rows_stand_alone() -> None:
    cautious, promising = guarded.as_filter("X", Works()), guarded.as_filter("X", RowByRow())

    assert (cautious.row_local, promising.row_local) == (False, True)
    assert (cautious.static, promising.static) == (False, False)
    assert [guarded.as_scorer("X", 1, one()).row_local for one in (Works, RowByRow)] == [False, True]
