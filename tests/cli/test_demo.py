"""The demo goes through the real webhook application and the real decision; its table is what a newcomer sees first."""

from pathlib import Path

import pytest

from cli.main import main

POD = """
apiVersion: v1
kind: Pod
metadata: {{name: one, annotations: {{gpu.nvidia.com/model: {model}}}}}
spec: {{containers: [{{name: c, image: i, resources: {{limits: {{nvidia.com/gpu: 1}}}}}}]}}
"""


def lines(text: str) -> dict[str, list[str]]:
    """The words of each line by its first one."""
    return {words[0]: words[1:] for words in map(str.split, text.splitlines()) if len(words) > 2}


def test_every_pod_of_the_example_is_placed_refused_or_explained(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["demo"]) == 0
    said = lines(capsys.readouterr().out)
    assert said["finetune-0"][:3] == ["admitted", "dgx-a100", "8"]
    assert said["notebook"][:4] == ["admitted", "a100-mig", "1", "mig-1g.5gb"]
    assert said["render"][0] == "refused"
    assert said["web"][:3] == ["left", "to", "default-scheduler"]
    assert said["eks-h100"] == ["H100", "81559", "8", "0"]


def test_a_pending_pod_gets_kube_schedulers_sentence(capsys: pytest.CaptureFixture[str]) -> None:
    main(["demo"])
    out = capsys.readouterr().out
    assert "pending: 0/7 nodes are available: 1 Node does not have GPU, 1 node(s) had untolerated taint(s), 5" in out
    assert "0/7 nodes are available: metadata.annotations[gpu.nvidia.com/fraction] is not supported" in out


@pytest.mark.parametrize(("model", "verdict"), [("T4", "admitted"), ("T5", "refused")])
def test_an_own_workload_can_be_tried(
    model: str, verdict: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    file = tmp_path / "workload.yaml"
    file.write_text(POD.format(model=model))
    assert main(["demo", "--workload", str(file)]) == 0
    assert lines(capsys.readouterr().out)["one"][0] == verdict
