import subprocess
import sys
from pathlib import Path

import pytest

from cli import main
from tests.kube_client.fake_api import kubeconfig

COMMON = ["certs", "ensure", "--namespace=ns", "--service=svc"]


def test_a_directory_alone_will_do(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert main.main([*COMMON, f"--output-dir={tmp_path}"]) == 0
    before = (tmp_path / "tls.crt").read_bytes()
    assert main.main([*COMMON, f"--output-dir={tmp_path}"]) == 0
    assert (tmp_path / "tls.crt").read_bytes() == before
    assert "certificates are in order, next due " in capsys.readouterr().out


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ([], "one of --secret and --output-dir: Required value"),
        (["--secret=s", "--webhook-configuration=x/y"], "must be NAME, mutating/NAME or validating/NAME"),
        (["--output-dir=x", "--validity-days=400"], "CA validity: must be at least twice"),
        (["--secret=s", "--kubeconfig=nowhere"], 'kubeconfig: Not found: "nowhere"'),
    ],
)
def test_bad_options_exit_2_with_the_rule(
    arguments: list[str], message: str, capsys: pytest.CaptureFixture[str]
) -> None:
    assert main.main([*COMMON, *arguments]) == 2
    assert message in capsys.readouterr().err


def test_an_unreachable_api_server_exits_1(tmp_path: Path) -> None:
    config = kubeconfig(tmp_path, "http://127.0.0.1:1")
    code = "import sys; from cli import main; sys.exit(main.main(sys.argv[1:]))"
    command = [sys.executable, "-c", code, *COMMON, "--secret=s", f"--kubeconfig={config}"]
    done = subprocess.run(command, capture_output=True, text=True)
    assert done.returncode == 1
    assert "gpu-scheduler certs: ClientConnectorError" in done.stderr
    assert "Traceback" not in done.stderr
