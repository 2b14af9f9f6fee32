"""Log lines: constant message, then key=value, one line each."""

import logging
import sys
from typing import Any

from webhook import logs


def line(message: str, error: Any = None, **fields: Any) -> str:
    record = logging.LogRecord("webhook", logging.INFO, "", 0, message, (), error)
    record.__dict__.update(logs.fields(**fields))
    return logs.KeyValue().format(record)


def test_message_comes_first_then_the_fields_in_order() -> None:
    assert line("admission decided", uid="a-1", allowed=True, n=3).endswith(
        'level=info msg="admission decided" uid=a-1 allowed=true n=3'
    )


def test_value_cannot_forge_a_line_or_a_field() -> None:
    text = line("m", name='x\n" level=error', empty="")

    assert text.endswith('name="x\\n\\" level=error" empty=""')
    assert "\n" not in text


def test_trace_is_on_the_same_line() -> None:
    try:
        raise ZeroDivisionError("why")
    except ZeroDivisionError:
        text = line("admission failed", sys.exc_info())

    assert "ZeroDivisionError: why" in text
    assert "\n" not in text
