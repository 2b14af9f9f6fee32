"""The wire: what is read from an AdmissionReview, and what the answer looks like."""

import json
from typing import Any

import pytest

from tests.webhook.build import pod, review
from webhook import review as wire
from webhook.review import Decision, Unreadable

ALLOWED = Decision(True, "valid")


def read(body: Any) -> wire.Review:
    return wire.read(json.dumps(body).encode())


def answered(decision: Decision, **envelope: Any) -> Any:
    return json.loads(wire.answer(read({**review(pod()), **envelope}), decision))


@pytest.mark.parametrize(
    ("body", "stage"),
    [
        (b"", "decode"),
        (b"{", "decode"),
        (b"{}x", "decode"),
        (b"nonsense", "decode"),
        (b'{"request": {"uid": NaN}}', "decode"),
        (b'{"request": {"uid": "\xff"}}', "decode"),
        (b'{"request": {"uid": "\\ud800"}}', "decode"),
        (b'{"a":' * 2000 + b"1" + b"}" * 2000, "decode"),
        (b"null", "request"),
        (b"[]", "request"),
        (b"{}", "request"),
        (b'{"request": null}', "request"),
        (b'{"request": [1]}', "request"),
        (b'{"request": {}}', "uid"),
        (b'{"request": {"uid": null}}', "uid"),
        (b'{"request": {"uid": 5}}', "uid"),
        (b'{"request": {"uid": ""}}', "uid"),
        (b'{"request": {"uid": ["x"]}}', "uid"),
    ],
)
def test_body_without_a_request_to_answer_is_unreadable(body: bytes, stage: str) -> None:
    with pytest.raises(Unreadable) as caught:
        wire.read(body)

    assert caught.value.stage == stage


def test_last_of_duplicate_keys_wins_as_in_the_api_server() -> None:
    assert wire.read(b'{"request": {"uid": "a", "uid": "b"}}').uid == "b"


@pytest.mark.parametrize("wrong", [None, 5, [], {}, True, "x"])
def test_fields_of_wrong_types_read_as_absent(wrong: Any) -> None:
    fields = ("kind", "subResource", "operation", "namespace", "name", "object", "oldObject")
    request = {"uid": "u", **dict.fromkeys(fields, wrong)}

    asked = read({"request": request})

    assert asked.kind == ""
    assert asked.object is None
    assert asked.operation in ("", "x")


@pytest.mark.parametrize("uid", ["u", "0c3331b6-1812-11ea-b3fc-02897404852e", 'ünï\u2028"\\\n', "🦀" * 50])
def test_uid_is_echoed_byte_for_byte(uid: str) -> None:
    asked = read({"request": {"uid": uid}})

    assert json.loads(wire.answer(asked, ALLOWED))["response"]["uid"] == uid


@pytest.mark.parametrize("version", ["admission.k8s.io/v1", "admission.k8s.io/v1beta1"])
def test_answer_comes_in_the_version_of_the_request(version: str) -> None:
    answer = answered(ALLOWED, apiVersion=version)

    assert (answer["apiVersion"], answer["kind"]) == (version, "AdmissionReview")


@pytest.mark.parametrize("version", [None, 5, ""])
def test_without_a_version_the_answer_is_v1(version: Any) -> None:
    assert answered(ALLOWED, apiVersion=version)["apiVersion"] == "admission.k8s.io/v1"


def test_patch_and_patch_type_come_both_or_neither() -> None:
    with_patch = answered(Decision(True, "mutated", patch=({"op": "add", "path": "/x", "value": 1},)))
    without = answered(ALLOWED)

    assert with_patch["response"]["patchType"] == "JSONPatch"
    assert with_patch["response"]["auditAnnotations"]["decision"] == "mutated"
    assert not {"patch", "patchType"} & without["response"].keys()


def test_refusal_never_carries_a_patch() -> None:
    refused = answered(Decision(False, "invalid", "no", patch=({"op": "add", "path": "/x", "value": 1},)))

    assert not {"patch", "patchType"} & refused["response"].keys()


def test_warnings_are_printable_short_and_said_once() -> None:
    warnings = answered(Decision(True, "valid", warnings=("a\nb\x00\u2028c", "a\nb\x00\u2028c", "x" * 999)))[
        "response"
    ]["warnings"]

    assert warnings[0] == "a b  c"
    assert [len(warning) for warning in warnings] == [6, 256]


def test_long_message_is_cut() -> None:
    assert len(answered(Decision(False, "invalid", "x" * 99999))["response"]["status"]["message"]) == 8192
