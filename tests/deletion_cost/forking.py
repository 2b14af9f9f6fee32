"""Forks a test's process while it has threads: just what is tested, and what Python 3.12 and later warn of."""

from __future__ import annotations

import os
import warnings


def fork() -> int:
    """As os.fork, without the warning."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", DeprecationWarning)
        return os.fork()
