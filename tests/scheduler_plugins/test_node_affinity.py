"""NodeAffinity: Kubernetes' semantics of selectors and terms, empty and malformed ones included."""

from typing import Any

import pytest

from cluster_model import objects
from cluster_model.snapshot import Snapshot
from cluster_model.verdict import Event
from scheduler_plugins import explain, registry
from scheduler_plugins.decide import decide
from scheduler_plugins.framework import PluginError
from tests.build import affinity, node, pod, requirement, said, snapshot, term

NAMES = ("plain", "gold", "silver", "five")
NOT_MATCHED = "node(s) didn't match Pod's node affinity/selector"


@pytest.fixture
def cluster() -> Snapshot:
    """Nodes without labels, of two tiers, and with a number."""
    tiers = (
        node("gold", labels={"tier": "gold", "rank": "10"}),
        node("silver", labels={"tier": "silver", "rank": "x"}),
    )
    return snapshot(node("plain"), *tiers, node("five", labels={"rank": "5"}))


def matched(cluster: Snapshot, **spec: Any) -> set[str]:
    """Return the nodes that the pod's own affinity lets through; the others must say so in kube-scheduler's words."""
    decision = decide(pod(**spec), cluster, registry.profile(filters=("NodeAffinity",), scorers=()))
    said = {explain.sentence(decision)} if not decision.fits else set()
    assert said <= {f"0/4 nodes are available: 4 {NOT_MATCHED}."}
    return {decision.snapshot.names[row] for row in decision.rows}


def required(*terms: objects.NodeSelectorTerm) -> dict[str, Any]:
    return {"affinity": affinity(*terms)}


@pytest.mark.parametrize(
    ("one", "names"),
    [
        (requirement("tier", "In", "gold", "bronze"), {"gold"}),
        (requirement("tier", "In", "silver", "gold"), {"gold", "silver"}),
        (requirement("tier", "NotIn", "gold"), {"plain", "silver", "five"}),
        (requirement("tier", "Exists"), {"gold", "silver"}),
        (requirement("tier", "DoesNotExist"), {"plain", "five"}),
        (requirement("rank", "Gt", "5"), {"gold"}),
        (requirement("rank", "Gt", "4"), {"gold", "five"}),
        (requirement("rank", "Lt", "10"), {"five"}),
        (requirement("rank", "Lt", "010"), {"five"}),
        (requirement("absent", "NotIn", "x"), set(NAMES)),
        (requirement("absent", "Gt", "0"), set()),
    ],
)
def test_each_operator(cluster: Snapshot, one: objects.SelectorRequirement, names: set[str]) -> None:
    assert matched(cluster, **required(term(one))) == names


@pytest.mark.parametrize(
    "one",
    [
        requirement("tier", "In"),
        requirement("tier", "NotIn"),
        requirement("tier", "Exists", "gold"),
        requirement("rank", "Gt"),
        requirement("rank", "Gt", "1", "2"),
        requirement("rank", "Gt", "one"),
        requirement("rank", "Lt", "1_0"),
        requirement("rank", "Lt", "99999999999999999999"),
        requirement("tier", "Within", "gold"),
        requirement("bad key", "DoesNotExist"),
        requirement("Example.com/tier", "DoesNotExist"),
        requirement("tier", "NotIn", "not a value"),
        requirement("tier", "NotIn", "x" * 64),
    ],
)
def test_a_malformed_requirement_matches_nothing(cluster: Snapshot, one: objects.SelectorRequirement) -> None:
    assert matched(cluster, **required(term(one))) == set()


def test_a_malformed_term_leaves_the_others_their_say(cluster: Snapshot) -> None:
    terms = (term(requirement("tier", "Within", "gold")), term(requirement("tier", "In", "silver")))

    assert matched(cluster, **required(*terms)) == {"silver"}


def test_terms_are_ored_and_requirements_within_one_are_anded(cluster: Snapshot) -> None:
    both = term(requirement("tier", "Exists"), requirement("rank", "Gt", "0"))

    assert matched(cluster, **required(both)) == {"gold"}
    assert matched(cluster, **required(both, term(requirement("rank", "In", "5")))) == {"gold", "five"}


