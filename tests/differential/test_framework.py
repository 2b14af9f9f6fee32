"""The program that judges with kube-scheduler's framework answers what the reference states, and survives anything."""

from __future__ import annotations

import os
import signal
from collections.abc import Iterable, Iterator, Mapping
from pathlib import Path
from typing import Any

import pytest

from tests.differential.answers import FrameworkAnswer
from tests.differential.documents import HOSTNAME, ZONE, Document, config, node, pod, requirement, term
from tests.differential.framework import Framework, FrameworkError

# A machine that has built nothing yet compiles for many minutes.
pytestmark = [pytest.mark.control_plane, pytest.mark.timeout(3600)]

UNRESOLVABLE = "UnschedulableAndUnresolvable"
TAINT = {"key": "dedicated", "value": "a", "effect": "NoSchedule"}
SOFT = {"key": "slow", "effect": "PreferNoSchedule"}


def case(nodes: list[Document], placed: Document, pods: Iterable[Document] = (), **more: Any) -> Document:
    return {"id": "c", "nodes": nodes, "pods": list(pods), "pod": placed, **more}


def running(name: str, on: str, requests: Mapping[str, str] | None = None, **spec: Any) -> Document:
    return pod(name, requests, nodeName=on, **spec)


def labelled(found: Document, **labels: str) -> Document:
    found["metadata"]["labels"] = labels
    return found


def claim_volume(name: str) -> list[Document]:
    return [{"name": "data", "persistentVolumeClaim": {"claimName": name}}]


def reasons(answer: FrameworkAnswer, name: str) -> tuple[str, str, tuple[str, ...]]:
    found = answer.rejected[name]
    return found.plugin, found.code, found.reasons


def test_untolerated_taint_is_unresolvable(framework: Framework) -> None:
    """The text has no key since 1.35, and preemption is said not to help."""
    answer = framework.judge(case([node("n1", taints=[TAINT])], pod("p")))

    assert reasons(answer, "n1") == ("TaintToleration", UNRESOLVABLE, ("node(s) had untolerated taint(s)",))
    assert answer.message == (
        "0/1 nodes are available: 1 node(s) had untolerated taint(s). "
        "preemption: 0/1 nodes are available: 1 Preemption is not helpful for scheduling."
    )


def test_fit_says_everything_that_is_short(framework: Framework) -> None:
    """More than the node will ever have is unresolvable; what pods of others hold is not."""
    wanted = pod("p", {"cpu": "2", "memory": "40Gi", "example.com/nic": "1"})
    held = [running("other", "n2", {"cpu": "7"})]
    answer = framework.judge(case([node("n1", {"pods": "0"}), node("n2", {"memory": "64Gi"})], wanted, held))

    plugin, code, said = reasons(answer, "n1")
    assert (plugin, code) == ("NodeResourcesFit", UNRESOLVABLE)
    assert sorted(said) == ["Insufficient example.com/nic", "Insufficient memory", "Too many pods"]
    assert set(answer.rejected["n2"].reasons) == {"Insufficient cpu", "Insufficient example.com/nic"}


def test_sentence_sorts_its_counts_as_texts(framework: Framework) -> None:
    """Ten stands before two."""
    nodes = [node(f"a{i}", taints=[TAINT]) for i in range(10)] + [node(f"b{i}", unschedulable=True) for i in range(2)]
    answer = framework.judge(case(nodes, pod("p")))

    sentence = "0/12 nodes are available: 10 node(s) had untolerated taint(s), 2 node(s) were unschedulable. "
    assert answer.message.startswith(sentence)


def test_limits_are_requests_once_stored(framework: Framework) -> None:
    """Objects are read as the API server stores them: a GPU under limits alone is asked for."""
    wanted = pod("p")
    wanted["spec"]["containers"][0]["resources"] = {"limits": {"nvidia.com/gpu": "1"}}
    answer = framework.judge(case([node("n1")], wanted))

    assert reasons(answer, "n1") == ("NodeResourcesFit", UNRESOLVABLE, ("Insufficient nvidia.com/gpu",))
    assert answer.objects().pod.spec.containers[0].resources.requests == {"nvidia.com/gpu": "1"}


