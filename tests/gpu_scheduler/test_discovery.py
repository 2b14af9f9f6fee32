"""Finding users' plugins: what is announced is imported; a wrong one is refused or noted, by who enables it."""

import json
import subprocess
import sys
import tomllib
from importlib.metadata import EntryPoint
from pathlib import Path

import pytest
import yaml

from cluster_model.verdict import BadRequest
from gpu_scheduler import config, profiles
from gpu_scheduler.config import Config
from gpu_scheduler.discovery import GROUP, Found, discover
from gpu_scheduler.extension_points import Args, FilterPlugin, Handle
from gpu_scheduler.waiting_pods import WaitingPods
from tests.gpu_scheduler.installed import documented, install
from tests.gpu_scheduler.plugged import HEAD

HERE = "tests.gpu_scheduler.test_points_before"
ENABLED = "profiles: [{plugins: {multiPoint: {enabled: [{name: X}]}}}]"
DEFAULT = "profiles: [{}]"
HANDLE = Handle(WaitingPods())


def announced(**values: str) -> list[EntryPoint]:
    return [EntryPoint(name, value, GROUP) for name, value in values.items()]


def parsed(text: str, found: Found) -> Config:
    return config.parse(HEAD + text, profiles.known(found), "own")


def test_nothing_is_announced_by_ourselves() -> None:
    """Ours are built in: an entry point would be a second way to them."""
    assert not discover().broken


def test_a_class_works_where_it_says() -> None:
    found = discover(announced(X=f"{HERE}:Decides", Y=f"{HERE}:Holds"))

    assert found.plugins["X"].points == {"filter", "score"}
    assert found.plugins["Y"].points == {"preEnqueue"}
    assert not found.broken


@pytest.mark.parametrize(
    "name", ["NodeName", "GPUScheduler", "PrioritySort", "DefaultBinder", "DynamicResources", "EBSLimits", "*"]
)
def test_a_name_that_is_built_in_is_refused(name: str) -> None:
    with pytest.raises(BadRequest, match="must not have the name of a plugin that is built in"):
        discover([EntryPoint(name, f"{HERE}:Holds", GROUP)])


def test_two_plugins_of_one_name_are_refused() -> None:
    with pytest.raises(BadRequest, match="must not have the name of another plugin"):
        discover([*announced(X=f"{HERE}:Holds"), *announced(X=f"{HERE}:Decides")])


@pytest.mark.parametrize(
    ("value", "why"),
    [
        ("no_such_module:X", "ModuleNotFoundError: No module named 'no_such_module'"),
        (f"{HERE}:NoSuchClass", "AttributeError: module"),
        (f"{HERE}:notes", "TypeError: must be a class, not function"),
        (f"{HERE}:Answers", "TypeError: must derive from an extension point of gpu_scheduler.extension_points"),
        ("gpu_scheduler.extension_points:PermitPlugin", "TypeError: must define permit"),
        ("tests.gpu_scheduler.test_discovery:WrongArgs", "TypeError: args must be a subclass of"),
    ],
)
def test_what_cannot_be_had_is_noted(value: str, why: str) -> None:
    found = discover(announced(X=value))

    assert found.broken["X"].startswith(f"{value}: {why}")
    assert "X" not in profiles.known(found).ours


class WrongArgs(FilterPlugin):
    """Takes a dictionary for args."""

    args = dict

    def filter(self, *_: object) -> None:
        return None


def test_a_broken_plugin_stops_only_a_configuration_that_enables_it() -> None:
    found = discover(announced(X="no_such_module:X"))

    assert parsed(DEFAULT, found).warnings == ()
    with pytest.raises(BadRequest, match=r"profiles\[0\].plugins.multiPoint.enabled\[0\].name.*cannot be imported"):
        parsed(ENABLED, found)


@pytest.mark.parametrize(
    "text",
    [
        "profiles: [{plugins: {multiPoint: {disabled: [{name: X}]}}}]",
        "profiles: [{pluginConfig: [{name: X, args: {a: 1}}]}]",
    ],
)
def test_a_broken_plugin_may_be_named_where_it_is_not_enabled(text: str) -> None:
    parsed(text, discover(announced(X="no_such_module:X")))


class Sized(Args, frozen=True):
    """Args of the tests' own."""

    most_gpus: int = 8


class Fussy(FilterPlugin):
    """Refuses to be made of small numbers."""

    args = Sized

    def __init__(self, args: Sized, handle: Handle) -> None:
        if args.most_gpus < 1:
            raise ValueError("most_gpus must be 1 or more")
        self.args_given, self.handle = args, handle

    def filter(self, *_: object) -> None:
        return None


