"""kube-scheduler's verdict without its binary: what each version knows, and its words for what goes wrong."""

import msgspec
import pytest
from hypothesis import given
from hypothesis import strategies as st

from cluster_model.verdict import BadRequest
from gpu_scheduler import config, profiles
from gpu_scheduler.kube_config import check, go_text, names, schema
from gpu_scheduler.kube_config.check import Verdict
from scheduler_plugins import registry
from tests.gpu_scheduler import configurations

GROUP = "kubescheduler.config.k8s.io"
OURS = {"Mine": frozenset({"filter", "preFilter"})}


def judged(text: str, version: str = "v1") -> Verdict:
    return check.check(f"apiVersion: {GROUP}/{version}\nkind: KubeSchedulerConfiguration\n{text}", OURS)


def plugins(lists: str, version: str = "v1") -> Verdict:
    return judged(f"profiles: [{{plugins: {lists}}}]", version)


def args(name: str, found: str, version: str = "v1") -> Verdict:
    return judged(f"profiles: [{{pluginConfig: [{{name: {name}, args: {found}}}]}}]", version)


@pytest.mark.parametrize("version", ["v1", "v1beta3", "v1beta2", "v1beta1"])
def test_four_versions_are_read(version: str) -> None:
    assert judged("", version) == judged("", version)
    assert judged("", version).profiles == ("default-scheduler",)


@pytest.mark.parametrize("version", ["v1alpha1", "v1alpha2", "v2", "v1beta4"])
def test_any_other_is_refused_by_its_name(version: str) -> None:
    scheme = 'in scheme "pkg/runtime/scheme.go:111"'

    assert judged("", version).errors == (
        f'no kind "KubeSchedulerConfiguration" is registered for version "{GROUP}/{version}" {scheme}',
    )


@pytest.mark.parametrize(
    ("field", "versions"),
    [
        ("delayCacheUntilActive: true", {"v1"}),
        ("healthzBindAddress: ':1'", {"v1beta1", "v1beta2"}),
        ("profiles: [{percentageOfNodesToScore: 5}]", {"v1", "v1beta3"}),
        ("profiles: [{plugins: {multiPoint: {}}}]", {"v1", "v1beta3"}),
        ("profiles: [{plugins: {preEnqueue: {}}}]", {"v1", "v1beta3"}),
        ("profiles: [{plugins: {placementScore: {}}}]", {"v1"}),
        ("profiles: [{plugins: {placementFeasible: {}}}]", set()),
        ("profiles: [{plugins: {unreserve: {}}}]", set()),
        ("leaderElection: {resourceLock: endpoints}", {"v1beta1", "v1beta2"}),
        ("leaderElection: {resourceLock: endpointsleases}", {"v1beta1", "v1beta2", "v1beta3"}),
        ("profiles: [{plugins: {score: {enabled: [{name: NodeResourcesMostAllocated}]}}}]", {"v1beta1"}),
        ("profiles: [{pluginConfig: [{name: ServiceAffinity, args: {x: 1}}]}]", {"v1"}),
        ("profiles: [{plugins: {filter: {enabled: [{name: EBSLimits}]}}}]", {"v1beta1", "v1beta2", "v1beta3"}),
        ("profiles: [{plugins: {score: {enabled: [{name: SelectorSpread}]}}}]", {"v1beta1", "v1beta2", "v1beta3"}),
        (
            "profiles: [{pluginConfig: [{name: NodeResourcesFit, args: {scoringStrategy: {type: MostAllocated}}}]}]",
            {"v1", "v1beta3", "v1beta2"},
        ),
        (
            "profiles: [{pluginConfig: [{name: VolumeBinding, args: {shape: [{utilization: 0, score: 0}]}}]}]",
            {"v1"},
        ),
        (
            "profiles: [{pluginConfig: [{name: DynamicResources, args: {filterTimeout: anything}}]}]",
            {"v1beta1", "v1beta2", "v1beta3"},
        ),
    ],
)
def test_each_version_has_its_own_fields_and_names(field: str, versions: set[str]) -> None:
    assert {version for version in check.VERSIONS if judged(field, version).valid} == versions


