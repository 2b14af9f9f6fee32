"""The verb `config check`: kube-scheduler's verdict on a file as one JSON object, 0 for a valid one and else 2."""

import json
import re
from pathlib import Path
from typing import Any

import pytest

from cli import main

CASES = Path(__file__).parents[2].parent / "shared" / "cases" / "scheduler_configs"
HEAD = "apiVersion: kubescheduler.config.k8s.io/v1\nkind: KubeSchedulerConfiguration\n"


def check(file: Path, capsys: pytest.CaptureFixture[str]) -> tuple[int, dict[str, Any]]:
    status = main.main(["config", "check", str(file), "-o", "json"])
    return status, json.loads(capsys.readouterr().out)


def written(tmp_path: Path, text: str) -> Path:
    file = tmp_path / "config.yaml"
    file.write_text(text)
    return file


def test_a_valid_file_is_told_with_its_profiles(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    found = check(written(tmp_path, f"{HEAD}profiles: [{{schedulerName: a}}, {{schedulerName: b}}]"), capsys)

    assert found == (0, {"valid": True, "errors": [], "profiles": ["a", "b"], "unknown_plugins": []})


def test_a_profile_without_a_name_is_the_default_scheduler(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert check(written(tmp_path, HEAD), capsys)[1]["profiles"] == ["default-scheduler"]


def test_each_error_is_one_of_the_list(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    status, found = check(written(tmp_path, f"{HEAD}parallelism: 0\npercentageOfNodesToScore: 101"), capsys)

    assert (status, found["valid"]) == (2, False)
    assert found["errors"] == [
        "parallelism: Invalid value: 0: should be an integer value greater than zero",
        "percentageOfNodesToScore: Invalid value: 101: not in valid range [0-100]",
    ]


def test_plugins_of_others_are_named_and_accepted(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    plugins = (
        "{multiPoint: {enabled: [{name: Mine}]}, bind: {enabled: [{name: Other}]}, filter: {enabled: [{name: A}]}}"
    )
    found = check(written(tmp_path, f"{HEAD}profiles: [{{plugins: {plugins}}}]"), capsys)

    assert found[0] == 0
    assert found[1]["unknown_plugins"] == ["A", "Other", "Mine"]


def test_our_own_plugins_work_only_at_their_points(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    plugins = "{bind: {enabled: [{name: GPUScheduler}]}}"
    status, found = check(written(tmp_path, f"{HEAD}profiles: [{{plugins: {plugins}}}]"), capsys)

    assert (status, found["unknown_plugins"]) == (2, [])
    assert 'plugin "GPUScheduler" does not extend BindPlugin plugin' in found["errors"][0]


def test_args_of_our_own_plugins_are_judged(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    profile = (
        "{plugins: {score: {enabled: [{name: GPUTopologyPlugin}]}}, pluginConfig: [{name: GPUTopologyPlugin, args: A}]}"
    )
    good = check(written(tmp_path, f"{HEAD}profiles: [{profile.replace('A}', '{count: total}}')}]"), capsys)
    bad = check(written(tmp_path, f"{HEAD}profiles: [{profile.replace('A}', '{count: some}}')}]"), capsys)

    assert (good[0], bad[0]) == (0, 2)
    assert "pluginConfig[0].args.count: Invalid value: " in bad[1]["errors"][0]


def test_without_json_a_line_says_what_is_wrong(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    file = written(tmp_path, f"{HEAD}x: 1")

    assert main.main(["config", "check", str(file)]) == 2
    assert capsys.readouterr().out == f'{file}: strict decoding error: unknown field "x"\n'


def test_a_file_that_cannot_be_read_is_told(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    binary = tmp_path / "binary"
    binary.write_bytes(b"a: \xff")

    assert [main.main(["config", "check", str(file)]) for file in (tmp_path / "none", binary)] == [2, 2]
    assert "not UTF-8 at byte 3" in capsys.readouterr().err
    assert check(binary, capsys) == (
        2,
        {"valid": False, "errors": ["not UTF-8 at byte 3"], "profiles": [], "unknown_plugins": []},
    )


def test_public_files_are_judged_as_the_schedulers_of_their_time_do(capsys: pytest.CaptureFixture[str]) -> None:
    if not CASES.is_dir():
        pytest.skip("the collection of public files is not beside this checkout")
    wrong = []
    for file in sorted(CASES.glob("*.yaml")):
        expected = file.read_text(encoding="utf-8").partition("# expect: ")[2].partition("\n")[0]
        status, found = check(file, capsys)
        valid = expected.startswith("valid")
        profiles = (re.search(r"profiles=(\S+)", expected) or [""])[0].removeprefix("profiles=").split(",")
        others = re.findall(r"out-of-tree:([\w+-]+)", expected)
        right = (status, found["valid"]) == (0 if valid else 2, valid)
        right &= not valid or (sorted(found["profiles"]) == sorted(profiles))
        right &= not valid or set("+".join(others).split("+")) - {""} <= set(found["unknown_plugins"])
        wrong += [] if right else [(file.name, expected, found)]
    assert wrong == []
