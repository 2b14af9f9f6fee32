"""The verb `run`, as far as it gets without an API server: what it says of a configuration that it accepts."""

import subprocess
import sys
from pathlib import Path

import pytest

from tests.cli.test_run import HEAD


@pytest.fixture
def said(tmp_path: Path) -> subprocess.CompletedProcess[str]:
    """Run with a field that has no effect and a kubeconfig that is not there."""
    file = tmp_path / "config.yaml"
    file.write_text(f"{HEAD}parallelism: 8\n")
    program = str(Path(sys.executable).with_name("gpu-scheduler"))
    command = [program, "run", "--config", str(file), "--kubeconfig", str(tmp_path / "no")]
    return subprocess.run(command, capture_output=True, text=True, check=False)


def test_a_field_without_effect_is_named_in_the_log(said: subprocess.CompletedProcess[str]) -> None:
    assert 'level=warning msg="configuration remark" text="parallelism: no effect' in said.stderr


def test_a_kubeconfig_that_is_not_there_ends_with_a_line_and_2(said: subprocess.CompletedProcess[str]) -> None:
    assert said.returncode == 2
    assert said.stderr.splitlines()[-1].startswith("gpu-scheduler run: kubeconfig: Not found: ")
    assert "Traceback" not in said.stderr
