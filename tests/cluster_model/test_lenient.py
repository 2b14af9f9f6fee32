"""Hand-written data: what fits is kept, what an API server would refuse is noted, nothing crashes."""

from typing import Any

import msgspec
import pytest
from hypothesis import given
from hypothesis import strategies as st

from cluster_model import lenient, objects

scalars = st.none() | st.booleans() | st.integers() | st.floats() | st.text(max_size=5)
anything = st.recursive(
    scalars, lambda inner: st.lists(inner, max_size=3) | st.dictionaries(scalars, inner, max_size=3)
)


def read(document: Any) -> tuple[objects.Pod, tuple[str, ...]]:
    return lenient.convert(document, objects.Pod)


def labelled(value: Any) -> tuple[objects.Labels, tuple[str, ...]]:
    pod, notes = read({"metadata": {"labels": {"a": value}}})
    return pod.metadata.labels, notes


def test_what_a_server_would_take_is_read_without_a_note() -> None:
    document = {"metadata": {"name": "p"}, "spec": {"containers": [{"ports": [{"hostIP": "::1", "hostPort": 5}]}]}}
    pod, notes = read(document)
    assert (pod.metadata.name, pod.spec.containers[0].ports[0].host_ip, notes) == ("p", "::1", ())


def test_null_is_the_zero_value_as_in_go() -> None:
    document = {
        "metadata": None,
        "spec": {"containers": [None, {"resources": {"limits": {"cpu": None}}}], "overhead": None},
    }
    pod, notes = read(document)
    assert [one.resources.limits for one in pod.spec.containers] == [{}, {"cpu": 0}]
    assert (labelled(None), notes) == (({"a": ""}, ()), ())


@pytest.mark.parametrize(("value", "text"), [(4, "4"), (1.5, "1.5"), (True, "true"), (False, "false"), (-1, "-1")])
def test_a_plain_value_where_text_belongs_is_read_as_text_and_noted(value: Any, text: str) -> None:
    assert labelled(value) == ({"a": text}, ("api-rejects: metadata.labels[a] must be a string",))


@pytest.mark.parametrize("value", [[], {}, ["a"], float("nan"), 10**30])
def test_what_cannot_be_text_is_left_out_and_noted(value: Any) -> None:
    assert labelled(value) == ({}, ("api-rejects: metadata.labels[a] must be a string",))


@pytest.mark.parametrize(
    ("spec", "note"),
    [
        ({"containers": {}}, "spec.containers must be a list"),
        ({"containers": ["x"]}, "spec.containers[0] must be a mapping"),
        ({"nodeSelector": []}, "spec.nodeSelector must be a mapping"),
        ({"hostNetwork": "yes"}, "spec.hostNetwork must be true or false"),
        ({"hostUsers": []}, "spec.hostUsers must be true or false"),
        ({"priority": "high"}, "spec.priority must be an integer"),
        ({"priority": 2**70}, "spec.priority must be an integer"),
        ({"affinity": {"nodeAffinity": 5}}, "spec.affinity.nodeAffinity must be a mapping"),
    ],
)
def test_what_does_not_fit_is_left_out_and_noted_with_its_path(spec: dict[str, Any], note: str) -> None:
    pod, notes = read({"spec": spec})
    assert (pod.spec, notes) == (objects.PodSpec(), (f"api-rejects: {note}",))


def test_digits_in_quotes_are_read_as_a_number_and_noted() -> None:
    pod, notes = read({"spec": {"priority": "7"}})
    assert (pod.spec.priority, notes) == (7, ("api-rejects: spec.priority must be an integer",))


@pytest.mark.parametrize(
    ("given", "kept"),
    [(" 1 ", "1"), (0.5, 0.5), (1, 1), (2**64, 2**63 - 1), (10**400, 2**63 - 1), (-(10**400), -(2**63))],
)
def test_amounts_are_kept_as_written_and_huge_ones_stay_within_int64(given: Any, kept: Any) -> None:
    pod, notes = read({"spec": {"overhead": {"cpu": given}}})
    assert (pod.spec.overhead, notes) == ({"cpu": kept}, ())


@pytest.mark.parametrize(("given", "kept"), [(True, "true"), (float("inf"), ""), ([1], ""), ({"a": 1}, "")])
def test_what_is_no_amount_is_noted_and_left_unreadable_instead_of_absent(given: Any, kept: str) -> None:
    pod, notes = read({"spec": {"overhead": {"cpu": given}}})
    assert (pod.spec.overhead, notes) == ({"cpu": kept}, ("api-rejects: spec.overhead[cpu] must be a quantity",))


@given(st.fixed_dictionaries({}, optional={"metadata": anything, "spec": anything}) | anything)
def test_any_document_is_read(document: Any) -> None:
    assert isinstance(read(document)[0], objects.Pod)


@given(st.dictionaries(st.sampled_from([one.encode_name for one in msgspec.structs.fields(objects.PodSpec)]), anything))
def test_any_content_of_a_spec_is_read(spec: dict[str, Any]) -> None:
    assert isinstance(read({"spec": spec})[0], objects.Pod)