def test_stored_pods_have_what_admission_adds(framework: Framework) -> None:
    """Default tolerations, host ports of the host network, and the priority of the class are there."""
    wanted = pod("p", hostNetwork=True, priorityClassName="gold")
    wanted["spec"]["containers"][0]["ports"] = [{"containerPort": 80}]
    gold = {"metadata": {"name": "gold"}, "value": 7, "preemptionPolicy": "Never"}
    spec = framework.judge(case([node("n1")], wanted, priorityClasses=[gold])).objects().pod.spec

    assert {one.key for one in spec.tolerations} == {"node.kubernetes.io/not-ready", "node.kubernetes.io/unreachable"}
    assert (spec.priority, spec.preemption_policy, spec.containers[0].ports[0].host_port) == (7, "Never", 80)


def test_balance_of_a_neutral_pod_is_75(framework: Framework) -> None:
    """A pod that keeps the shares equal neither mends nor spoils."""
    nodes = [node("n1", {"cpu": "8", "memory": "32Gi"}), node("n2", {"cpu": "4", "memory": "32Gi"})]
    scores = framework.judge(case(nodes, pod("p", {"cpu": "2", "memory": "8Gi"})))

    assert scores.raw("NodeResourcesBalancedAllocation") == {"n1": 75, "n2": 68}


def test_balance_skips_a_pod_that_asks_for_nothing(framework: Framework) -> None:
    answer = framework.judge(case([node("n1"), node("n2")], pod("p")))

    assert "NodeResourcesBalancedAllocation" in answer.skipped.score
    assert "NodeResourcesBalancedAllocation" not in answer.scores


def test_least_allocated_counts_a_default_for_absent_requests(framework: Framework) -> None:
    """100m and 200 MiB of 8 CPUs and 32 GiB leave 98 and 99 percent; both weigh alike and the mean is cut."""
    answer = framework.judge(case([node("n1"), node("n2")], pod("p")))

    assert answer.raw("NodeResourcesFit") == {"n1": 98, "n2": 98}


def test_soft_taints_score_by_the_worst_node(framework: Framework) -> None:
    """The raw score counts taints; normalised, none is 100 and the most is 0."""
    also = {"key": "old", "effect": "PreferNoSchedule"}
    nodes = [node("n1"), node("n2", taints=[SOFT]), node("n3", taints=[SOFT, also])]
    answer = framework.judge(case(nodes, pod("p")))

    assert answer.raw("TaintToleration") == {"n1": 0, "n2": 1, "n3": 2}
    assert answer.normalised("TaintToleration") == {"n1": 100, "n2": 50, "n3": 0}


def test_total_is_the_weighted_sum(framework: Framework) -> None:
    nodes = [node("n1", taints=[SOFT]), node("n2", labels={ZONE: "a"})]
    answer = framework.judge(case(nodes, pod("p", {"cpu": "1"})))

    for name in ("n1", "n2"):
        shares = (answer.weights[plugin] * scores[name].normalised for plugin, scores in answer.scores.items())
        assert answer.totals[name] == sum(shares)
    assert (answer.node, answer.weights["TaintToleration"]) == ("n2", 3)


def test_affinity_narrows_to_named_nodes(framework: Framework) -> None:
    """Nodes that the terms do not name are never filtered, and the framework itself speaks for them."""
    named = {"matchFields": [requirement("metadata.name", "In", "n1")]}
    required = {"requiredDuringSchedulingIgnoredDuringExecution": {"nodeSelectorTerms": [named]}}
    nodes = [node("n1", taints=[TAINT]), node("n2", taints=[TAINT])]
    answer = framework.judge(case(nodes, pod("p", affinity={"nodeAffinity": required})))

    assert answer.rejected["n1"].plugin == "TaintToleration"
    assert reasons(answer, "n2") == ("", UNRESOLVABLE, ("node(s) didn't satisfy plugin(s) [NodeAffinity]",))


def test_conflicting_names_are_refused_before_any_node(framework: Framework) -> None:
    """Such a refusal keeps DynamicResources from its turn, so the sentence ends as if something were missing."""
    names = [requirement("metadata.name", "In", name) for name in ("n1", "n2")]
    required = {"requiredDuringSchedulingIgnoredDuringExecution": {"nodeSelectorTerms": [{"matchFields": names}]}}
    answer = framework.judge(case([node("n1")], pod("p", affinity={"nodeAffinity": required})))

    assert answer.pre_filter is not None
    assert (answer.pre_filter.plugin, answer.pre_filter.code) == ("NodeAffinity", UNRESOLVABLE)
    assert answer.message == "0/1 nodes are available: pod affinity terms conflict. not found"


def test_missing_claim_ends_in_not_found(framework: Framework) -> None:
    answer = framework.judge(case([node("n1"), node("n2")], pod("p", volumes=claim_volume("x"))))

    assert answer.message == '0/2 nodes are available: persistentvolumeclaim "x" not found. not found'


