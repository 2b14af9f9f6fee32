"""A TCP relay to a control plane whose connections a test can break: the network between us and the API server."""

from __future__ import annotations

import asyncio
import threading
from collections.abc import Iterator
from contextlib import contextmanager

from tests.control_plane.cluster import ControlPlane


@contextmanager
def relay(plane: ControlPlane) -> Iterator[Relay]:
    """A TCP relay to the API server whose connections the test can break."""
    relaying = Relay(plane)
    thread = threading.Thread(target=relaying.run, daemon=True)
    thread.start()
    try:
        relaying.ready.wait(10)
        yield relaying
    finally:
        relaying.stop()
        thread.join(10)


class Relay:
    """Runs in a thread of its own, so that no test's event loop has to serve it."""

    def __init__(self, plane: ControlPlane) -> None:
        self._plane = plane
        self._target = plane.url.removeprefix("https://").rsplit(":", 1)
        self._open = True
        self.kubeconfig = plane.home / f"relay-{id(self)}.kubeconfig"
        self._writers: set[asyncio.StreamWriter] = set()
        self._loop = asyncio.new_event_loop()
        self._stopping = asyncio.Event()
        self.ready = threading.Event()

    def run(self) -> None:
        self._loop.run_until_complete(self._serve())
        self._loop.close()

    def break_all(self) -> None:
        """Reset every connection that is open."""
        self._loop.call_soon_threadsafe(self._abort)

    def cut_off(self) -> None:
        """Reset every connection, new ones too, until `restore`."""
        self._open = False
        self.break_all()

    def restore(self) -> None:
        self._open = True

    def stop(self) -> None:
        self._loop.call_soon_threadsafe(self._stopping.set)

    def _abort(self) -> None:
        for writer in self._writers:
            writer.transport.abort()

    async def _serve(self) -> None:
        server = await asyncio.start_server(self._pass, "127.0.0.1", 0)
        url = f"https://127.0.0.1:{server.sockets[0].getsockname()[1]}"
        self.kubeconfig.write_text(self._plane.kubeconfig.read_text().replace(self._plane.url, url))
        self.ready.set()
        async with server:
            await self._stopping.wait()
            self._abort()
            await asyncio.sleep(0.05)

    async def _pass(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        if not self._open:
            writer.transport.abort()
            return
        far_reader, far_writer = await asyncio.open_connection(*self._target)
        self._writers |= {writer, far_writer}
        await asyncio.gather(_pump(reader, far_writer), _pump(far_reader, writer))
        self._writers -= {writer, far_writer}


async def _pump(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
    try:
        while data := await reader.read(1 << 16):
            writer.write(data)
            await writer.drain()
    except OSError:
        pass
    finally:
        writer.close()
