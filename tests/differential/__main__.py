"""Compares our decisions with kube-scheduler's on made-up cases: `python -m tests.differential --seed 1 --cases 1000`.

Each difference is written out with its case, made as small as possible. The last line counts cases and differences.
"""

from __future__ import annotations

import argparse
import json
import sys
from collections.abc import Sequence

from tests.differential import generate
from tests.differential.framework import Framework
from tests.differential.run import Found, compared, shrunk

MOST_SHRUNK = 20


def main(arguments: Sequence[str] | None = None) -> int:
    """Run; the exit code is 1 if anything differs."""
    asked = _parser().parse_args(arguments)
    cases = [generate.case(asked.seed, asked.only, asked.plugins)] if asked.only is not None else None
    source = cases or generate.cases(asked.seed, asked.cases, asked.plugins)
    count = 0
    with Framework() as framework:
        found = []
        for one in compared(framework, source):
            count += 1
            found += [one] if one else []
        for number, one in enumerate(found):
            print(_written(shrunk(framework, one) if number < asked.shrink else one, number < asked.shrink))
    print(f"cases={count} differences={len(found)}")
    return 1 if found else 0


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(prog="python -m tests.differential", description=(__doc__ or "").splitlines()[0])
    parser.add_argument("--seed", type=int, default=1, help="other seeds make other cases")
    parser.add_argument("--cases", type=int, default=1000, help="how many")
    parser.add_argument("--only", type=int, metavar="NUMBER", help="that case alone, by the number in its id")
    parser.add_argument("--shrink", type=int, default=MOST_SHRUNK, metavar="COUNT", help="differences made small")
    known = ", ".join(generate.SUBJECTS)
    parser.add_argument("--plugins", type=_plugins, default=tuple(generate.SUBJECTS), help=f"comma-separated: {known}")
    return parser


def _plugins(text: str) -> tuple[str, ...]:
    chosen = tuple(text.split(","))
    unknown = [name for name in chosen if name not in generate.SUBJECTS]
    if unknown:
        raise argparse.ArgumentTypeError(f"unknown: {', '.join(unknown)}; known: {', '.join(generate.SUBJECTS)}")
    return chosen


def _written(found: Found, small: bool) -> str:
    lines = [f"case {found.case['id']}{'' if small else ' (not made smaller)'}", *map(str, found.differences)]
    return "\n  ".join([*lines, json.dumps(found.case, separators=(",", ":"), sort_keys=True)])


if __name__ == "__main__":
    sys.exit(main())