def test_unbound_claim_of_an_immediate_class_waits(framework: Framework) -> None:
    """A class says nothing about its binding mode until the API server fills it in: immediate."""
    claim = {
        "metadata": {"name": "x"},
        "spec": {"storageClassName": "fast", "resources": {"requests": {"storage": "1Gi"}}},
    }
    fast = {"metadata": {"name": "fast"}, "provisioner": "example.com/disk"}
    placed = pod("p", volumes=claim_volume("x"))
    answer = framework.judge(case([node("n1")], placed, persistentVolumeClaims=[claim], storageClasses=[fast]))

    sentence = "0/1 nodes are available: pod has unbound immediate PersistentVolumeClaims. not found"
    assert answer.message == sentence


def test_spread_rejects_what_would_be_skewed(framework: Framework) -> None:
    """A crowded domain is for preemption to try, a node without the label is not; matchLabelKeys are merged."""
    constraint = {
        "maxSkew": 1,
        "topologyKey": ZONE,
        "whenUnsatisfiable": "DoNotSchedule",
        "labelSelector": {},
        "matchLabelKeys": ["app"],
    }
    placed = labelled(pod("p", topologySpreadConstraints=[constraint]), app="web")
    held = [labelled(running("web", "n1"), app="web"), labelled(running("db", "n2"), app="db")]
    nodes = [node("n1", labels={ZONE: "a"}), node("n2", labels={ZONE: "b"}), node("n3")]
    answer = framework.judge(case(nodes, placed, held))

    text = "node(s) didn't match pod topology spread constraints"
    assert reasons(answer, "n1") == ("PodTopologySpread", "Unschedulable", (text,))
    assert reasons(answer, "n3") == ("PodTopologySpread", UNRESOLVABLE, (f"{text} (missing required label)",))
    assert answer.feasible == ("n2",)


def test_affinity_normalises_the_quotient_first(framework: Framework) -> None:
    """29 of a range of 100 is 28 of 100, for the float below 0.29 is multiplied."""
    nodes = [node(name) for name in ("n1", "n2", "n3")]
    held = [labelled(running("a", "n1"), app="a"), labelled(running("b", "n2"), app="b")]
    answer = framework.judge(case(nodes, pod("p", affinity={"podAffinity": _preferred(a=100, b=29)}), held))

    assert answer.raw("InterPodAffinity") == {"n1": 100, "n2": 29, "n3": 0}
    assert answer.normalised("InterPodAffinity") == {"n1": 100, "n2": 28, "n3": 0}


def _preferred(**weights: int) -> Document:
    terms = [
        {
            "weight": weight,
            "podAffinityTerm": {"topologyKey": HOSTNAME, "labelSelector": {"matchLabels": {"app": app}}},
        }
        for app, weight in weights.items()
    ]
    return {"preferredDuringSchedulingIgnoredDuringExecution": terms}


def test_existing_anti_affinity_keeps_a_pod_off(framework: Framework) -> None:
    keeps_off = {"topologyKey": HOSTNAME, "labelSelector": {"matchLabels": {"app": "web"}}}
    affinity = {"podAntiAffinity": {"requiredDuringSchedulingIgnoredDuringExecution": [keeps_off]}}
    answer = framework.judge(
        case([node("n1")], labelled(pod("p"), app="web"), [running("other", "n1", affinity=affinity)])
    )

    text = "node(s) didn't satisfy existing pods anti-affinity rules"
    assert reasons(answer, "n1") == ("InterPodAffinity", "Unschedulable", (text,))


