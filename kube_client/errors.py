"""A failed call as a value: what the API server answered, or that it could not be asked. Holds no policy."""

import msgspec

UNREACHABLE = 0


class ApiError(Exception):
    """An answer other than 2xx, or no answer: then `status` is 0, and `sent` says whether the server may have acted."""

    def __init__(
        self, status: int, reason: str, message: str, retry_after_seconds: float | None = None, *, sent: bool = True
    ) -> None:
        super().__init__(f"{status} {reason}: {message}" if status else f"{reason}: {message}")
        self.status = status
        self.reason = reason
        self.message = message
        self.retry_after_seconds = retry_after_seconds
        self.sent = sent

    @property
    def is_conflict(self) -> bool:
        """Whether a precondition failed or the object exists already."""
        return self.status == 409

    @property
    def is_gone(self) -> bool:
        """Whether a resourceVersion or a continue token is too old, so that only a new list helps."""
        return self.status == 410

    @property
    def is_throttled(self) -> bool:
        """Whether the server refused to work on the request for now."""
        return self.status == 429

    @property
    def is_not_found(self) -> bool:
        """Whether the object, or its namespace or kind, does not exist."""
        return self.status == 404

    @property
    def is_unreachable(self) -> bool:
        """Whether no answer came."""
        return self.status == UNREACHABLE

    @property
    def is_ambiguous(self) -> bool:
        """Whether a write may have happened all the same."""
        return self.sent and (self.is_unreachable or self.status >= 500)

    @property
    def is_transient(self) -> bool:
        """Whether the same call may succeed later."""
        return self.is_unreachable or self.is_throttled or self.status >= 500


class StatusDetails(msgspec.Struct, frozen=True, rename="camel"):
    """The part of a Status that says when to come back."""

    retry_after_seconds: int = 0


class Status(msgspec.Struct, frozen=True, rename="camel"):
    """The API server's Status object, the body of every error."""

    code: int = 0
    reason: str = ""
    message: str = ""
    details: StatusDetails | None = None


def from_status(status: Status, code: int, retry_after_seconds: float | None = None) -> ApiError:
    """Build the error that a Status describes; the header's Retry-After wins over the body's."""
    wait = retry_after_seconds
    if wait is None and status.details is not None and status.details.retry_after_seconds:
        wait = float(status.details.retry_after_seconds)
    return ApiError(code, status.reason or "Unknown", status.message, wait)


def from_answer(code: int, body: bytes, retry_after: str | None) -> ApiError:
    """Build the error of an HTTP answer; proxies answer in plain text, so a Status is not taken for granted."""
    wait = float(retry_after) if retry_after is not None and retry_after.isascii() and retry_after.isdigit() else None
    try:
        status = msgspec.json.decode(body, type=Status)
    except (msgspec.DecodeError, UnicodeDecodeError):
        status = Status(message=body[:1024].decode(errors="replace").strip())
    return from_status(status, code, wait)
