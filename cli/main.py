"""Dispatch `gpu-scheduler VERB …` to the module of the verb, which is imported only then."""

import argparse
import importlib
import sys
from collections.abc import Sequence

VERBS = {
    "run": ("cli.run", "run the scheduler"),
    "config": ("cli.config", "say whether a scheduler configuration is valid"),
    "webhook": ("cli.webhook", "serve the admission webhook"),
    "deletion-cost": ("cli.deletion_cost", "keep the deletion cost of pods in step with their load"),
    "certs": ("cli.certs", "issue, store and rotate the webhook's certificates"),
    "read": ("cli.read", "print as JSON how a node or a pod is understood"),
    "demo": ("cli.demo", "admit and schedule an example workload without a cluster"),
}


def usage() -> str:
    lines = [f"  {verb:<13} {about}" for verb, (_, about) in VERBS.items()]
    return "usage: gpu-scheduler VERB [options]\n\nverbs:\n" + "\n".join(lines) + "\n"


def main(argv: Sequence[str] | None = None) -> int:
    """Run one verb; return its exit status (2: bad usage or bad input)."""
    words = list(sys.argv[1:] if argv is None else argv)
    if words and words[0] in ("-h", "--help"):
        sys.stdout.write(usage())
        return 0
    if not words or words[0] not in VERBS:
        sys.stderr.write(usage())
        return 2
    module = importlib.import_module(VERBS[words[0]][0])
    parser = argparse.ArgumentParser(prog=f"gpu-scheduler {words[0]}", description=VERBS[words[0]][1])
    module.add_arguments(parser)
    status: int = module.run(parser.parse_args(words[1:]))
    return status
