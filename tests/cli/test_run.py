"""The verb `run`: bad configuration ends it before anything is started."""

from pathlib import Path

import pytest

from cli import in_pod, main

HEAD = "apiVersion: kubescheduler.config.k8s.io/v1\nkind: KubeSchedulerConfiguration\n"


def refused(tmp_path: Path, text: str, capsys: pytest.CaptureFixture[str]) -> str:
    """Run with a configuration and a kubeconfig that must not be touched; give what is said."""
    file = tmp_path / "config.yaml"
    file.write_text(HEAD + text)
    assert main.main(["run", "--config", str(file), "--kubeconfig", str(tmp_path / "none"), "--port", "0"]) == 2
    said = capsys.readouterr()
    assert said.out == ""
    return said.err.replace(str(file), "config.yaml")


def test_a_broken_rule_is_told_with_path_and_value(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    said = refused(tmp_path, "parallelism: 0\n", capsys)

    assert said == "config.yaml: parallelism: Invalid value: 0: should be an integer value greater than zero\n"


def test_an_unknown_argument_of_a_plugin_is_told_with_the_known_ones(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    said = refused(tmp_path, "profiles: [{pluginConfig: [{name: GPUTopologyPlugin, args: {cound: free}}]}]\n", capsys)

    assert said.startswith("config.yaml: profiles[0].pluginConfig[0].args.cound: Invalid value: ")
    assert "known: count" in said


def test_every_problem_is_a_line(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert (
        len(refused(tmp_path, "parallelism: 0\nunknown: 1\npodInitialBackoffSeconds: -1\n", capsys).splitlines()) == 3
    )


def test_a_file_that_is_not_there_is_told(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert main.main(["run", "--config", str(tmp_path / "none.yaml")]) == 2
    assert "must be a readable file" in capsys.readouterr().err


def test_the_own_namespace_is_the_pods(tmp_path: Path) -> None:
    (tmp_path / "namespace").write_text("there\n")

    assert in_pod.own_namespace(tmp_path / "namespace") == "there"
    assert in_pod.own_namespace(tmp_path / "none") == "gpu-scheduler"
