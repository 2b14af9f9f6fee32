"""Which failed calls may be sent again, and when. Pure: it neither sends nor sleeps."""

from dataclasses import dataclass

from kube_client.errors import ApiError
from kube_client.timing import Backoff

REPEATABLE_METHODS = frozenset({"GET", "PUT", "PATCH", "DELETE"})


# client-go's DefaultBackoff, with a longer tail.
DEFAULT_BACKOFF = Backoff(first_seconds=0.01, factor=5.0, longest_seconds=2.0)


@dataclass(frozen=True, slots=True)
class Retries:
    """How often and how soon a call is repeated."""

    attempts: int = 5
    backoff: Backoff = DEFAULT_BACKOFF
    # A server that asks for more patience than this is left to the caller's own backoff.
    longest_retry_after_seconds: float = 10.0

    def wait_seconds(self, error: ApiError, repeatable: bool, attempt: int, chance: float) -> float | None:
        """Give the wait before the next attempt; None where the error must reach the caller."""
        if attempt >= self.attempts or not is_safe(error, repeatable):
            return None
        asked = error.retry_after_seconds or 0.0
        if asked > self.longest_retry_after_seconds:
            return None
        return max(asked, self.backoff.seconds(attempt, chance))


NEVER = Retries(attempts=1)


def is_safe(error: ApiError, repeatable: bool) -> bool:
    """Tell whether sending again cannot do the same thing twice: refused, never sent, or harmless when repeated."""
    if error.is_throttled or (error.is_unreachable and not error.sent):
        return True
    return repeatable and error.is_transient
