"""The configuration file: what is read, what is refused and in which words."""

from pathlib import Path

import pytest

from cluster_model.verdict import BadRequest, Problem
from gpu_scheduler import config
from gpu_scheduler.backoff import Backoff
from gpu_scheduler.config import Config, LeaderElection
from gpu_scheduler.plugin_sets import Known

CASES = Path(__file__).parents[2].parent / "shared" / "cases" / "scheduler_configs"
KNOWN = Known(
    filters=frozenset({"NodeName", "NodeResourcesFit", "TaintToleration"}),
    scorers=frozenset({"NodeResourcesFit", "TaintToleration", "Balance"}),
    defaults=(("NodeName", 0), ("TaintToleration", 3), ("NodeResourcesFit", 1), ("Balance", 2)),
)
HEAD = "apiVersion: kubescheduler.config.k8s.io/v1\nkind: KubeSchedulerConfiguration\n"


def parse(text: str) -> Config:
    return config.parse(HEAD + text, KNOWN, "own")


def refusal(text: str) -> str:
    with pytest.raises(BadRequest) as caught:
        parse(text)
    return str(caught.value)


def profile(plugins: str) -> str:
    return f"profiles:\n- plugins: {plugins}\n"


def test_a_minimal_file_gives_the_defaults() -> None:
    read = parse("")

    assert read.leader_election == LeaderElection(True, 15.0, 10.0, 2.0, "gpu-scheduler", "own")
    assert read.backoff == Backoff(1.0, 10.0)
    assert [profile.scheduler_name for profile in read.profiles] == ["gpu-scheduler"]
    assert read.profiles[0].filters == ("NodeName", "TaintToleration", "NodeResourcesFit")
    assert read.profiles[0].scorers == (("TaintToleration", 3), ("NodeResourcesFit", 1), ("Balance", 2))
    assert read.warnings == ()


def test_every_field_that_has_a_meaning_is_read() -> None:
    read = parse(
        "clientConnection: {kubeconfig: /etc/kube.conf}\npodInitialBackoffSeconds: 2\npodMaxBackoffSeconds: 60\n"
        "leaderElection: {leaderElect: false, leaseDuration: 1m30s, renewDeadline: 60s, retryPeriod: 250ms,"
        " resourceName: lock, resourceNamespace: there, resourceLock: leases}\n"
    )

    assert read.kubeconfig == "/etc/kube.conf"
    assert read.backoff == Backoff(2.0, 60.0)
    assert read.leader_election == LeaderElection(False, 90.0, 60.0, 0.25, "lock", "there")


