"""Every container's arguments, read by the command's own parser."""

from __future__ import annotations

import argparse
import importlib

import pytest

from cli.main import VERBS
from tests.manifests.rendering import Json, only, overlay, pods


def container(name: str) -> Json:
    """The first container of that name; the two that handle certificates are equal."""
    return next(one for _, spec in pods(overlay("eks")) for one in spec["containers"] if one["name"] == name)


def parsed(name: str) -> argparse.Namespace:
    verb, *words = container(name)["args"]
    parser = argparse.ArgumentParser(exit_on_error=False)
    importlib.import_module(VERBS[verb][0]).add_arguments(parser)
    return parser.parse_args(words)


@pytest.mark.parametrize("name", ["scheduler", "webhook", "deletion-cost", "certs"])
def test_command_knows_its_arguments(name: str) -> None:
    assert parsed(name)


def test_files_named_in_arguments_are_mounted() -> None:
    for name in ("scheduler", "webhook", "deletion-cost"):
        folder = str(parsed(name).config.parent)
        assert folder in [mount["mountPath"] for mount in container(name)["volumeMounts"]]


def test_webhook_reads_its_certificates_where_they_are_mounted_and_listens_where_it_is_probed() -> None:
    webhook = parsed("webhook")
    ports = {port["name"]: port["containerPort"] for port in container("webhook")["ports"]}

    assert str(webhook.tls_dir) in [mount["mountPath"] for mount in container("webhook")["volumeMounts"]]
    assert webhook.bind.endswith(f":{ports['https']}")
    assert webhook.probe_bind.endswith(f":{ports['health']}")


@pytest.mark.parametrize("name", ["scheduler", "deletion-cost"])
def test_controllers_listen_where_they_are_probed(name: str) -> None:
    [port] = container(name)["ports"]
    assert (parsed(name).port, port["name"]) == (port["containerPort"], "health")


def test_certificates_are_for_the_webhooks_service_and_configurations() -> None:
    certs, objects = parsed("certs"), overlay("eks")
    service, configuration = only(objects, "Service")["metadata"], only(objects, "ValidatingWebhookConfiguration")

    assert (certs.service, certs.namespace) == (service["name"], service["namespace"])
    assert certs.webhook_configuration == [configuration["metadata"]["name"]]
