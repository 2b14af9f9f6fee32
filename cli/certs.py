"""The verb `certs ensure`: issue, store, publish and rotate the webhook's certificates. Thin, above that room."""

import argparse
import asyncio
import logging
import sys
from contextlib import AsyncExitStack
from datetime import timedelta
from pathlib import Path

from certs import configurations, directory
from certs.directory import DirectoryPlace
from certs.ensure import Ensuring, Result, ensure
from certs.issue import Chance, Names
from certs.rotate import Policy
from certs.secret import SecretPlace
from certs.storage import Place, Refused
from kube_client.client import Client
from kube_client.credentials import BadCredentials
from kube_client.errors import ApiError
from kube_client.timing import Timing


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Declare the options of `certs ensure`."""
    actions = parser.add_subparsers(dest="action", required=True)
    action = actions.add_parser("ensure", help="bring certificates and webhook configurations to where they should be")
    _add_places(action)
    _add_lives(action)


def _add_places(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("--namespace", required=True, help="of the Service and of the Secret")
    parser.add_argument("--service", required=True, help="the Service that the API server calls")
    parser.add_argument("--secret", help="the Secret to keep everything in; without it --output-dir keeps it")
    parser.add_argument(
        "--webhook-configuration",
        action="append",
        default=[],
        metavar="NAME",
        help="gets the caBundle: mutating/NAME, validating/NAME, or NAME for one of each; repeatable",
    )
    parser.add_argument("--dns-name", action="append", default=[], metavar="NAME", help="a further name; repeatable")
    parser.add_argument("--output-dir", type=Path, metavar="DIR", help="write tls.crt, tls.key and ca.crt there too")
    parser.add_argument("--kubeconfig", type=Path, metavar="FILE", help="default: as a pod in its cluster")


def _add_lives(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("--validity-days", type=float, default=90.0, help="of the certificate (%(default)s)")
    parser.add_argument("--ca-validity-days", type=float, default=730.0, help="of the CA (%(default)s)")
    parser.add_argument(
        "--overlap-hours", type=float, default=24.0, help="how long a replaced CA stays trusted (%(default)s)"
    )
    parser.add_argument(
        "--propagation-seconds",
        type=float,
        default=60.0,
        help="how long API servers may take to see a new bundle (%(default)s)",
    )


def run(args: argparse.Namespace) -> int:
    """Ensure, and print what is next due; 2 on bad options, 1 where the cluster or a person has to do something."""
    try:
        policy = _policy(args)
        targets = configurations.targets(args.webhook_configuration)
        if args.secret is None and args.output_dir is None:
            raise ValueError("one of --secret and --output-dir: Required value")
    except ValueError as problem:
        return _complain(problem, 2)
    logging.basicConfig(level=logging.INFO, format="%(asctime)s %(levelname)s %(name)s %(message)s")
    try:
        result = asyncio.run(_ensure(args, policy, targets))
    except BadCredentials as problem:
        return _complain(problem, 2)
    except (ApiError, Refused) as problem:
        return _complain(problem, 1)
    due = result.next_due.isoformat(timespec="seconds") if result.next_due else "never"
    sys.stdout.write(f"certificates are in order, next due {due}\n")
    return 0


def _complain(problem: Exception, status: int) -> int:
    sys.stderr.write(f"gpu-scheduler certs: {problem}\n")
    return status


def _policy(args: argparse.Namespace) -> Policy:
    return Policy(
        names=Names(args.service, args.namespace, tuple(args.dns_name)),
        leaf_life=timedelta(days=args.validity_days),
        ca_life=timedelta(days=args.ca_validity_days),
        overlap=timedelta(hours=args.overlap_hours),
        propagation=timedelta(seconds=args.propagation_seconds),
    )


async def _ensure(args: argparse.Namespace, policy: Policy, targets: tuple[configurations.Target, ...]) -> Result:
    async with AsyncExitStack() as stack:
        client = None
        if args.secret is not None or targets:
            client = await stack.enter_async_context(Client.connect(args.kubeconfig, "gpu-scheduler-certs"))
        result = await ensure(Ensuring(_place(args, client), client, targets, policy, Timing(), Chance()))
    if args.secret is not None and args.output_dir is not None:
        directory.export(args.output_dir, result.material)
    return result


def _place(args: argparse.Namespace, client: Client | None) -> Place:
    if args.secret is not None and client is not None:
        return SecretPlace(client, args.namespace, args.secret)
    return DirectoryPlace(args.output_dir)