def test_an_empty_term_matches_nothing(cluster: Snapshot) -> None:
    assert matched(cluster, **required(term())) == set()
    assert matched(cluster, **required(term(), term(requirement("tier", "In", "gold")))) == {"gold"}


def test_no_terms_at_all_match_nothing(cluster: Snapshot) -> None:
    nothing = objects.Affinity(node_affinity=objects.NodeAffinity(required=objects.NodeSelector()))

    assert matched(cluster, affinity=nothing) == set()


def test_the_selector_wants_every_label_exactly(cluster: Snapshot) -> None:
    assert matched(cluster, node_selector={"tier": "gold"}) == {"gold"}
    assert matched(cluster, node_selector={"tier": "gold", "rank": "5"}) == set()
    assert matched(cluster, node_selector={"tier": ""}) == set()


def test_selector_and_terms_both_count(cluster: Snapshot) -> None:
    assert (
        matched(cluster, node_selector={"rank": "10"}, **required(term(requirement("tier", "In", "silver")))) == set()
    )


def test_a_field_other_than_the_name_is_empty_everywhere(cluster: Snapshot) -> None:
    other = [requirement("metadata.namespace", "NotIn", "x")]

    assert matched(cluster, **required(term(fields=other))) == set(NAMES)


def test_not_in_keeps_one_name_out(cluster: Snapshot) -> None:
    assert matched(cluster, **required(term(fields=[requirement("metadata.name", "NotIn", "gold")]))) == set(NAMES) - {
        "gold"
    }


def by_name(*names: str) -> list[objects.SelectorRequirement]:
    return [requirement("metadata.name", "In", name) for name in names]


def test_terms_that_all_name_nodes_leave_the_others_out_before_any_filter(cluster: Snapshot) -> None:
    asking = pod(gpu=9, **required(term(fields=by_name("gold")), term(fields=by_name("five"))))

    sentence = explain.sentence(decide(asking, cluster, registry.profile()))

    assert sentence == (
        "0/4 nodes are available: 2 Insufficient nvidia.com/gpu, 2 node(s) didn't satisfy plugin(s) [NodeAffinity]."
    )


def test_a_named_node_that_does_not_exist_is_waited_for(cluster: Snapshot) -> None:
    decision = decide(pod(**required(term(fields=by_name("none")))), cluster, registry.profile())

    assert explain.sentence(decision) == "0/4 nodes are available: 4 node(s) didn't satisfy plugin(s) [NodeAffinity]."
    assert Event.NODE_ADD in decision.cured_by


def test_names_that_exclude_one_another_refuse_the_pod(cluster: Snapshot) -> None:
    decision = decide(pod(**required(term(fields=by_name("gold", "five")))), cluster, registry.profile())

    assert explain.sentence(decision) == "0/4 nodes are available: pod affinity terms conflict."
    assert (set(decision.rejectors), set(decision.cured_by)) == ({"NodeAffinity"}, {Event.NODE_ADD, Event.NODE_LABEL})


def test_a_node_named_twice_is_told_of_both(cluster: Snapshot) -> None:
    decision = decide(pod(node="gold", **required(term(fields=by_name("gold")))), cluster, registry.profile())

    assert said(decision)["five"] == "node(s) didn't satisfy plugin(s) [NodeAffinity NodeName]"
    assert (decision.node, set(decision.rejectors)) == ("gold", {"NodeAffinity", "NodeName"})


def test_a_node_named_against_the_terms_refuses_the_pod(cluster: Snapshot) -> None:
    decision = decide(pod(node="five", **required(term(fields=by_name("gold")))), cluster, registry.profile())

    why = "node(s) didn't satisfy plugin(s) [NodeAffinity NodeName] simultaneously"
    assert explain.sentence(decision) == f"0/4 nodes are available: {why}."
    assert (set(decision.rejectors), Event.NODE_ADD in decision.cured_by) == ({"NodeAffinity", "NodeName"}, True)