@pytest.mark.parametrize(
    ("plugins", "filters", "scorers"),
    [
        ("{score: {disabled: [{name: '*'}]}}", "NodeName TaintToleration NodeResourcesFit", ""),
        ("{filter: {disabled: [{name: NodeName}]}}", "TaintToleration NodeResourcesFit", "TaintToleration=3 F B"),
        ("{multiPoint: {disabled: [{name: TaintToleration}]}}", "NodeName NodeResourcesFit", "F B"),
        (
            "{multiPoint: {enabled: [{name: TaintToleration, weight: 9}]}}",
            "NodeName TaintToleration NodeResourcesFit",
            "TaintToleration=9 F B",
        ),
        (
            "{multiPoint: {enabled: [{name: TaintToleration}]}}",
            "NodeName TaintToleration NodeResourcesFit",
            "TaintToleration=1 F B",
        ),
        (
            "{score: {enabled: [{name: Balance, weight: 7}]}}",
            "NodeName TaintToleration NodeResourcesFit",
            "Balance=7 TaintToleration=3 F",
        ),
        (
            "{score: {disabled: [{name: TaintToleration}], enabled: [{name: TaintToleration, weight: 5}]}}",
            "NodeName TaintToleration NodeResourcesFit",
            "F B TaintToleration=5",
        ),
        (
            "{filter: {enabled: [{name: NodeResourcesFit}]}}",
            "NodeResourcesFit NodeName TaintToleration",
            "TaintToleration=3 F B",
        ),
        (
            "{multiPoint: {disabled: [{name: '*'}], enabled: [{name: DefaultBinder}, {name: PrioritySort},"
            " {name: NodeResourcesFit}]}}",
            "NodeResourcesFit",
            "F",
        ),
        ("{postFilter: {disabled: [{name: DefaultPreemption}]}}", "NodeName TaintToleration NodeResourcesFit", None),
    ],
)
def test_lists_merge_with_the_defaults_as_in_kube_scheduler(plugins: str, filters: str, scorers: str | None) -> None:
    read = parse(profile(plugins)).profiles[0]

    short = {"NodeResourcesFit=1": "F", "Balance=2": "B"}
    found = [f"{name}={weight}" for name, weight in read.scorers]
    assert " ".join(read.filters) == filters
    assert scorers is None or " ".join(short.get(entry, entry) for entry in found) == scorers


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("parallelism: 0", "parallelism: Invalid value: 0: should be an integer value greater than zero"),
        ("percentageOfNodesToScore: 101", "percentageOfNodesToScore: Invalid value: 101: not in valid range [0-100]"),
        ("podInitialBackoffSeconds: 0", "podInitialBackoffSeconds: Invalid value: 0: must be greater than 0"),
        (
            "podMaxBackoffSeconds: 0",
            "podMaxBackoffSeconds: Invalid value: 0: must be greater than or equal to PodInitialBackoffSeconds",
        ),
        (
            "leaderElection: {resourceLock: configmaps}",
            'leaderElection.resourceLock: Invalid value: "configmaps": resourceLock value must be "leases"',
        ),
        (
            "leaderElection: {leaseDuration: 5}",
            'leaderElection.leaseDuration: Invalid value: 5: must be a duration such as "15s"',
        ),
        (
            "leaderElection: {leaseDuration: 10s}",
            'leaderElection.leaseDuration: Invalid value: "10s": must be greater than `RenewDeadline`',
        ),
        (
            "leaderElection: {retryPeriod: 9s}",
            "must be greater than `RetryPeriod` times 1.2",
        ),
        ("leaderElection: {retryPeriod: 0s}", 'retryPeriod: Invalid value: "0s": must be greater than zero'),
        ("leaderElection: {resourceName: ''}", 'resourceName: Invalid value: "": must be given'),
        ("leaderElection: []", 'leaderElection: Invalid value: "[]": must be a mapping'),
        ("leaderElection: {leaderElect: 1}", "leaderElection.leaderElect: Invalid value: 1: must be a boolean"),
        ("clientConnection: {burst: -1}", "clientConnection.burst: Invalid value: -1: must be non-negative"),
        ("clientConnection: {kubeconfig: 3}", "clientConnection.kubeconfig: Invalid value: 3: must be a string"),
        ("parallelism: yes", "parallelism: Invalid value: True: must be a whole number"),
        ("profiles: {}", 'profiles: Invalid value: "{}": must be a list'),
        ("profiles: [1]", "profiles[0]: Invalid value: 1: must be a mapping"),
        ("profiles: [{schedulerName: a}, {}]", 'profiles[1].schedulerName: Invalid value: "": must be given'),
        (
            "profiles: [{schedulerName: a}, {schedulerName: a}]",
            'profiles[1].schedulerName: Invalid value: "a": must not be the name of another profile',
        ),
        (
            "profiles: [{schedulerName: a}, {schedulerName: b, plugins: {queueSort: {enabled: [{name: PrioritySort}],"
            " disabled: [{name: '*'}]}}}]",
            "profiles[1].plugins.queueSort: Invalid value: ",
        ),
        ("extenders: [{urlPrefix: http://here}]", "extenders: Invalid value: "),
        (profile("{filter: {enabled: [{name: ''}]}}"), "filter.enabled[0].name: Invalid value: "),
        (profile("{score: {enabled: [{name: Balance, weight: -1}]}}"), "weight: Invalid value: -1: must not be"),
        (profile("{score: {enabled: [{name: Balance, weight: 9223372036854775807}]}}"), "could overflow"),
        (profile("{bind: {disabled: [{name: '*'}]}}"), "plugins.bind: Invalid value: "),
        (profile("{queueSort: {disabled: [{name: PrioritySort}]}}"), "one queue sort plugin is needed: PrioritySort"),
        (
            profile("{filter: {enabled: [{name: Balance}]}}"),
            'profiles[0].plugins.filter.enabled[0].name: Invalid value: "Balance": does not extend this point; '
            "at filter are known: NodeName, NodeResourcesFit, TaintToleration",
        ),
        (
            profile("{filter: {enabled: [{name: NodeName}, {name: NodeName}]}}"),
            'profiles[0].plugins.filter.enabled[1].name: Invalid value: "NodeName": must stand once in its list',
        ),
        (
            "profiles: [{pluginConfig: [{name: NodeName}, {name: NodeName}]}]",
            'pluginConfig[1].name: Invalid value: "NodeName": repeated config for plugin NodeName',
        ),
        (
            "profiles: [{pluginConfig: [{name: NodeName, args: 3}]}]",
            "profiles[0].pluginConfig[0].args: Invalid value: 3: must be a mapping",
        ),
    ],
)
def test_a_broken_rule_is_told_with_path_and_value(text: str, said: str) -> None:
    assert said in refusal(text)


