"""Who we are to the API server: configuration, TLS and tokens from the official client, kept fresh. Sends no calls."""

import asyncio
import ipaddress
import os
import socket
import ssl
import urllib.request
from collections.abc import Awaitable, Callable
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

import yaml
from aiohttp import AddrInfoType
from kubernetes.aio import config as official_config
from kubernetes.aio.client import rest
from kubernetes.aio.client.configuration import Configuration

# A token file that changed is picked up within this time: the official in-cluster loader's own period.
REFRESH_SECONDS = 60.0
# The peer that vanished without a word is noticed after idle + count * interval = 60 s.
KEEPALIVE = ((socket.TCP_KEEPIDLE, 30), (socket.TCP_KEEPINTVL, 10), (socket.TCP_KEEPCNT, 3))
# What the official loaders raise on a kubeconfig, token or key that cannot be used; a file of another shape trips them.
UNUSABLE = (
    official_config.ConfigException,
    OSError,
    ValueError,
    yaml.YAMLError,
    TypeError,
    AttributeError,
    LookupError,
)

# Reads the credentials into the configuration; True: also those that do not look expired.
Read = Callable[[bool], Awaitable[None]]


class BadCredentials(ValueError):
    """No usable kubeconfig and no ServiceAccount: says what was wrong."""


class Credentials:
    """The official client's configuration, read again when it has aged or was refused."""

    def __init__(self, configuration: Any, read: Read, monotonic: Callable[[], float]) -> None:
        self._configuration = configuration
        self._read = read
        self._monotonic = monotonic
        self._read_at = monotonic()
        self._reading = asyncio.Lock()

    @property
    def url(self) -> str:
        """The API server's address, without a slash at its end."""
        return str(self._configuration.host).rstrip("/")

    @property
    def proxy(self) -> str | None:
        """The HTTP proxy on the way there."""
        return self._configuration.proxy or _environment_proxy(self.url)

    @property
    def tls_server_name(self) -> str | None:
        """The name to verify in the server's certificate, where it differs from the address."""
        name: str | None = self._configuration.tls_server_name
        return name

    async def authorization(self) -> str:
        """Give the Authorization header's value, read again once it is a minute old; empty without a token."""
        if self._monotonic() - self._read_at >= REFRESH_SECONDS:
            await self._refresh(thorough=False)
        return self._value()

    async def refused(self, value: str) -> bool:
        """Say whether a call refused with that Authorization should be sent once more, with another one."""
        async with self._reading:
            if self._value() == value:
                await self._refresh(thorough=True)
        return self._value() != value

    def trust(self) -> ssl.SSLContext:
        """Give the official client's TLS context: authorities, client certificate, verification."""
        try:
            context: ssl.SSLContext = rest.RESTClientObject(self._configuration).ssl_context
        except UNUSABLE as problem:
            raise BadCredentials(f"client certificate or authority: {problem}") from problem
        return context

    def _value(self) -> str:
        return str(self._configuration.api_key.get("BearerToken") or "").strip()

    async def _refresh(self, thorough: bool) -> None:
        # Set first: of many calls in flight one reads, the others go on with what they have.
        self._read_at = self._monotonic()
        try:
            await self._read(thorough)
        except UNUSABLE:
            return  # The old credentials may still do; if not, the server's 401 says so.


async def load(kubeconfig: Path | None, context: str | None, monotonic: Callable[[], float]) -> Credentials:
    """Read a kubeconfig; without one the pod's ServiceAccount, else $KUBECONFIG or ~/.kube/config as kubectl does."""
    configuration = Configuration()
    if kubeconfig is None and os.environ.get("KUBERNETES_SERVICE_HOST"):
        read = _in_cluster(configuration)
    else:
        read = _from_file(configuration, kubeconfig, context)
    try:
        await read(True)
    except UNUSABLE as problem:
        raise BadCredentials(f"kubeconfig: {problem}") from problem
    return Credentials(configuration, read, monotonic)


def _in_cluster(configuration: Any) -> Read:
    async def read(_thorough: bool) -> None:
        official_config.load_incluster_config(client_configuration=configuration)

    return read


def _from_file(configuration: Any, path: Path | None, context: str | None) -> Read:
    loader: Any = None

    async def read(thorough: bool) -> None:
        nonlocal loader
        if thorough or loader is None:
            if path is not None and not path.is_file():
                raise BadCredentials(f'Not found: "{path}"')
            name = None if path is None else str(path)
            loader = await official_config.load_kube_config(name, context, configuration, persist_config=False)
        else:
            # The same loader reads token files again, but asks an exec plugin only once its token has expired.
            await loader.load_and_set(configuration)

    return read


def _environment_proxy(url: str) -> str | None:
    # Asked once: aiohttp's trust_env asks at every request, in a thread. Loopback never goes through one, as in Go.
    address = urlsplit(url)
    if _is_loopback(address.hostname or "") or urllib.request.proxy_bypass(address.netloc):
        return None
    return urllib.request.getproxies().get(address.scheme)


def _is_loopback(host: str) -> bool:
    if host == "localhost":
        return True
    try:
        return ipaddress.ip_address(host).is_loopback
    except ValueError:
        return False


def keepalive_socket(address: AddrInfoType) -> socket.socket:
    """Open a socket whose dead peer is noticed; aiohttp's socket factory."""
    family, kind, protocol, _, _ = address
    opened = socket.socket(family, kind, protocol)
    opened.setsockopt(socket.SOL_SOCKET, socket.SO_KEEPALIVE, 1)
    for option, value in KEEPALIVE:
        opened.setsockopt(socket.IPPROTO_TCP, option, value)
    return opened