def test_a_name_of_today_and_its_old_names_have_the_same_points() -> None:
    lists = "{filter: {enabled: [{name: EBSLimits}, {name: GCEPDLimits}, {name: NodeVolumeLimits}]}}"

    assert plugins(lists, "v1beta2").unknown_plugins == ()
    assert 'plugin "CinderLimits" does not extend ScorePlugin plugin' in str(
        plugins("{score: {enabled: [{name: CinderLimits}]}}", "v1beta2").errors
    )


@pytest.mark.parametrize(
    ("lists", "said"),
    [
        ("{filter: {enabled: [{name: EBSLimits}]}}", 'filter.enabled[0]: Invalid value: "EBSLimits": was invalid in '),
        ("{multiPoint: {enabled: [{name: EBSLimits}]}}", 'PreFilterPlugin "EBSLimits" does not exist'),
        ("{score: {enabled: [{name: NodePreferAvoidPods}]}}", 'ScorePlugin "NodePreferAvoidPods" does not exist'),
        ("{filter: {enabled: [{name: '*'}]}}", 'FilterPlugin "*" does not exist'),
        ("{filter: {enabled: [{}]}}", 'FilterPlugin "" does not exist'),
        ("{score: {enabled: [{name: Mine}]}}", 'plugin "Mine" does not extend ScorePlugin plugin'),
        ("{filter: {enabled: [{name: Mine}, {name: Mine}]}}", 'plugin "Mine" already registered as "FilterPlugin"'),
        ("{multiPoint: {enabled: [{name: Mine}, {name: Mine}]}}", '"Mine" already registered as "PreFilterPlugin"'),
        (
            "{queueSort: {disabled: [{name: PrioritySort}]}}",
            'only one queue sort plugin required for profile with scheduler name "default-scheduler", but got 0',
        ),
        ("{bind: {disabled: [{name: '*'}]}}", 'at least one bind plugin is needed for profile with scheduler name "'),
        (
            "{score: {enabled: [{name: ImageLocality, weight: -1}]}}",
            "score plugins: total score of Score plugins could overflow",
        ),
    ],
)
def test_lists_that_no_scheduler_can_be_made_of_are_refused(lists: str, said: str) -> None:
    assert said in str(plugins(lists).errors)


@pytest.mark.parametrize(
    "lists",
    [
        "{queueSort: {enabled: [{name: Theirs}], disabled: [{name: '*'}]}}",
        "{bind: {enabled: [{name: Theirs}], disabled: [{name: '*'}]}}",
        "{multiPoint: {enabled: [{name: Theirs}], disabled: [{name: '*'}]}}",
        "{score: {enabled: [{name: Theirs, weight: 7}]}}",
    ],
)
def test_a_plugin_of_others_may_work_anywhere(lists: str) -> None:
    verdict = plugins(lists)

    assert (verdict.errors, verdict.unknown_plugins) == ((), ("Theirs",))


def test_what_is_disabled_or_only_configured_is_not_unknown() -> None:
    text = "profiles: [{plugins: {score: {disabled: [{name: A}]}}, pluginConfig: [{name: B, args: {x: 1}}]}]"

    assert judged(text).unknown_plugins == ()
    assert judged(text).valid