@pytest.mark.parametrize(
    ("text", "path", "known"),
    [
        ("paralelism: 3", "paralelism", "parallelism"),
        ("leaderElection: {lease: 3s}", "leaderElection.lease", "leaseDuration"),
        ("clientConnection: {kubeConfig: x}", "clientConnection.kubeConfig", "kubeconfig"),
        ("profiles: [{name: x}]", "profiles[0].name", "schedulerName"),
        (profile("{filters: {}}"), "profiles[0].plugins.filters", "filter"),
        (profile("{placementFeasible: {}}"), "profiles[0].plugins.placementFeasible", "placementScore"),
        (profile("{filter: {only: []}}"), "profiles[0].plugins.filter.only", "enabled"),
        (profile("{filter: {enabled: [{nam: x}]}}"), "profiles[0].plugins.filter.enabled[0].nam", "weight"),
        ("profiles: [{pluginConfig: [{arg: x, name: NodeName}]}]", "profiles[0].pluginConfig[0].arg", "args"),
    ],
)
def test_an_unknown_field_is_told_with_the_known_ones(text: str, path: str, known: str) -> None:
    with pytest.raises(BadRequest) as caught:
        parse(text)

    rules = {problem.path: problem.rule for problem in caught.value.problems}
    assert rules[path].startswith("unknown field; known: ")
    assert known in rules[path].removeprefix("unknown field; known: ").split(", ")


@pytest.mark.parametrize(
    ("text", "path"),
    [
        (profile("{filter: {enabled: [{name: NodeNam}]}}"), "profiles[0].plugins.filter.enabled[0].name"),
        (profile("{multiPoint: {enabled: [{name: NodeNam}]}}"), "profiles[0].plugins.multiPoint.enabled[0].name"),
        (profile("{score: {disabled: [{name: NodeNam}]}}"), "profiles[0].plugins.score.disabled[0].name"),
        ("profiles: [{pluginConfig: [{name: NodeNam}]}]", "profiles[0].pluginConfig[0].name"),
    ],
)
def test_an_unknown_plugin_is_told_with_the_known_ones(text: str, path: str) -> None:
    said = refusal(text)

    assert f'{path}: Invalid value: "NodeNam": unknown plugin; known: ' in said
    assert "Balance, DefaultBinder, NodeName, NodeResourcesFit, PrioritySort, SchedulingGates, TaintToleration" in said


@pytest.mark.parametrize("point", ["multiPoint", "score"])
def test_a_plugin_that_only_kube_scheduler_has_is_refused_when_enabled(point: str) -> None:
    said = refusal(profile(f"{{{point}: {{enabled: [{{name: ImageLocality}}]}}}}"))

    assert '"ImageLocality": a plugin of kube-scheduler that this scheduler does not have; known: ' in said


