"""Files are read as Kubernetes' own tools read them, and what cannot be read is refused with a reason."""

from typing import Any

import pytest
import yaml
from hypothesis import given
from hypothesis import strategies as st

from cli import documents


def value(text: str) -> Any:
    (document,) = documents.load(f"a: {text}\n".encode())
    return document["a"]


@pytest.mark.parametrize(
    ("text", "wanted"),
    [
        ("1", 1),
        ("0x10", 16),
        ("010", 8),
        ("0o10", 8),
        ("0b11", 3),
        ("1_000", 1000),
        ("09", 9.0),
        ("1.5", 1.5),
        (".5", 0.5),
        ("1e3", 1000.0),
        ("1E-3", 0.001),
        ("-2", -2),
        ("true", True),
        ("no", False),
        ("~", None),
        ("", None),
        ("2024-01-31", "2024-01-31"),
        ("2024-01-31T10:00:00Z", "2024-01-31T10:00:00Z"),
        ("12:30:45", "12:30:45"),
        ("40Gi", "40Gi"),
        ("'1'", "1"),
        ("1.2.3", "1.2.3"),
        ("=", "="),
        (".", "."),
        ("+", "+"),
    ],
)
def test_plain_values_mean_what_they_mean_to_kubernetes(text: str, wanted: Any) -> None:
    assert (value(text), type(value(text))) == (wanted, type(wanted))


@pytest.mark.parametrize(
    ("text", "found"),
    [
        ("a: 1\n---\n---\nb: 2\n", [{"a": 1}, None, {"b": 2}]),
        ("---\na: 1\n", [{"a": 1}]),
        ("\ufeffa: 1\n", [{"a": 1}]),
        ('{"a": 1}', [{"a": 1}]),
        ('{"a":\t1}\n{"b": 2}\n', [{"a": 1}, {"b": 2}]),
        ("{a: 1}", [{"a": 1}]),
        ("[1, 2]", [[1, 2]]),
        ("a: &x {b: 1}\nc: {<<: *x, d: 2}\n", [{"a": {"b": 1}, "c": {"b": 1, "d": 2}}]),
        ("", []),
        ("# only a comment\n", []),
    ],
)
def test_all_documents_of_a_file_are_found(text: str, found: list[Any]) -> None:
    assert documents.load(text.encode()) == found


@pytest.mark.skipif(not yaml.__with_libyaml__, reason="PyYAML was built without libyaml")
@pytest.mark.parametrize(
    "text", ["a:\t1\n", "a: 1\t# one\n", "a: 1\t\n", "# said\n{\n\t'a':\t1\n}\n", "a: [\t1,\t2\t]\n"]
)
def test_tabs_between_words_are_blanks_as_in_kubectl(text: str) -> None:
    (document,) = documents.load(text.encode())
    assert document["a"] in (1, [1, 2])


@pytest.mark.parametrize(
    "data",
    [
        b"a: [1",
        b"a: b: c",
        b"\tb: 1",
        b"a: *nowhere",
        b"a: !!python/object:os.system x",
        b"a: !!timestamp x",
        b"a: !!binary x",
        b"a: !!bool maybe",
        b"a: !!int ''",
        b"a: !Sub x",
        b"? [a]\n: b",
        b"a: \xff",
        b"a: \x00",
        b"[" * 20000,
        b'{"a":' * 20000,
        b"a: " + b"9" * 5000,
        b'{"a": ' + b"9" * 5000 + b"}",
        b"{{ .Values.gpu }}: 1",
    ],
    ids=lambda data: repr(data[:20]),
)
def test_unreadable_text_is_malformed_with_a_reason_on_one_line(data: bytes) -> None:
    with pytest.raises(documents.Malformed) as caught:
        documents.load(data)
    assert str(caught.value)
    assert "\n" not in str(caught.value)


def test_the_reason_gives_the_place_in_the_text() -> None:
    with pytest.raises(documents.Malformed, match=r"at line 2, column \d+") as caught:
        documents.load(b"a: 1\nb: c: d\n")
    assert "unicode string" not in str(caught.value)


@given(st.binary(max_size=60) | st.text(max_size=60).map(lambda text: text.encode("utf-8", "surrogatepass")))
def test_any_bytes_are_read_or_malformed(data: bytes) -> None:
    try:
        assert isinstance(documents.load(data), list)
    except documents.Malformed:
        return
