"""The verb `config`: judge a scheduler configuration without starting anything."""

import argparse
import json
import sys
from pathlib import Path

from cluster_model.verdict import BadRequest
from gpu_scheduler import discovery, profiles
from gpu_scheduler.kube_config.check import Verdict

STDIN = "-"


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Declare the subcommand and its file."""
    verbs = parser.add_subparsers(dest="action", required=True, metavar="ACTION")
    about = "say whether kube-scheduler would load a file, in its words"
    check = verbs.add_parser("check", help=about, description=f"{about[0].upper()}{about[1:]}.")
    check.add_argument("file", help='a KubeSchedulerConfiguration, YAML or JSON; "-" for standard input')
    check.add_argument("-o", "--output", choices=["text", "json"], default="text", help="(default: %(default)s)")


def run(args: argparse.Namespace) -> int:
    """Print the verdict; 0 when the file is valid, else 2."""
    try:
        text = _content(args.file).decode("utf-8-sig")
    except OSError as error:
        return _unreadable(args, error.strerror or str(error))
    except UnicodeDecodeError as error:
        return _unreadable(args, f"not UTF-8 at byte {error.start}")
    try:
        found = discovery.discover()
    except BadRequest as clash:
        return _refuse(args.file, str(clash))
    for name, why in found.broken.items():
        sys.stderr.write(f"gpu-scheduler config: plugin {name} cannot be imported: {why}\n")
    verdict = profiles.check(text, found)
    sys.stdout.write(_json(verdict) if args.output == "json" else _text(args.file, verdict))
    return 0 if verdict.valid else 2


def _content(file: str) -> bytes:
    return sys.stdin.buffer.read() if file == STDIN else Path(file).read_bytes()


def _json(verdict: Verdict) -> str:
    found = {
        "valid": verdict.valid,
        "errors": list(verdict.errors),
        "profiles": list(verdict.profiles),
        "unknown_plugins": list(verdict.unknown_plugins),
    }
    return json.dumps(found, indent=2, ensure_ascii=False) + "\n"


def _text(file: str, verdict: Verdict) -> str:
    lines = [f"{file}: {error}" for error in verdict.errors]
    lines += [f"{file}: unknown plugin {name}: `run` will not start with it" for name in verdict.unknown_plugins]
    if verdict.valid:
        lines.append(f"{file}: valid, profiles: {', '.join(verdict.profiles)}")
    return "\n".join(lines) + "\n"


def _unreadable(args: argparse.Namespace, reason: str) -> int:
    """Judge a file that cannot be read; who asked for JSON gets it."""
    if args.output == "json":
        sys.stdout.write(_json(Verdict((reason,))))
    return _refuse(args.file, reason)


def _refuse(file: str, reason: str) -> int:
    sys.stderr.write(f"gpu-scheduler config: {file}: {reason}\n")
    return 2
