"""A program of ours as a process on a control plane: its log lines, and its own server. It knows no verb's options."""

import re

import urllib3

from tests.control_plane.processes import Process


class Program:
    """A running process that logs in our form and serves probes and metrics."""

    def __init__(self, process: Process) -> None:
        self.process = process
        self._http = urllib3.PoolManager()
        self._port = 0

    def lines(self, message: str) -> list[str]:
        """The log lines with that message."""
        text = self.process.log.read_text() if self.process.log.exists() else ""
        return [line for line in text.splitlines() if f"msg={message}" in line or f'msg="{message}"' in line]

    def get(self, path: str) -> tuple[int, str]:
        """Ask the process's own server; status 0 where it does not answer."""
        if not self._port:
            found = re.search(r"port=(\d+)", "".join(self.lines("serving")))
            self._port = int(found[1]) if found else 0
        if not self._port:
            return 0, ""
        answer = self._http.request("GET", f"http://127.0.0.1:{self._port}{path}", retries=False)
        return answer.status, answer.data.decode()
