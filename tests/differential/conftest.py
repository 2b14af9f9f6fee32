"""One program of kube-scheduler's framework for all tests here; it is built when a test asks for it first."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from tests.differential.framework import Framework


@pytest.fixture(scope="session")
def framework() -> Iterator[Framework]:
    with Framework() as running:
        yield running
