"""The AdmissionReview on the wire: bytes to a Review, a Decision to bytes. Knows no rule of ours.

The object stays the raw JSON it arrived as, so that no field of a newer API is ever lost.
"""

import base64
from dataclasses import dataclass
from typing import Any

import msgspec

Object = dict[str, Any]
Operation = dict[str, Any]  # one step of a JSON patch

V1 = "admission.k8s.io/v1"
# The API server cuts all warnings to 256 once they pass 4,096 together, and drops those with control characters.
WARNING_LENGTH = 256
MESSAGE_LENGTH = 8192


class Unreadable(ValueError):
    """A body that holds no request to answer; `stage` says how far the reading came."""

    def __init__(self, stage: str, text: str) -> None:
        super().__init__(text)
        self.stage = stage


@dataclass(frozen=True, slots=True)
class Review:
    """One admission request; fields of a wrong type read as absent."""

    api_version: str
    uid: str
    group: str
    kind: str
    subresource: str
    operation: str
    namespace: str
    name: str
    object: Object | None
    old_object: Object | None


@dataclass(frozen=True, slots=True)
class Decision:
    """What is answered: `rule` is the short name of what decided, one of a fixed few."""

    allowed: bool
    rule: str
    message: str = ""
    warnings: tuple[str, ...] = ()
    patch: tuple[Operation, ...] = ()
    # Whether to leave a trace in the audit log; the API server refuses two different ones for one request.
    audited: bool = True


def read(body: bytes) -> Review:
    """Read a request body; raise Unreadable where there is no request with a uid."""
    try:
        envelope = msgspec.json.decode(body)
    except (msgspec.DecodeError, RecursionError) as error:
        raise Unreadable("decode", f"the body is not JSON that can be read: {error}") from error
    request = envelope.get("request") if isinstance(envelope, dict) else None
    if not isinstance(request, dict):
        raise Unreadable("request", "the body has no request")
    uid = request.get("uid")
    if not isinstance(uid, str) or not uid:
        raise Unreadable("uid", "the request has no uid")
    return _review(envelope.get("apiVersion"), uid, request)


def _review(api_version: Any, uid: str, request: Object) -> Review:
    kind = _mapping(request.get("kind"))
    return Review(
        api_version=_text(api_version) or V1,
        uid=uid,
        group=_text(kind.get("group")),
        kind=_text(kind.get("kind")),
        subresource=_text(request.get("subResource")),
        operation=_text(request.get("operation")),
        namespace=_text(request.get("namespace")),
        name=_text(request.get("name")),
        # Fixtures carry {} where a real API server sends null.
        object=_mapping(request.get("object")) or None,
        old_object=_mapping(request.get("oldObject")) or None,
    )


def answer(review: Review, decision: Decision) -> bytes:
    """Write the response in the version the request came in."""
    response: Object = {"uid": review.uid, "allowed": decision.allowed}
    if not decision.allowed:
        message = decision.message[:MESSAGE_LENGTH]
        response["status"] = {"status": "Failure", "code": 422, "reason": "Invalid", "message": message}
    elif decision.patch:
        response["patchType"] = "JSONPatch"
        response["patch"] = base64.b64encode(msgspec.json.encode(decision.patch)).decode()
    if decision.warnings:
        response["warnings"] = list(dict.fromkeys(map(printable, decision.warnings)))
    if decision.audited:
        response["auditAnnotations"] = {"decision": _outcome(decision), "rule": decision.rule}
    return msgspec.json.encode({"apiVersion": review.api_version, "kind": "AdmissionReview", "response": response})


def printable(text: str) -> str:
    """Make a text fit for a warning header: no control character, not over its length."""
    clean = "".join(letter if letter.isprintable() else " " for letter in text)
    return clean if len(clean) <= WARNING_LENGTH else clean[: WARNING_LENGTH - 1] + "…"


def _outcome(decision: Decision) -> str:
    if decision.patch:
        return "mutated"
    return "allowed" if decision.allowed else "denied"


def _mapping(value: Any) -> Object:
    return value if isinstance(value, dict) else {}


def _text(value: Any) -> str:
    return value if isinstance(value, str) else ""
