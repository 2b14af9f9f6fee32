import pytest

from kube_client import errors
from kube_client.errors import ApiError
from kube_client.retries import NEVER, Retries

REFUSED = ApiError(0, "ClientConnectorError", "refused", sent=False)
RESET = ApiError(0, "ServerDisconnectedError", "reset")


def test_a_status_gives_reason_message_and_wait() -> None:
    body = b'{"kind":"Status","code":429,"reason":"TooManyRequests","message":"m","details":{"retryAfterSeconds":3}}'
    error = errors.from_answer(429, body, None)
    assert (error.status, error.reason, error.message, error.retry_after_seconds) == (429, "TooManyRequests", "m", 3.0)


def test_the_header_wins_over_the_body_and_dates_are_no_number() -> None:
    body = b'{"details":{"retryAfterSeconds":3}}'
    assert errors.from_answer(503, body, "7").retry_after_seconds == 7.0
    assert errors.from_answer(503, body, "Wed, 21 Oct 2015 07:28:00 GMT").retry_after_seconds == 3.0


@pytest.mark.parametrize("body", [b"Bad Gateway", b"", b"\xff\xfe", b"[1]", b'{"code":"x"}'])
def test_an_answer_that_is_no_status_is_shown_as_it_is(body: bytes) -> None:
    assert errors.from_answer(502, body, None).message == body.decode(errors="replace").strip()


@pytest.mark.parametrize(
    ("error", "repeatable", "again"),
    [
        (ApiError(429, "", ""), False, True),
        (REFUSED, False, True),
        (RESET, False, False),
        (RESET, True, True),
        (ApiError(500, "", ""), False, False),
        (ApiError(503, "", ""), True, True),
        (ApiError(409, "", ""), True, False),
        (ApiError(403, "", ""), True, False),
        (ApiError(410, "", ""), True, False),
    ],
)
def test_only_what_cannot_happen_twice_is_repeated(error: ApiError, repeatable: bool, again: bool) -> None:
    assert (Retries().wait_seconds(error, repeatable, 1, 0.0) is not None) is again


def test_the_waits_are_client_gos_and_end() -> None:
    waits = [Retries().wait_seconds(RESET, True, attempt, 0.0) for attempt in range(1, 6)]
    assert waits == [0.01, 0.05, 0.25, 1.25, None]


def test_retry_after_is_obeyed_unless_it_asks_for_too_much() -> None:
    assert Retries().wait_seconds(ApiError(429, "", "", 4.0), False, 1, 0.0) == 4.0
    assert Retries().wait_seconds(ApiError(429, "", "", 60.0), False, 1, 0.0) is None


def test_never_means_never() -> None:
    assert NEVER.wait_seconds(REFUSED, True, 1, 0.0) is None