def test_image_on_one_of_two_nodes_counts_half(framework: Framework) -> None:
    """1 GiB on half of the nodes is 512 MiB, of a range of 23 to 1000."""
    nodes = [node("n1"), node("n2")]
    nodes[0]["status"]["images"] = [{"names": ["example.com/app:1"], "sizeBytes": 1 << 30}]
    answer = framework.judge(case(nodes, pod("p")))

    assert answer.raw("ImageLocality") == {"n1": 100 * (512 - 23) // (1000 - 23), "n2": 0}


def test_preemption_names_node_and_victims(framework: Framework) -> None:
    """The least important pod that makes room goes; those that fit beside the preemptor stay."""
    held = [
        running("low", "n1", {"cpu": "4"}, priority=1),
        running("mid", "n1", {"cpu": "4"}, priority=2),
        running("high", "n2", {"cpu": "8"}, priority=9),
    ]
    answer = framework.judge(case([node("n1"), node("n2")], pod("p", {"cpu": "3"}, priority=5), held))

    found = answer.post_filter
    assert found is not None
    assert (found.nominated, found.victims, found.candidates["n1"].pdb_violations) == ("n1", ("default/low",), 0)
    assert found.hopeless["n2"].reasons == ("No preemption victims found for incoming pod",)
    assert answer.message == (
        "0/2 nodes are available: 2 Insufficient cpu. "
        "preemption: found a potential placement for pod on node n1, preempting 1 victims"
    )


def test_preemption_prefers_victims_without_a_budget(framework: Framework) -> None:
    """Of two equal nodes the one whose victim no PodDisruptionBudget guards."""
    held = [labelled(running("guarded", "n1", {"cpu": "8"}), app="guarded"), running("free", "n2", {"cpu": "8"})]
    budget = {"metadata": {"name": "b"}, "spec": {"selector": {"matchLabels": {"app": "guarded"}}}}
    placed = pod("p", {"cpu": "3"}, priority=5)
    answer = framework.judge(case([node("n1"), node("n2")], placed, held, podDisruptionBudgets=[budget]))

    found = answer.post_filter
    assert found is not None
    assert {name: one.pdb_violations for name, one in found.candidates.items()} == {"n1": 1, "n2": 0}
    assert found.nominated == "n2"


def test_preemption_without_candidates_says_why(framework: Framework) -> None:
    held = [running("equal", "n1", {"cpu": "8"}, priority=5)]
    nodes = [node("n1"), node("n2", taints=[TAINT])]
    answer = framework.judge(case(nodes, pod("p", {"cpu": "3"}, priority=5), held))

    assert answer.message == (
        "0/2 nodes are available: 1 Insufficient cpu, 1 node(s) had untolerated taint(s). "
        "preemption: 0/2 nodes are available: 1 No preemption victims found for incoming pod, "
        "1 Preemption is not helpful for scheduling."
    )


def test_pod_that_must_not_preempt_says_so(framework: Framework) -> None:
    held = [running("low", "n1", {"cpu": "8"})]
    placed = pod("p", {"cpu": "3"}, priority=5, preemptionPolicy="Never")
    answer = framework.judge(case([node("n1")], placed, held))

    assert answer.message.endswith(" preemption: not eligible due to preemptionPolicy=Never.")


def test_nominated_pod_holds_its_room(framework: Framework) -> None:
    """A pending pod of at least the same priority counts where it is nominated, one of less does not."""
    nominated = pod("first", {"cpu": "6"}, priority=5)
    nominated["status"] = {"nominatedNodeName": "n1"}
    equal = framework.judge(case([node("n1")], pod("p", {"cpu": "3"}, priority=5), [nominated]))
    above = framework.judge(case([node("n1")], pod("p", {"cpu": "3"}, priority=6), [nominated]))

    assert equal.rejected["n1"].reasons == ("Insufficient cpu",)
    assert above.node == "n1"


def test_finished_pods_hold_nothing(framework: Framework) -> None:
    done = running("done", "n1", {"cpu": "8"})
    done["status"] = {"phase": "Succeeded"}

    assert framework.judge(case([node("n1")], pod("p", {"cpu": "3"}), [done])).node == "n1"


def test_gated_pod_is_told_before_it_queues(framework: Framework) -> None:
    answer = framework.judge(case([node("n1")], pod("p", schedulingGates=[{"name": "g1"}, {"name": "g2"}])))

    assert answer.pre_enqueue is not None
    assert answer.pre_enqueue.reasons == ("waiting for scheduling gates: [g1 g2]",)


def test_selector_that_does_not_parse_is_an_error(framework: Framework) -> None:
    """The API server refuses it, so it is said beside the scheduler's own verdict."""
    selector = {"matchExpressions": [requirement("app", "Near", "web")]}
    constraint = {"maxSkew": 1, "topologyKey": ZONE, "whenUnsatisfiable": "DoNotSchedule", "labelSelector": selector}
    answer = framework.judge(case([node("n1")], pod("p", topologySpreadConstraints=[constraint])))

    assert answer.reason == "SchedulerError"
    assert answer.message.startswith('running PreFilter plugin "PodTopologySpread": get constraints from pod: ')
    assert answer.refused


def test_no_nodes_is_a_sentence_of_its_own(framework: Framework) -> None:
    assert framework.judge(case([], pod("p"))).message == "no nodes available to schedule pods"


def test_configuration_chooses_plugins_weights_and_args(framework: Framework) -> None:
    """Only what is enabled speaks, with its weight, and with args as kube-scheduler reads them."""
    args = {"NodeResourcesFit": {"scoringStrategy": {"type": "MostAllocated", "resources": [{"name": "cpu"}]}}}
    chosen = config([("NodeResourcesFit", 7)], args)
    nodes = [node("n1", taints=[TAINT]), node("n2", {"cpu": "4"})]
    answer = framework.judge(case(nodes, pod("p", {"cpu": "2"}), config=chosen))

    assert answer.weights == {"NodeResourcesFit": 7}
    assert answer.totals == {"n1": 7 * 25, "n2": 7 * 50}


def test_preference_of_the_profile_counts_for_every_pod(framework: Framework) -> None:
    """addedAffinity rejects in words of its own."""
    added = {"requiredDuringSchedulingIgnoredDuringExecution": {"nodeSelectorTerms": [term("pool", "Exists")]}}
    chosen = config([("NodeAffinity", 1)], {"NodeAffinity": {"addedAffinity": added}})
    answer = framework.judge(case([node("n1")], pod("p"), config=chosen))

    assert answer.rejected["n1"].reasons == ("node(s) didn't match scheduler-enforced node affinity",)


@pytest.mark.parametrize(
    ("broken", "said"),
    [
        ({"nodes": [], "pod": {"spec": {"nodeNam": "n1"}}}, 'unknown field "pod.spec.nodeNam"'),
        ({"nodes": []}, "pod: Required value"),
        ({"pod": {"spec": {"containers": 1}}}, "cannot read the case"),
        ({"pod": pod("p"), "config": {"kind": "Pod"}}, "config: "),
        ({"pod": pod("p"), "config": config([("Nonsense", 1)])}, 'PreFilterPlugin "Nonsense" does not exist'),
        ({"pod": pod("p", schedulerName="other")}, 'no profile of the configuration has the name "other"'),
        ({"pod": pod("p", priorityClassName="gold")}, "no PriorityClass with name gold was found"),
        ({"pod": pod("p"), "pods": [pod("p")]}, "already exists"),
    ],
)
def test_bad_case_answers_with_an_error(framework: Framework, broken: Document, said: str) -> None:
    """The next case is judged as if nothing had happened."""
    bad, good = framework.judge_all([{"id": "bad", **broken}, case([node("n1")], pod("p"))])

    assert bad.id == "bad"
    assert said in bad.error
    assert (good.node, good.error) == ("n1", "")


def test_answers_keep_the_order_of_the_cases(framework: Framework) -> None:
    """Many cases are under way at a time, and are answered one for one."""
    ids = [str(number) for number in range(300)]
    cases = ({**case([node(f"n{number}")], pod("p")), "id": number} for number in ids)

    assert [(answer.id, answer.node) for answer in framework.judge_all(cases)] == [(one, f"n{one}") for one in ids]


def test_batch_may_be_left_before_its_end(framework: Framework) -> None:
    """What was sent already is read and dropped, so the next answer is that of the next case."""
    answers = framework.judge_all(case([node(f"n{number}")], pod("p")) for number in range(200))
    assert next(iter(answers)).node == "n0"
    answers.close()  # type: ignore[attr-defined]

    assert framework.judge(case([node("last")], pod("p"))).node == "last"


def test_failing_source_of_cases_is_not_hidden(framework: Framework) -> None:
    def cases() -> Iterator[Document]:
        yield case([node("n1")], pod("p"))
        raise ZeroDivisionError

    with pytest.raises(ZeroDivisionError):
        list(framework.judge_all(cases()))
    assert framework.judge(case([node("n1")], pod("p"))).node == "n1"


def test_death_of_the_program_is_told_with_its_last_words(tmp_path: Path) -> None:
    program = tmp_path / "dies"
    program.write_text("#!/bin/sh\nread line\necho first >&2\necho last words >&2\nexit 3\n")
    program.chmod(0o755)

    with Framework(program) as running, pytest.raises(FrameworkError, match="exit code 3\nfirst\nlast words"):
        list(running.judge_all(case([node("n1")], pod("p")) for _ in range(500)))


def test_killed_program_is_told(framework: Framework) -> None:
    """Also in the middle of a batch."""
    with Framework() as victim:
        answers = iter(victim.judge_all(case([node("n1")], pod("p")) for _ in range(2000)))
        next(answers)
        os.kill(victim.pid, signal.SIGKILL)
        with pytest.raises(FrameworkError, match="exit code -9"):
            list(answers)
