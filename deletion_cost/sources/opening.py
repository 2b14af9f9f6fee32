"""Opens the sources that a configuration allows, for as long as the context lasts. It asks nothing."""

import resource
from collections.abc import AsyncIterator, Mapping
from contextlib import AsyncExitStack, asynccontextmanager
from pathlib import Path

from cluster_model.verdict import BadRequest, Problem
from deletion_cost import config as config_
from deletion_cost.config import Config
from deletion_cost.source import Name, Source, Tally
from deletion_cost.sources import endpoint, prometheus
from deletion_cost.sources.resource_metrics import ResourceMetrics
from kube_client.client import Client

SPREAD = 0.8  # of a poll period, over which pods are asked where there are many
WIDEST_SECONDS = 0.01
MOST_KEPT = 8192  # connections to pods


@asynccontextmanager
async def open_all(config: Config, client: Client, tally: Tally) -> AsyncIterator[Mapping[Name, Source]]:
    """Open each source that can be chosen; BadRequest where a certificate cannot be read."""
    async with AsyncExitStack() as stack:
        asked = endpoint.Endpoint.open(_endpoint(config), tally)
        sources: dict[Name, Source] = {
            "endpoint": await stack.enter_async_context(asked),
            "metrics": ResourceMetrics(client, tally, client.timing),
        }
        if config.sources.prometheus.url:
            queried = prometheus.Prometheus.open(_prometheus(config.sources.prometheus), tally)
            try:
                sources["prometheus"] = await stack.enter_async_context(queried)
            except OSError as error:
                rule = f"must name files with certificates that can be read: {error}"
                raise BadRequest(Problem("sources.prometheus", config.sources.prometheus.url, rule)) from error
        yield sources


def _endpoint(config: Config) -> endpoint.Settings:
    settings = config.sources.endpoint
    return endpoint.Settings(
        spread_seconds=config.poll_seconds * SPREAD,
        widest_seconds=WIDEST_SECONDS,
        within_seconds=config.poll_seconds,
        timeout_seconds=settings.timeout_seconds,
        parallel=settings.parallel,
        kept_connections=kept_connections(_raise_descriptors()),
    )


def kept_connections(limit: int) -> int:
    """Say how many connections to pods may stay open: half of the descriptors, since writes and watches need some."""
    return MOST_KEPT if limit == resource.RLIM_INFINITY else min(MOST_KEPT, limit // 2)


def _raise_descriptors() -> int:
    """Allow this process all the descriptors that it may have, as programs in Go do; give their number."""
    _, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    resource.setrlimit(resource.RLIMIT_NOFILE, (hard, hard))
    return hard


def _prometheus(settings: config_.Prometheus) -> prometheus.Settings:
    certificate, key = settings.client_certificate_file, settings.client_key_file
    return prometheus.Settings(
        url=settings.url.rstrip("/"),
        token_file=Path(settings.token_file) if settings.token_file else None,
        ca_file=Path(settings.ca_file) if settings.ca_file else None,
        client_certificate=(Path(certificate), Path(key)) if certificate and key else None,
        headers=settings.headers,
        timeout_seconds=settings.timeout_seconds,
        parallel=settings.parallel,
    )
