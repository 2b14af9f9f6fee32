"""Go durations."""

import pytest

from cluster_model import durations


@pytest.mark.parametrize(
    ("text", "expected"),
    [("15s", 15.0), ("1m30s", 90.0), ("250ms", 0.25), ("1h", 3600.0), ("0", 0.0), ("-2s", -2.0), ("1.5h", 5400.0)],
)
def test_durations_read_as_in_go(text: str, expected: float) -> None:
    assert durations.seconds(text) == expected


@pytest.mark.parametrize("text", ["", "15", "s", "1 s", "1d", "5x", "1s ", "--1s", "1e3s"])
def test_what_go_refuses_is_refused(text: str) -> None:
    with pytest.raises(ValueError, match="not a duration"):
        durations.seconds(text)
