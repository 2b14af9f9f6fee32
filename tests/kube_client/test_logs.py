"""Log lines: one line each, a constant message, pairs that stay pairs."""

import logging
import sys

import pytest

from kube_client.logs import KeyValue, quoted


def line(message: str, *values: object, error: bool = False) -> str:
    record = logging.LogRecord("x", logging.INFO, "f", 1, message, values, None)
    if error:
        try:
            raise ValueError("line one\nline two")
        except ValueError:
            record.exc_info = sys.exc_info()
    return KeyValue().format(record)


def test_a_line_has_time_level_message_and_the_pairs() -> None:
    said = line("pod assigned pod=%s/%s ms=%.2f", "ns", "p", 0.5)

    assert said.startswith("time=20")
    assert said.endswith(' level=info msg="pod assigned" pod=ns/p ms=0.50')


@pytest.mark.parametrize(
    ("value", "said"),
    [("plain", "plain"), ("two words", '"two words"'), ('a"b', '"a\\"b"'), ("", '""'), ("a\nb", '"a\\nb"')],
)
def test_a_value_stays_one_value(value: str, said: str) -> None:
    assert quoted(value) == said


@pytest.mark.parametrize("forged", ["\n", "\r", "\x1b[31m", "\x00", "\u2028"])
def test_no_value_can_forge_a_line(forged: str) -> None:
    said = line("broken error=%s", f"a{forged}b")

    assert len(said.splitlines()) == 1
    assert forged not in said


def test_a_traceback_stays_on_the_line() -> None:
    said = line("attempt broke pod=%s", "p", error=True)

    assert len(said.splitlines()) == 1
    assert "ValueError" in said
