"""`gpu-scheduler webhook`: read the configuration and serve. Thin; everything else is in the room of that name."""

import argparse
import os
import sys
from pathlib import Path

from cluster_model.verdict import BadRequest, Problem
from webhook import addresses, config, serve


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Declare the verb's options."""
    parser.add_argument("--config", type=Path, metavar="FILE", help="YAML configuration (default: the built-in values)")
    parser.add_argument(
        "--tls-dir",
        type=Path,
        metavar="DIR",
        default=Path("/etc/gpu-scheduler/tls"),
        help="directory of tls.crt and tls.key, re-read when they change (default: %(default)s)",
    )
    parser.add_argument("--bind", default="[::]:8443", help="address of the webhook, TLS (default: %(default)s)")
    parser.add_argument(
        "--probe-bind", default="[::]:8080", help="address of probes and metrics, plain (default: %(default)s)"
    )


def run(args: argparse.Namespace) -> int:
    """Serve until SIGTERM; 2 on a bad configuration, with the path and the rule, and nothing started."""
    try:
        return serve.run(_config(args.config), _options(args))
    except BadRequest as error:
        sys.stderr.write("".join(f"gpu-scheduler webhook: {problem}\n" for problem in error.problems))
        return 2


def _config(path: Path | None) -> config.Config:
    if path is None:
        return config.Config()
    try:
        return config.read(path.read_text(encoding="utf-8"))
    except (OSError, UnicodeDecodeError) as error:
        raise BadRequest(Problem("--config", str(path), f"must be a readable file: {error}")) from error


def _options(args: argparse.Namespace) -> serve.Options:
    shared = os.environ.get(serve.SHARED_METRICS)
    return serve.Options(
        bind=addresses.read(args.bind, "--bind"),
        probe_bind=addresses.read(args.probe_bind, "--probe-bind"),
        tls=args.tls_dir,
        metrics=Path(shared) if shared else None,
    )