def assemble(args: str) -> object:
    found = discover(announced(X="tests.gpu_scheduler.test_discovery:Fussy"))
    text = f"profiles: [{{plugins: {{filter: {{enabled: [{{name: X}}]}}}}, pluginConfig: [{{name: X, args: {args}}}]}}]"
    return profiles.assemble(parsed(text, found).profiles, found, HANDLE)["gpu-scheduler"].users["X"]


def test_a_plugin_is_made_with_its_args_and_the_handle() -> None:
    made = assemble("{mostGpus: 3}")

    assert isinstance(made, Fussy)
    assert (made.args_given.most_gpus, made.handle) == (3, HANDLE)


@pytest.mark.parametrize(
    ("args", "said"),
    [
        ("{mostGpus: some}", r"profiles\[0\].pluginConfig\[0\].args.mostGpus: .*must be a whole number"),
        ("{other: 1}", r"profiles\[0\].pluginConfig\[0\].args.other: .*unknown field; known: mostGpus"),
        ("{mostGpus: 0}", r'initializing plugin "X": ValueError: most_gpus must be 1 or more'),
    ],
)
def test_args_that_a_plugin_does_not_take_stop_the_start(args: str, said: str) -> None:
    with pytest.raises(BadRequest, match=said):
        assemble(args)


def test_a_point_where_a_class_does_not_work_is_refused() -> None:
    with pytest.raises(BadRequest, match="does not extend this point"):
        parsed("profiles: [{plugins: {score: {enabled: [{name: X}]}}}]", discover(announced(X=f"{HERE}:Holds")))


def check(site: Path, file: Path) -> "subprocess.CompletedProcess[str]":
    """Ask the verb, in a process that finds the packages of a directory."""
    code = f"import sys; sys.path.insert(0, {str(site)!r}); from cli.main import main; sys.exit(main())"
    command = [sys.executable, "-c", code, "config", "check", str(file), "-o", "json"]
    return subprocess.run(command, capture_output=True, text=True, timeout=60, check=False)


@pytest.fixture
def site(tmp_path: Path) -> Path:
    """The documented package, installed as its documented metadata says."""
    project = tomllib.loads(documented("toml"))["project"]["entry-points"][GROUP]
    return install(tmp_path / "site", "together", documented("python"), project)


def written(tmp_path: Path, **args: object) -> Path:
    found = yaml.safe_load(documented("yaml"))
    found["profiles"][0]["pluginConfig"][0]["args"] |= args
    file = tmp_path / "config.yaml"
    file.write_text(HEAD + yaml.safe_dump(found))
    return file


def test_the_documented_plugin_and_its_configuration_are_valid(site: Path, tmp_path: Path) -> None:
    answer = check(site, written(tmp_path))

    assert (answer.returncode, answer.stderr) == (0, "")
    assert json.loads(answer.stdout)["unknown_plugins"] == []


def test_without_its_package_a_plugin_is_somebody_elses(tmp_path: Path) -> None:
    answer = check(tmp_path, written(tmp_path))

    assert answer.returncode == 0
    assert json.loads(answer.stdout)["unknown_plugins"] == ["Together"]


def test_the_args_of_a_users_plugin_are_judged(site: Path, tmp_path: Path) -> None:
    answer = check(site, written(tmp_path, timeoutSeconds="long"))

    assert answer.returncode == 2
    [error] = json.loads(answer.stdout)["errors"]
    assert error.endswith('.args.timeoutSeconds: Invalid value: "long": must be a whole number')


def test_a_package_that_cannot_be_imported_is_told_of(tmp_path: Path) -> None:
    site = install(tmp_path / "site", "torn", "import no_such_module", {"Torn": "torn:Torn"})
    answer = check(site, written(tmp_path))

    assert answer.returncode == 0
    assert "plugin Torn cannot be imported: torn:Torn: ModuleNotFoundError" in answer.stderr


def test_a_clash_of_names_stops_the_verb(tmp_path: Path) -> None:
    site = install(tmp_path / "site", "clash", "", {"NodeName": "clash:X"})
    answer = check(site, written(tmp_path))

    assert (answer.returncode, answer.stdout) == (2, "")
    assert "must not have the name of a plugin that is built in" in answer.stderr


def test_the_documented_plugin_is_typed_as_strictly_as_we_are(tmp_path: Path) -> None:
    file = tmp_path / "together.py"
    file.write_text(documented("python"))
    root = Path(__file__).parents[2]
    command = [sys.executable, "-m", "mypy", "--config-file", str(root / "setup.cfg"), str(file)]
    answer = subprocess.run(command, capture_output=True, text=True, timeout=280, check=False, cwd=root)

    assert answer.returncode == 0, answer.stdout