def test_one_term_without_a_name_keeps_all_nodes_in(cluster: Snapshot) -> None:
    terms = (term(fields=by_name("gold")), term(requirement("tier", "In", "silver")))

    assert matched(cluster, **required(*terms)) == {"gold", "silver"}


def preferred(cluster: Snapshot, *wishes: tuple[int, objects.NodeSelectorTerm], **args: Any) -> list[int] | None:
    profile = registry.profile(filters=(), scorers=(("NodeAffinity", 2),), args={"NodeAffinity": args})
    found = decide(pod(affinity=affinity(preferred=wishes)), cluster, profile).scores.get("NodeAffinity")
    return None if found is None else found.tolist()


def test_weights_of_matching_wishes_add_up_against_the_most(cluster: Snapshot) -> None:
    wishes = ((30, term(requirement("tier", "Exists"))), (20, term(requirement("tier", "In", "gold"))))

    assert preferred(cluster, *wishes) == [0, 100, 60, 0]


def test_wishes_that_nothing_meets_score_0(cluster: Snapshot) -> None:
    assert preferred(cluster, (10, term(requirement("tier", "In", "bronze")))) == [0, 0, 0, 0]


def test_an_empty_wish_meets_nothing_and_no_wishes_skip_the_pod(cluster: Snapshot) -> None:
    assert preferred(cluster, (10, term())) == [0, 0, 0, 0]
    assert preferred(cluster) is None


def test_a_malformed_wish_is_no_verdict_but_an_error(cluster: Snapshot) -> None:
    wish = affinity(preferred=[(1, term()), (7, term(requirement("tier", "Gt", "ten")))])

    with pytest.raises(PluginError) as raised:
        decide(pod(affinity=wish), cluster, registry.profile())

    assert str(raised.value) == (
        'running PreScore plugin "NodeAffinity": [1].matchExpressions[0].values[0]: Invalid value: "ten": '
        "for 'Gt', 'Lt' operators, the value must be an integer"
    )


def test_a_malformed_wish_does_not_matter_where_one_node_fits(cluster: Snapshot) -> None:
    wish = affinity(term(fields=by_name("gold")), preferred=[(7, term(requirement("tier", "Gt", "ten")))])

    decision = decide(pod(affinity=wish), cluster, registry.profile())

    assert (decision.node, decision.scores) == ("gold", {})


def test_a_wish_without_weight_is_not_read(cluster: Snapshot) -> None:
    wish = affinity(preferred=[(0, term(requirement("tier", "Within", "gold"))), (1, term())])

    assert decide(pod(affinity=wish), cluster, registry.profile()).fits


@pytest.mark.parametrize(("length", "names"), [(253, set(NAMES)), (254, set())])
def test_a_keys_domain_has_at_most_253_characters(cluster: Snapshot, length: int, names: set[str]) -> None:
    assert matched(cluster, **required(term(requirement("a" * length + "/tier", "DoesNotExist")))) == names


ADDED = {
    "addedAffinity": {
        "requiredDuringSchedulingIgnoredDuringExecution": {
            "nodeSelectorTerms": [{"matchExpressions": [{"key": "tier", "operator": "Exists"}]}]
        },
        "preferredDuringSchedulingIgnoredDuringExecution": [
            {"weight": 5, "preference": {"matchExpressions": [{"key": "rank", "operator": "Gt", "values": ["9"]}]}}
        ],
    }
}


def test_the_profiles_own_affinity_is_enforced_first(cluster: Snapshot) -> None:
    profile = registry.profile(filters=("NodeAffinity",), scorers=(), args={"NodeAffinity": ADDED})

    sentence = explain.sentence(decide(pod(node_selector={"tier": "bronze"}), cluster, profile))

    assert sentence == (
        f"0/4 nodes are available: 2 {NOT_MATCHED}, 2 node(s) didn't match scheduler-enforced node affinity."
    )


def test_the_profiles_own_wishes_count_for_every_pod(cluster: Snapshot) -> None:
    assert preferred(cluster, **ADDED) == [0, 100, 0, 0]
