"""The verb `read`: one JSON object on standard output, or exit 2 with the file and the reason."""

import json
import subprocess
import sys
from pathlib import Path

import pytest

from cli import main

POD = "kind: Pod\nspec: {containers: [{name: c, resources: {limits: {nvidia.com/gpu: 2}}}]}\n"
NODE = "kind: Node\nmetadata: {labels: {nvidia.com/gpu.product: Tesla-T4}}\n"


def run(*words: str) -> int:
    return main.main(["read", *words])


def test_a_pod_is_printed_as_one_json_object(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    file = tmp_path / "pod.yaml"
    file.write_text(POD)
    assert run("pod", str(file)) == 0
    assert json.loads(capsys.readouterr().out)["gpus"] == 2


def test_a_node_is_printed_too_and_the_last_object_counts(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    file = tmp_path / "node.yaml"
    file.write_text(f"{POD}---\n{NODE}")
    assert run("node", str(file)) == 0
    assert json.loads(capsys.readouterr().out)["model"] == "T4"


def test_a_dash_reads_standard_input() -> None:
    command = [sys.executable, "-c", "import sys; from cli.main import main; sys.exit(main())", "read", "pod", "-"]
    done = subprocess.run(command, input=POD, capture_output=True, text=True, check=True)
    assert json.loads(done.stdout)["resources"] == {"nvidia.com/gpu": 2}


@pytest.mark.parametrize(
    ("kind", "content", "reason"),
    [
        ("pod", "kind: Service\nspec: {}\n", 'kind: Invalid value: "Service": must be a kind with one pod template'),
        ("pod", "a: [1\n", "while parsing a flow sequence"),
        ("pod", "", "must hold a workload"),
        ("pod", "just text\n", "must be a mapping"),
        ("node", "", "must hold a Node"),
        ("node", POD, 'kind: Invalid value: "Pod": must be Node'),
    ],
)
def test_what_cannot_be_read_exits_with_2_the_file_and_the_reason(
    kind: str, content: str, reason: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    file = tmp_path / "input.yaml"
    file.write_text(content)
    assert run(kind, str(file)) == 2
    out, err = capsys.readouterr()
    assert (out, err.startswith(f"gpu-scheduler read: {file}: "), reason in err) == ("", True, True)


def test_a_missing_file_or_a_folder_is_refused_with_the_systems_reason(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert (run("pod", str(tmp_path / "none")), run("pod", str(tmp_path))) == (2, 2)
    err = capsys.readouterr().err
    assert "No such file or directory" in err
    assert "Is a directory" in err


@pytest.mark.parametrize("words", [[], ["pod"], ["gpu", "x"]])
def test_bad_usage_exits_with_2(words: list[str], capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(SystemExit) as caught:
        run(*words)
    assert caught.value.code == 2
    assert "usage: gpu-scheduler read" in capsys.readouterr().err
