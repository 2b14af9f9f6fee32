"""`gpu-scheduler read node|pod FILE`: print as one JSON object how a node or a workload is understood."""

import argparse
import json
import sys
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

from cli import documents
from cluster_model import workload
from cluster_model.verdict import BadRequest, Problem

STDIN = "-"


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Declare the subcommands and their file."""
    kinds = parser.add_subparsers(dest="kind", required=True, metavar="KIND")
    for kind, about in (
        ("node", "a Node: its GPUs, memory, sharing, taints"),
        ("pod", "what one pod of a workload asks for"),
    ):
        one = kinds.add_parser(kind, help=about, description=f"Print as JSON {about}.")
        one.add_argument(
            "file", help='YAML or JSON, "-" for standard input; of several documents the last is the object'
        )


def run(args: argparse.Namespace) -> int:
    """Print the reading and return 0; 2 with a message for what cannot be read."""
    describe: Callable[[Sequence[Any]], dict[str, Any]] = {"node": _node, "pod": _pod}[args.kind]
    try:
        reading = describe(documents.load(_content(args.file)))
    except OSError as error:
        return _refuse(args.file, error.strerror or str(error))
    except documents.Malformed as error:
        return _refuse(args.file, str(error))
    except BadRequest as error:
        return _refuse(args.file, "; ".join(map(str, error.problems)))
    sys.stdout.write(json.dumps(reading, indent=2) + "\n")
    return 0


def _content(file: str) -> bytes:
    return sys.stdin.buffer.read() if file == STDIN else Path(file).read_bytes()


def _refuse(file: str, reason: str) -> int:
    sys.stderr.write(f"gpu-scheduler read: {file}: {reason}\n")
    return 2


def _pod(found: Sequence[Any]) -> dict[str, Any]:
    from cli import read_pod

    return read_pod.describe(found)


def _node(found: Sequence[Any]) -> dict[str, Any]:
    from cli import read_node

    nodes = workload.flatten(found)
    if not nodes:
        raise BadRequest(Problem("document", "", "must hold a Node"))
    return read_node.describe(dict(nodes[-1]))