def test_all_problems_are_told_at_once() -> None:
    said = refusal("parallelism: 0\nleaderElection: {leaderElect: 1, lease: 3}\nunknown: 1")

    assert said.count("Invalid value") == 4


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("a: 1\na: 2", 'line 4: Invalid value: "a": must stand once in its mapping'),
        ("a: [", "must be one YAML document"),
        ("---\nb: 1", "must be one YAML document"),
    ],
)
def test_what_is_not_one_document_is_told_with_its_line(text: str, said: str) -> None:
    assert said in refusal(text)


@pytest.mark.parametrize("text", ["", "3", "[]", "null", "x"])
def test_a_document_of_another_kind_is_refused(text: str) -> None:
    with pytest.raises(BadRequest, match=r"apiVersion: Invalid value: .* must be one of: kubescheduler"):
        config.parse(text, KNOWN, "own")


def test_a_file_that_is_not_there_is_a_problem_of_the_file(tmp_path: Path) -> None:
    with pytest.raises(BadRequest, match="must be a readable file"):
        config.load(tmp_path / "none.yaml", KNOWN, "own")


def test_a_beta_version_is_read_with_a_warning() -> None:
    read = config.parse(
        "apiVersion: kubescheduler.config.k8s.io/v1beta2\nkind: KubeSchedulerConfiguration\nhealthzBindAddress: ':1'\n",
        KNOWN,
        "own",
    )

    assert "v1beta2 is no longer served" in read.warnings[0]
    assert "healthzBindAddress: no effect" in read.warnings[1]


@pytest.mark.parametrize(
    "text",
    [
        "parallelism: 8",
        "percentageOfNodesToScore: 50",
        "enableProfiling: false",
        "delayCacheUntilActive: true",
        "clientConnection: {qps: 50.5}",
        "clientConnection: {contentType: application/vnd.kubernetes.protobuf}",
        "profiles: [{percentageOfNodesToScore: 50}]",
        profile("{preFilter: {enabled: [{name: NodeResourcesFit}]}}"),
        profile("{preScore: {disabled: [{name: '*'}]}}"),
        profile("{multiPoint: {disabled: [{name: SchedulingGates}]}}"),
    ],
)
def test_a_field_without_effect_is_accepted_and_said(text: str) -> None:
    assert ["no effect" in warning for warning in parse(text).warnings] == [True]


def test_args_are_kept_for_the_plugin_with_their_path() -> None:
    read = parse("profiles: [{pluginConfig: [{name: NodeName, args: {deep: {er: 1}}}]}]").profiles[0]

    assert read.args == {"NodeName": {"deep": {"er": 1}}}
    assert read.args_paths == {"NodeName": "profiles[0].pluginConfig[0].args"}


def found_in(path: Path) -> tuple[Problem, ...]:
    try:
        config.load(path, KNOWN, "own")
    except BadRequest as refused:
        return refused.problems
    return ()


def test_public_files_are_read_or_refused_with_a_path() -> None:
    """Files people wrote: whatever kube-scheduler calls invalid is refused here, and nothing ends in a traceback."""
    if not CASES.is_dir():
        pytest.skip("the collection of public files is not beside this checkout")
    accepted_but_invalid = []
    for path in sorted(CASES.glob("*.yaml")):
        expected = path.read_text(encoding="utf-8").split("# expect: ")[1]
        problems = found_in(path)
        assert all(problem.path and problem.rule for problem in problems), path.name
        if not problems and not expected.startswith("valid"):
            accepted_but_invalid.append(path.name)
    assert accepted_but_invalid == []


def test_a_json_name_that_stands_twice_is_refused() -> None:
    with pytest.raises(BadRequest, match='document: Invalid value: "kind": must stand once in its mapping'):
        config.parse('{"kind": "KubeSchedulerConfiguration", "kind": "x"}', KNOWN, "own")


def test_json_is_read_as_well() -> None:
    text = '{"apiVersion": "kubescheduler.config.k8s.io/v1", "kind": "KubeSchedulerConfiguration",\n\t"profiles": []}'

    assert config.parse(text, KNOWN, "own").profiles[0].scheduler_name == "gpu-scheduler"
