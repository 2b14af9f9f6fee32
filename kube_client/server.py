"""A process's own small HTTP server: /healthz, /livez, /readyz and /metrics. It answers, and changes nothing."""

from collections.abc import AsyncIterator, Awaitable, Callable, Mapping
from contextlib import asynccontextmanager
from types import MappingProxyType

from aiohttp import web

from kube_client.slis import Findings

CONTENT_TYPE = "text/plain; version=0.0.4; charset=utf-8"

Check = Callable[[], str | None]  # what is wrong; None when nothing is
Pages = Mapping[str, Callable[[], AsyncIterator[bytes]]]  # further metrics by path, in pieces
Handler = Callable[[web.Request], Awaitable[web.StreamResponse]]


class CannotServe(OSError):
    """The address is not ours to serve on."""


NO_PAGES: Pages = MappingProxyType({})


def application(
    live: Mapping[str, Check], ready: Mapping[str, Check], metrics: Callable[[], bytes], pages: Pages = NO_PAGES
) -> web.Application:
    """Build the server's routes; the checks are asked at each probe."""
    app, findings = web.Application(), Findings()
    for probe, checks in {"healthz": live, "livez": live, "readyz": {**live, **ready}}.items():
        app.router.add_get(f"/{probe}", _probe(checks, probe, findings))
    app.router.add_get("/metrics", _metrics(metrics))
    for path, pieces in {"/metrics/slis": findings.page, **pages}.items():
        app.router.add_get(path, _page(pieces))
    return app


@asynccontextmanager
async def serve(app: web.Application, address: str, port: int) -> AsyncIterator[int]:
    """Serve while the context lasts; give the port, which is free and new where 0 was asked for."""
    runner = web.AppRunner(app, access_log=None)
    await runner.setup()
    try:
        try:
            await web.TCPSite(runner, address, port).start()
        except OSError as error:
            raise CannotServe(f"--bind-address, --port: {address}:{port}: {error.strerror or error}") from error
        yield int(runner.addresses[0][1])
    finally:
        await runner.cleanup()


def _probe(checks: Mapping[str, Check], probe: str, findings: Findings) -> Handler:
    async def answer(_request: web.Request) -> web.Response:
        found = {name: check() for name, check in checks.items()}
        for name, wrong in found.items():
            findings.note(name, probe, not wrong)
        failed = any(found.values())
        lines = [f"[-]{name} failed: {wrong}" if wrong else f"[+]{name} ok" for name, wrong in found.items()]
        return web.Response(status=503 if failed else 200, text="\n".join(lines) + "\n" if failed else "ok")

    return answer


def _metrics(text: Callable[[], bytes]) -> Handler:
    async def answer(_request: web.Request) -> web.Response:
        return web.Response(body=text(), headers={"Content-Type": CONTENT_TYPE})

    return answer


def _page(pieces: Callable[[], AsyncIterator[bytes]]) -> Handler:
    async def answer(request: web.Request) -> web.StreamResponse:
        response = web.StreamResponse(headers={"Content-Type": CONTENT_TYPE})
        await response.prepare(request)
        async for piece in pieces():
            await response.write(piece)
        await response.write_eof()
        return response

    return answer
