"""Errors in the API server's form, and the rules for names of labels and resources with their texts."""

import re
from collections.abc import Iterable, Iterator

from gpu_scheduler.kube_config import go_text

_LABEL = r"([A-Za-z0-9][-A-Za-z0-9_.]*)?[A-Za-z0-9]"
_DNS_LABEL = r"[a-z0-9]([-a-z0-9]*[a-z0-9])?"
_SUBDOMAIN = rf"{_DNS_LABEL}(\.{_DNS_LABEL})*"
_LETTERS = (
    "must consist of alphanumeric characters, '-', '_' or '.', and must start and end with an alphanumeric character"
)
_NAME = f"{_LETTERS} (e.g. 'MyName',  or 'my.name',  or '123-abc', regex used for validation is '{_LABEL}')"
_VALUE = (
    f"a valid label must be an empty string or {_LETTERS.removeprefix('must ')}"
    f" (e.g. 'MyValue',  or 'my_value',  or '12345', regex used for validation is '({_LABEL})?')"
)
_PREFIX = (
    "a lowercase RFC 1123 subdomain must consist of lower case alphanumeric characters, '-' or '.', and must start"
    f" and end with an alphanumeric character (e.g. 'example.com', regex used for validation is '{_SUBDOMAIN}')"
)
LONGEST_NAME, LONGEST_PREFIX = 63, 253
NATIVE, QUOTA = "kubernetes.io/", "requests."


def error(path: str, kind: str, value: object, detail: str = "") -> str:
    """Say that a value is `kind`, such as Invalid value; text is quoted, the rest is JSON."""
    shown = go_text.quoted(value) if isinstance(value, str) else go_text.as_json(value)
    return f"{path}: {kind}: {shown}" + (f": {detail}" if detail else "")


def invalid(path: str, value: object, detail: str) -> str:
    """Say that a value breaks a rule."""
    return error(path, "Invalid value", value, detail)


def required(path: str, detail: str = "") -> str:
    """Say that a value is missing."""
    return f"{path}: Required value" + (f": {detail}" if detail else "")


def forbidden(path: str, detail: str) -> str:
    """Say that there must be no value."""
    return f"{path}: Forbidden: {detail}"


def unsupported(path: str, value: str, known: Iterable[str]) -> str:
    """Say which values there are."""
    return error(path, "Unsupported value", value, "supported values: " + ", ".join(map(go_text.quoted, known)))


def child(path: str, name: str) -> str:
    """Return the path of a field; without a path, the field alone."""
    return f"{path}.{name}" if path else name


def label_name(text: str) -> Iterator[str]:
    """Yield what is wrong with a qualified name such as example.com/gpu."""
    parts = text.split("/")
    if len(parts) > 2:
        yield f"a valid label key {_NAME} with an optional DNS subdomain prefix and '/' (e.g. 'example.com/MyName')"
        return
    if len(parts) == 2:
        yield from (f"prefix part {wrong}" for wrong in _prefix(parts[0]))
    name = parts[-1]
    if not name:
        yield "name part must be non-empty"
    elif len(name.encode()) > LONGEST_NAME:
        yield f"name part must be no more than {LONGEST_NAME} bytes"
    if re.fullmatch(_LABEL, name) is None:
        yield f"name part {_NAME}"


def _prefix(text: str) -> Iterator[str]:
    if not text:
        yield "must be non-empty"
        return
    if len(text.encode()) > LONGEST_PREFIX:
        yield f"must be no more than {LONGEST_PREFIX} bytes"
    if re.fullmatch(_SUBDOMAIN, text) is None:
        yield _PREFIX


def label_value(text: str) -> Iterator[str]:
    """Yield what is wrong with the value of a label."""
    if len(text.encode()) > LONGEST_NAME:
        yield f"must be no more than {LONGEST_NAME} bytes"
    if re.fullmatch(f"({_LABEL})?", text) is None:
        yield _VALUE


def is_extended_resource(name: str) -> bool:
    """Say whether a qualified name is one of a resource that Kubernetes does not know itself."""
    if "/" not in name or NATIVE in name or name.startswith(QUOTA):
        return False
    return next(label_name(QUOTA + name), None) is None