@pytest.mark.parametrize(
    ("name", "found", "said"),
    [
        ("InterPodAffinity", "{hardPodAffinityWeight: 101}", "hardPodAffinityWeight: Invalid value: 101: not in valid"),
        (
            "NodeResourcesFit",
            "{scoringStrategy: {}}",
            'scoringStrategy.type: Unsupported value: "": supported values: ',
        ),
        ("NodeResourcesFit", "{ignoredResourceGroups: [a/b]}", "resource group name can't contain '/'"),
        (
            "NodeResourcesBalancedAllocation",
            "{resources: [{name: a, weight: 2}]}",
            "weight: Invalid value: 2: must be 1",
        ),
        (
            "PodTopologySpread",
            "{defaultingType: Other}",
            'Unsupported value: "Other": supported values: "System", "List"',
        ),
        ("VolumeBinding", "{bindTimeoutSeconds: -1}", "invalid BindTimeoutSeconds, should not be a negative value"),
        ("DynamicResources", "{bindingTimeout: 10ms}", 'Invalid value: "10ms": must be at least 1 second'),
        (
            "DefaultPreemption",
            "{minCandidateNodesPercentage: 0, minCandidateNodesAbsolute: 0}",
            "cannot be zero at the",
        ),
        ("NodeAffinity", "{x: 1}", 'decoding args for plugin NodeAffinity: strict decoding error: unknown field "x"'),
        (
            "NodeAffinity",
            "{kind: VolumeBindingArgs}",
            f"not of type NodeAffinityArgs.{GROUP}, got VolumeBindingArgs.{GROUP}",
        ),
        ("NodeResourcesFitArgs", "{}", "args: Invalid value: {}: has to match plugin args"),
    ],
)
def test_args_are_checked_whether_the_plugin_exists_here_or_not(name: str, found: str, said: str) -> None:
    assert said in str(args(name, found).errors).replace("\\'", "'")


def test_an_error_of_type_hides_those_that_come_later() -> None:
    verdict = judged("parallelism: many\nunknown: 1\npodInitialBackoffSeconds: 0")

    assert verdict.errors == (
        "json: cannot unmarshal string into Go struct field KubeSchedulerConfiguration.parallelism of type int32",
    )


@given(st.text(max_size=60))
def test_any_text_gets_a_verdict(text: str) -> None:
    for whole in (text, f"apiVersion: {GROUP}/v1\nkind: KubeSchedulerConfiguration\n{text}", f'{{"kind": {text}'):
        verdict = check.check(whole, OURS)
        assert verdict.valid or all(verdict.errors)


@given(st.integers(-(2**63) + 1, 2**63 - 1))
def test_a_duration_reads_back_as_it_was_written(nanos: int) -> None:
    assert go_text.nanoseconds(go_text.duration(nanos)) == nanos


@pytest.mark.parametrize(
    ("value", "shown"),
    [(0.7, "0.7"), (1e30, "1e+30"), (1e-7, "1e-7"), (16.0, "16"), (1e20, "100000000000000000000"), (-0.5, "-0.5")],
)
def test_floats_are_written_as_go_writes_them(value: float, shown: str) -> None:
    assert go_text.float_text(value) == shown


def test_whatever_loads_there_starts_here_unless_a_rule_of_our_own_says_why() -> None:
    """Our own reader is stricter in these ways alone; what it accepts, its plugins can read."""
    ours = (
        "known: ",
        "must be empty: this scheduler calls no extenders",
        "must be the name of a plugin",
        "must be given",
        "must be greater than",
        "must stand once in its list",
        "must not be negative",
        "at least one point must be specified",  # it does not look at args of a NodeResourcesFit that nobody enables
    )
    accepted, strange = 0, []
    for seed in range(400):
        text = configurations.text(seed)
        if not check.check(text, {}, alone=True).valid:
            continue
        try:
            profiles.build(config.parse(text, profiles.KNOWN, "own").profiles)
            accepted += 1
        except BadRequest as refused:
            strange += [str(one) for one in refused.problems if not any(rule in one.rule for rule in ours)]
    assert strange == []
    assert accepted > 10


def test_defaults_are_in_the_order_in_which_they_run() -> None:
    assert [name for name, _ in names.DEFAULTS[:3]] == ["SchedulingGates", "PrioritySort", "NodeName"]
    assert names.DEFAULTS[-1][0] == "NodeDeclaredFeatures"


@pytest.mark.parametrize("name", sorted(registry.PLUGINS.keys() & names.POINTS.keys()))
def test_a_plugin_takes_the_args_that_the_check_knows(name: str) -> None:
    declared = schema.plugin_args("v1").get(f"{name}Args")
    known = set(declared.fields) - {"kind", "apiVersion"} if declared else set()

    assert {field.encode_name for field in msgspec.structs.fields(registry.PLUGINS[name].args)} == known
