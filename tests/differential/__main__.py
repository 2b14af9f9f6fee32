"""Compares our decisions with kube-scheduler's on made-up cases: `python -m tests.differential --seed 1 --cases 1000`.

Each difference is written out with its case, made as small as possible. The last line counts cases and differences.
With `--real` cases are set up one by one on a control plane of their own; what its API server refuses does not count.
"""

from __future__ import annotations

import argparse
import itertools
import json
import sys
from collections.abc import Iterable, Iterator, Sequence

from tests.differential import compare, generate, hint_cases, hints, preempting, preemption_cases, real
from tests.differential.documents import Document
from tests.differential.framework import Framework
from tests.differential.run import Found, Judge, compared, shrunk
from tests.differential.stage import Stage

MOST_SHRUNK = 20


def main(arguments: Sequence[str] | None = None) -> int:
    """Run; the exit code is 1 if anything differs."""
    asked = _parser().parse_args(arguments)
    count, found = (_on_a_cluster if asked.real else _in_the_framework)(asked)
    for number, one in enumerate(found):
        print(_written(one, number < asked.shrink))
    print(f"cases={count} differences={len(found)}")
    return 1 if found else 0


def _in_the_framework(asked: argparse.Namespace) -> tuple[int, list[Found]]:
    source, judge = _source(asked)
    count, found = 0, list[Found]()
    with Framework() as framework:
        for one in compared(framework, source, judge):
            count += 1
            found += [one] if one else []
        small = [shrunk(framework, one, judge) for one in found[: asked.shrink]]
    return count, [*small, *found[asked.shrink :]]


def _source(asked: argparse.Namespace) -> tuple[Iterator[Document], Judge]:
    if asked.preemption:
        return _preemptions(asked)
    if asked.hints:
        return (hint_cases.case(asked.seed, number) for number in _numbers(asked)), hints.differences
    return _cases(asked), compare.differences


def _cases(asked: argparse.Namespace) -> Iterator[Document]:
    chosen = itertools.combinations(asked.plugins, 2) if asked.pairs else [asked.plugins]
    return (generate.case(asked.seed, number, plugins) for plugins in chosen for number in _numbers(asked))


def _preemptions(asked: argparse.Namespace) -> tuple[Iterator[Document], Judge]:
    source = (preemption_cases.case(asked.seed, number) for number in _numbers(asked))
    return source, lambda _, answer: preempting.differences(answer)


def _numbers(asked: argparse.Namespace) -> Iterable[int]:
    return range(asked.cases) if asked.only is None else (asked.only,)


def _on_a_cluster(asked: argparse.Namespace) -> tuple[int, list[Found]]:
    numbers: Iterable[int] = itertools.count() if asked.only is None else (asked.only,)
    plain = real.cases(asked.seed, numbers, asked.plugins)
    source = real.preemptions(asked.seed, numbers) if asked.preemption else plain
    with Stage() as stage:
        tally = real.compared(stage, source, asked.cases, asked.shrink)
    for problem, times in tally.refused.most_common():
        print(f"refused {times} times: {problem}")
    print(f"placed={tally.placed} refused={tally.refused.total()} repeated={tally.repeated}")
    return tally.cases, tally.found


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(prog="python -m tests.differential", description=(__doc__ or "").splitlines()[0])
    parser.add_argument("--seed", type=int, default=1, help="other seeds make other cases")
    parser.add_argument("--cases", type=int, default=1000, help="how many")
    parser.add_argument("--real", action="store_true", help="on a real control plane, one pod at a time")
    parser.add_argument("--preemption", action="store_true", help="of pods that fit only if others go")
    parser.add_argument("--hints", action="store_true", help="of changes that may help a pod that waits")
    parser.add_argument("--pairs", action="store_true", help="so many cases of each two of the plugins")
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
