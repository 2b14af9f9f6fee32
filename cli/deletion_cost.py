"""The verb `deletion-cost`: read the configuration, and only if all of it is right start the controller."""

import argparse
import gc
import logging
import sys
from pathlib import Path

import uvloop

from cli.in_pod import COLLECT, NAMESPACE_FILE, own_namespace
from cluster_model.verdict import BadRequest, Problem
from deletion_cost import config, process
from kube_client import logs, server
from kube_client.credentials import BadCredentials

log = logging.getLogger(__name__)


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Declare the options of the verb."""
    parser.add_argument("--config", type=Path, metavar="FILE", help="YAML configuration (default: the built-in values)")
    parser.add_argument(
        "--kubeconfig", type=Path, metavar="FILE", help="how to reach the API server (default: as a pod in its cluster)"
    )
    parser.add_argument("--bind-address", default="0.0.0.0", help="where probes and metrics are served (%(default)s)")
    parser.add_argument("--port", type=int, default=10261, help="0: any free one (%(default)s)")


def run(args: argparse.Namespace) -> int:
    """Keep deletion costs until told to stop; 2 and nothing started when the configuration is wrong."""
    try:
        configured = _config(args.config)
        logs.configure(configured.log_level.upper())
        gc.set_threshold(*COLLECT)
        options = process.Options(args.kubeconfig, own_namespace(NAMESPACE_FILE), args.bind_address, args.port)
        uvloop.run(process.run(configured, options))
    except BadRequest as refused:
        sys.stderr.write("".join(f"gpu-scheduler deletion-cost: {problem}\n" for problem in refused.problems))
        return 2
    except BadCredentials as problem:
        sys.stderr.write(f"gpu-scheduler deletion-cost: {problem}\n")
        return 2
    except server.CannotServe as problem:
        sys.stderr.write(f"gpu-scheduler deletion-cost: {problem}\n")
        return 1
    return 0


def _config(path: Path | None) -> config.Config:
    if path is None:
        return config.Config()
    try:
        return config.read(path.read_text(encoding="utf-8"))
    except (OSError, UnicodeDecodeError) as error:
        raise BadRequest(Problem("--config", str(path), f"must be a readable file: {error}")) from error
