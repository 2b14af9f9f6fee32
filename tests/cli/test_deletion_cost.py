"""The verb `deletion-cost`: bad configuration ends it before anything is started."""

from pathlib import Path

import pytest

from cli import main
from tests.kube_client.fake_api import kubeconfig


def refused(folder: Path, text: str, capsys: pytest.CaptureFixture[str]) -> str:
    """Run with a configuration and an API server that is not there; give what is said."""
    file = folder / "config.yaml"
    file.write_text(text)
    options = ["--config", str(file), "--kubeconfig", str(kubeconfig(folder, "http://127.0.0.1:9")), "--port", "0"]
    assert main.main(["deletion-cost", *options]) == 2
    return capsys.readouterr().err.removeprefix("gpu-scheduler deletion-cost: ")


def test_every_problem_is_told_with_path_and_value(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert refused(tmp_path, "pollSecond: 5", capsys).startswith("pollSecond: Invalid value: 5: unknown key, known are")


def test_a_certificate_that_is_not_there_is_told(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    url, file = "https://prometheus.example", tmp_path / "absent.crt"
    said = refused(tmp_path, f"sources: {{prometheus: {{url: '{url}', caFile: '{file}'}}}}", capsys)
    assert said.startswith(f'sources.prometheus: Invalid value: "{url}": must name files with certificates')


def test_a_file_that_is_not_there_is_told(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert main.main(["deletion-cost", "--config", str(tmp_path / "none.yaml")]) == 2
    assert "must be a readable file" in capsys.readouterr().err


def test_credentials_that_are_not_there_are_told(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert main.main(["deletion-cost", "--kubeconfig", str(tmp_path / "none"), "--port", "0"]) == 2
    assert capsys.readouterr().err.startswith("gpu-scheduler deletion-cost: ")
