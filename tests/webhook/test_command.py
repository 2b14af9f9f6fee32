"""`gpu-scheduler webhook`: bad configuration ends it with status 2, a message, and nothing started."""

from pathlib import Path

import pytest

from cli.main import main
from tests.webhook import certificates


def refused(capsys: pytest.CaptureFixture[str], *arguments: str) -> str:
    """Run the verb with arguments that it must refuse; return what it says."""
    assert main(["webhook", *arguments]) == 2
    return capsys.readouterr().err


def test_bad_configuration_is_refused_with_path_and_rule(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    (tmp_path / "webhook.yaml").write_text("scope: all\n")

    message = refused(capsys, f"--config={tmp_path / 'webhook.yaml'}")

    assert message.startswith('gpu-scheduler webhook: scope: Invalid value: "all": ')


def test_missing_configuration_is_refused(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert "--config: Invalid value: " in refused(capsys, f"--config={tmp_path / 'absent.yaml'}")


def test_missing_key_pair_is_refused(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert "--tls-dir: Invalid value: " in refused(capsys, f"--tls-dir={tmp_path}")


def test_key_that_does_not_match_is_refused(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    certificates.publish(tmp_path, certificates.issue()[0], certificates.issue()[1])

    assert "KEY_VALUES_MISMATCH" in refused(capsys, f"--tls-dir={tmp_path}").upper().replace(" ", "_")


@pytest.mark.parametrize("option", ["--bind", "--probe-bind"])
def test_malformed_address_is_refused(option: str, capsys: pytest.CaptureFixture[str]) -> None:
    assert f'{option}: Invalid value: "here"' in refused(capsys, f"{option}=here")
