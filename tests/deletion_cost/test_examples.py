"""The examples of the documentation run as they are told to be run, and say what they should."""

from __future__ import annotations

import contextlib
import os
import re
import socket
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest

from tests.deletion_cost import serving


def command(example: str) -> list[str]:
    """The command line of an example's docstring, its ports replaced by free ones."""
    [line] = re.findall(rf"^\S+ .*{example}.*$", (serving.EXAMPLES / f"{example}.py").read_text(), re.MULTILINE)
    words = line.replace("0.0.0.0:8000", "127.0.0.1:{port}").replace("9000 9001", "{port} {endpoint_port}").split()
    return words[1:] if words[0] == "python" else ["-m", *words]


@pytest.mark.parametrize("report", ["yes", "no"])
def test_flask_under_gunicorn(tmp_path: Path, report: str) -> None:
    """Four workers, forty requests for ten numbers; what one worker has in its cache another has not."""
    where = {"REPORT_DELETION_COST": report}
    with serving.running(tmp_path, command("flask_gunicorn"), where, serving.EXAMPLES) as server:
        with ThreadPoolExecutor(8) as pool:
            answers = list(pool.map(server.get, [f"/square/{number % 10}" for number in range(40)]))

        assert [int(content) for _, content in answers] == [(number % 10) ** 2 for number in range(40)]
        server.until_reads(active_requests=0, served=40)
        assert 0 <= server.reading()["cache_hit_rate"] <= 0.75


def test_asyncio_server(tmp_path: Path) -> None:
    where = {**os.environ, "REPORT_DELETION_COST": "no"}
    with serving.running(tmp_path, command("asyncio_server"), where, serving.EXAMPLES) as server:
        with contextlib.ExitStack() as stack:
            for _ in range(3):
                client = stack.enter_context(socket.create_connection(("127.0.0.1", server.port), timeout=10))
                client.sendall(b"hello\n")
                assert client.recv(100) == b"hello\n"
            server.until_reads(server.endpoint_port, connections=3, active_requests=0, served=3)
        server.until_reads(server.endpoint_port, connections=0)
