"""The controller's configuration: defaults, strictness, and errors that say where and what."""

import pytest

from cluster_model.verdict import BadRequest
from deletion_cost import config
from deletion_cost.config import Config


def refusal(text: str) -> list[str]:
    with pytest.raises(BadRequest) as caught:
        config.read(text)
    return [str(problem) for problem in caught.value.problems]


def test_empty_configuration_is_the_default_one() -> None:
    assert config.read("") == config.read("{}") == Config()


def test_nested_keys_are_set_and_the_rest_keeps_its_default() -> None:
    read = config.read('pollSeconds: 0.5\npolicy: {mode: all, victims: "3"}\nbudget: {writesPerSecond: 50}')
    assert (read.poll_seconds, read.policy.mode, read.policy.victims) == (0.5, "all", "3")
    assert (read.budget.writes_per_second, read.budget.burst) == (50, 10)


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("pollSeconds: 0", "pollSeconds: Invalid value: 0: expected `float` > 0.0"),
        ("budget: {writes: 1}", "budget.writes: Invalid value: 1: unknown key, known are burst, "),
        ("warming: {cost: -49}", "warming.cost: Invalid value: -49: expected `int` <= -50"),
        ('policy: {victims: "101%"}', 'policy.victims: Invalid value: "101%": must be a share such as "20%" or'),
        ("policy: {source: prometheus}", 'policy.source: Invalid value: "prometheus": is not configured'),
        ("policy: {path: load}", 'policy.path: Invalid value: "load": must begin with /'),
        ("leaderElection: {retrySeconds: 9}", "leaderElection.retrySeconds: Invalid value: 9.0: 1.2 times it must be"),
        ("leaderElection: {leaseSeconds: 10}", "leaderElection.renewDeadlineSeconds: Invalid value: 10: must be sh"),
        ("load: {cap: 5000}", "load.cap: Invalid value: 5000: expected `int` <= 1000"),
        ("a: [", "configuration: Invalid value: "),
        ("[]", "configuration: Invalid value: []: must be a mapping"),
    ],
)
def test_what_is_wrong_is_named_with_its_path(text: str, said: str) -> None:
    assert refusal(text)[0].startswith(said)


def test_prometheus_can_be_chosen_once_its_address_is_known() -> None:
    read = config.read(
        'policy: {source: prometheus, query: up}\nsources: {prometheus: {url: "http://prometheus:9090"}}'
    )
    assert "prometheus" in config.configured(read.sources)
