"""What an application takes in by importing the library: of the standard library little, of anything else nothing."""

from __future__ import annotations

import json
import subprocess
import sys

import deletion_cost

SAID = "import json, sys; before = set(sys.modules); {}; print(json.dumps(sorted(set(sys.modules) - before)))"
SLOW = {"asyncio", "ssl", "http.server", "http.client", "tempfile", "multiprocessing", "msgspec", "numpy", "kubernetes"}


def brought_by(statement: str) -> set[str]:
    done = subprocess.run([sys.executable, "-c", SAID.format(statement)], capture_output=True, text=True, check=True)
    return set(json.loads(done.stdout))


def test_importing_brings_the_standard_library_alone() -> None:
    names = {name.partition(".")[0] for name in brought_by("import deletion_cost")}
    assert names - sys.stdlib_module_names == {"deletion_cost"}


def test_importing_brings_nothing_slow() -> None:
    """Event loop, TLS and servers wait until somebody needs them; of our own rooms none comes along."""
    assert brought_by("import deletion_cost") & SLOW == set()


def test_counting_brings_nothing_more_than_it_needs() -> None:
    counting = "t = T(shared=False); t.cache_hit(); t.asgi(None); t.reading()"
    statement = f"from deletion_cost import ConnectionTracker as T; {counting}"
    names = {name.partition(".")[0] for name in brought_by(statement)}
    assert names - sys.stdlib_module_names == {"deletion_cost"}


def test_the_two_names_of_the_library_are_there() -> None:
    assert set(deletion_cost.__all__) == {"ConnectionTracker", "DeletionCostReporter", "ReporterSettings"}
