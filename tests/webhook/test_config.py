"""The configuration: defaults, strictness, and errors that say where and what."""

import pytest

from cluster_model.verdict import BadRequest
from webhook import config
from webhook.config import Config


def refusal(text: str) -> list[str]:
    with pytest.raises(BadRequest) as caught:
        config.read(text)
    return [str(problem) for problem in caught.value.problems]


@pytest.mark.parametrize("text", ["", "{}", "# nothing\n", "---\n"])
def test_empty_configuration_is_the_default_one(text: str) -> None:
    assert config.read(text) == Config()


def test_every_key_can_be_set() -> None:
    text = """
    schedulerName: mine
    initialDeletionCost: "-7"
    scope: gpu
    namespace: gpus
    leftAlone: {namespaces: [kube-system], labels: {team: infra}}
    models: {extra: [Z9], allowUnknown: true}
    validation: {unreadable: Allow, failure: Deny}
    server: {workers: 1, threads: 4, keepaliveSeconds: 100, gracefulSeconds: 5, timeoutSeconds: 9, bodyLimitMib: 1}
    logLevel: debug
    """

    read = config.read(text)

    assert (read.scheduler_name, read.initial_deletion_cost, read.scope, read.log_level) == ("mine", -7, "gpu", "debug")
    assert read.left_alone == config.LeftAlone(("kube-system",), {"team": "infra"})
    assert read.models == config.Models(("Z9",), True)
    assert read.validation == config.Validation("Allow", "Deny")
    assert read.server == config.Server(1, 4, 100, 5, 9, 1)


@pytest.mark.parametrize(
    ("text", "expected"), [("-50", -50), ('"-50"', -50), ("0", 0), ("2147483647", 2147483647), ("null", None)]
)
def test_deletion_cost_is_a_number_or_its_text_or_none(text: str, expected: int | None) -> None:
    assert config.read(f"initialDeletionCost: {text}").initial_deletion_cost == expected


@pytest.mark.parametrize(
    "text", ["2147483648", '"2147483648"', '"+5"', '"007"', '"1e3"', "1.5", "true", '""', '"-"', '"٣"', "[]"]
)
def test_deletion_cost_that_the_api_server_would_refuse_is_refused(text: str) -> None:
    (problem,) = refusal(f"initialDeletionCost: {text}")

    assert problem.startswith("initialDeletionCost: Invalid value: ")


def test_unknown_key_lists_the_known_ones() -> None:
    assert refusal("models: {extras: [Z9]}") == [
        "models.extras: Invalid value: ['Z9']: unknown key, known are allowUnknown, extra"
    ]
    assert refusal("scheduler_name: x")[0].startswith(
        'scheduler_name: Invalid value: "x": unknown key, known are initialDeletionCost, leftAlone'
    )


@pytest.mark.parametrize(
    ("text", "start"),
    [
        ("scope: all", 'scope: Invalid value: "all": '),
        ("schedulerName: ''", 'schedulerName: Invalid value: "": '),
        ("server: {workers: 0}", "server.workers: Invalid value: 0: "),
        ("server: {threads: many}", 'server.threads: Invalid value: "many": '),
        ("leftAlone: {namespaces: kube-system}", 'leftAlone.namespaces: Invalid value: "kube-system": '),
        ("models: []", "models: Invalid value: []: "),
        ("- a", "configuration: Invalid value: ['a']: must be a mapping"),
        ("{", "configuration: Invalid value: "),
        ("!!python/object:os.system {}", "configuration: Invalid value: "),
        ("[" * 1500, "configuration: Invalid value: "),
    ],
)
def test_bad_value_is_refused_with_its_path(text: str, start: str) -> None:
    assert refusal(text)[0].startswith(start)
