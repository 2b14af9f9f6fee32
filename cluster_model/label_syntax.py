"""What a label's key and value may look like, and Kubernetes' own words for what is wrong. Knows no selectors."""

import re
from collections.abc import Iterator

MOST_BYTES = 63
MOST_PREFIX_BYTES = 253

_NAME = "([A-Za-z0-9][-A-Za-z0-9_.]*)?[A-Za-z0-9]"
_PREFIX_PART = "[a-z0-9]([-a-z0-9]*[a-z0-9])?"
_PREFIX = rf"{_PREFIX_PART}(\.{_PREFIX_PART})*"
_CHARACTERS = "alphanumeric characters, '-', '_' or '.', and must start and end with an alphanumeric character"


def _checked(rule: str, pattern: str, *examples: str) -> str:
    shown = " or ".join(f"'{example}', " for example in examples)
    return f"{rule} (e.g. {shown}regex used for validation is '{pattern}')"


_NAME_RULE = _checked(f"must consist of {_CHARACTERS}", _NAME, "MyName", "my.name", "123-abc")
_VALUE_RULE = _checked(
    f"a valid label must be an empty string or consist of {_CHARACTERS}", f"({_NAME})?", "MyValue", "my_value", "12345"
)
_PREFIX_RULE = _checked(
    "a lowercase RFC 1123 subdomain must consist of lower case alphanumeric characters, '-' or '.', "
    "and must start and end with an alphanumeric character",
    _PREFIX,
    "example.com",
)
_SLASH = "'/' (e.g. 'example.com/MyName')"
_IS_NAME = re.compile(_NAME, re.ASCII)
_IS_PREFIX = re.compile(_PREFIX, re.ASCII)


def wrong_with_key(key: str) -> Iterator[str]:
    """Yield what is wrong with a label's key."""
    parts = key.split("/")
    if len(parts) > 2:
        yield f"a valid label key {_NAME_RULE} with an optional DNS subdomain prefix and {_SLASH}"
        return
    if len(parts) == 2:
        yield from (f"prefix part {wrong}" for wrong in _wrong_with_prefix(parts[0]))
    name = parts[-1]
    if not name:
        yield "name part must be non-empty"
    elif len(name.encode()) > MOST_BYTES:
        yield f"name part must be no more than {MOST_BYTES} bytes"
    if _IS_NAME.fullmatch(name) is None:
        yield f"name part {_NAME_RULE}"


def wrong_with_value(value: str) -> Iterator[str]:
    """Yield what is wrong with a label's value."""
    if len(value.encode()) > MOST_BYTES:
        yield f"must be no more than {MOST_BYTES} bytes"
    if value and _IS_NAME.fullmatch(value) is None:
        yield _VALUE_RULE


def _wrong_with_prefix(prefix: str) -> Iterator[str]:
    if not prefix:
        yield "must be non-empty"
        return
    if len(prefix.encode()) > MOST_PREFIX_BYTES:
        yield f"must be no more than {MOST_PREFIX_BYTES} bytes"
    if _IS_PREFIX.fullmatch(prefix) is None:
        yield _PREFIX_RULE
