"""The key pair: torn reads, swaps, pairs that do not load."""

from datetime import UTC, datetime, timedelta
from pathlib import Path

import pytest

from tests.webhook import certificates
from webhook import tls


class Clock:
    """A clock that stands still until it is moved."""

    def __init__(self) -> None:
        self.seconds = 0.0

    def __call__(self) -> float:
        return self.seconds


def reloading(directory: Path) -> tuple[tls.Reloading, list[Exception], Clock]:
    failures: list[Exception] = []
    clock = Clock()
    return tls.Reloading(directory, failures.append, clock), failures, clock


def test_unchanged_pair_is_loaded_once(tmp_path: Path) -> None:
    certificates.publish(tmp_path, *certificates.issue())
    pair, failures, _ = reloading(tmp_path)

    assert pair.context() is pair.context()
    assert failures == []


def test_swapped_pair_is_served_from_the_next_connection(tmp_path: Path) -> None:
    certificates.publish(tmp_path, *certificates.issue())
    pair, _, _ = reloading(tmp_path)
    first = pair.context()

    certificates.publish(tmp_path, *certificates.issue())

    assert pair.context() is not first


def test_pair_rewritten_in_place_is_seen_too(tmp_path: Path) -> None:
    """Without the kubelet's symlinks, and with a torn moment between the two writes."""
    old, new = certificates.issue(), certificates.issue(name="a-longer-name")
    (tmp_path / "tls.crt").write_bytes(old[0])
    (tmp_path / "tls.key").write_bytes(old[1])
    pair, failures, clock = reloading(tmp_path)
    first = pair.context()

    (tmp_path / "tls.crt").write_bytes(new[0])
    assert pair.context() is first
    (tmp_path / "tls.key").write_bytes(new[1])
    clock.seconds += tls.RETRY_SECONDS

    assert pair.context() is not first
    assert len(failures) == 1


@pytest.mark.parametrize("broken", ["mismatch", "garbage", "missing"])
def test_pair_that_does_not_load_keeps_the_old_one_and_is_tried_once_a_second(tmp_path: Path, broken: str) -> None:
    certificates.publish(tmp_path, *certificates.issue())
    pair, failures, clock = reloading(tmp_path)
    first = pair.context()
    certificate, key = certificates.issue()[0], certificates.issue()[1]
    certificates.publish(tmp_path, *((b"x", b"y") if broken == "garbage" else (certificate, key)))
    if broken == "missing":
        (tmp_path / "..data" / "tls.key").unlink()

    assert [pair.context() is first for _ in range(3)] == [True] * 3
    assert len(failures) == 1
    clock.seconds += tls.RETRY_SECONDS
    assert pair.context() is first
    assert len(failures) == 2


def test_first_pair_that_does_not_load_raises(tmp_path: Path) -> None:
    pair, failures, _ = reloading(tmp_path)

    with pytest.raises(OSError):
        pair.context()
    assert len(failures) == 1


def test_encrypted_key_is_refused_instead_of_asked_about(tmp_path: Path) -> None:
    certificates.publish(tmp_path, certificates.issue()[0], certificates.encrypted(certificates.issue()[1]))

    with pytest.raises(ValueError, match="the key is encrypted"):
        tls.load(tmp_path)


def test_old_protocols_are_off(tmp_path: Path) -> None:
    certificates.publish(tmp_path, *certificates.issue())

    assert tls.load(tmp_path)[1].minimum_version.name == "TLSv1_2"


def test_end_of_life_is_read_from_the_file(tmp_path: Path) -> None:
    begin = datetime(2026, 1, 1, tzinfo=UTC)
    certificates.publish(tmp_path, *certificates.issue(begin, timedelta(days=1)))

    assert tls.not_after(tmp_path) == datetime(2026, 1, 2, tzinfo=UTC).timestamp()
