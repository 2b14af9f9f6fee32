"""The verb `run`: read the configuration, and only if all of it is right start the scheduler."""

import argparse
import gc
import logging
import sys
from pathlib import Path

import uvloop

from cli.in_pod import COLLECT, NAMESPACE_FILE, own_namespace
from cluster_model.verdict import BadRequest
from gpu_scheduler import config, discovery, process, profiles
from gpu_scheduler.extension_points import Handle
from gpu_scheduler.waiting_pods import WaitingPods
from gpu_scheduler.wiring import Plan
from kube_client import logs, server
from kube_client.credentials import BadCredentials

log = logging.getLogger(__name__)


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Declare the options of the verb."""
    parser.add_argument("--config", type=Path, required=True, metavar="FILE", help="a KubeSchedulerConfiguration")
    parser.add_argument(
        "--kubeconfig", type=Path, metavar="FILE", help="how to reach the API server (default: as a pod in its cluster)"
    )
    parser.add_argument("--bind-address", default="0.0.0.0", help="where probes and metrics are served (%(default)s)")
    parser.add_argument("--port", type=int, default=10259, help="0: any free one (%(default)s)")
    parser.add_argument("--log-level", default="info", choices=["debug", "info", "warning", "error"])


def run(args: argparse.Namespace) -> int:
    """Schedule until told to stop; 2 and nothing started when the configuration is wrong."""
    try:
        found, handle = discovery.discover(), Handle(WaitingPods())
        configured = config.load(args.config, profiles.known(found), own_namespace(NAMESPACE_FILE))
        plan = Plan(profiles.assemble(configured.profiles, found, handle), handle)
    except BadRequest as refused:
        for problem in refused.problems:
            sys.stderr.write(f"{args.config}: {problem}\n")
        return 2
    logs.configure(args.log_level.upper())
    for text in configured.warnings:
        log.warning("configuration remark text=%s", logs.quoted(text))
    for name, why in found.broken.items():
        log.warning("plugin not imported plugin=%s error=%s", logs.quoted(name), logs.quoted(why))
    kubeconfig = args.kubeconfig or (Path(configured.kubeconfig) if configured.kubeconfig else None)
    gc.set_threshold(*COLLECT)
    options = process.Options(kubeconfig, args.bind_address, args.port)
    try:
        uvloop.run(process.run(configured, plan, options))
    except BadCredentials as problem:
        sys.stderr.write(f"gpu-scheduler run: {problem}\n")
        return 2
    except server.CannotServe as problem:
        sys.stderr.write(f"gpu-scheduler run: {problem}\n")
        return 1
    return 0
