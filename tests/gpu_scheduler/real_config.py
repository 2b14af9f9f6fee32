"""Asks the real kube-scheduler for its verdict on a configuration: it stops before it talks to any API server."""

import json
import re
import subprocess
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import yaml

AT_ONCE = 2
SECONDS = 60.0
UNREACHABLE = "http://127.0.0.1:1"
PLUGINS = re.compile(r'"the scheduler starts to work with those plugins" Plugins=(\{.*\})$', re.MULTILINE)
ONE_LINE = re.compile(r'"command failed" err=(".*")$', re.MULTILINE)
LINES = re.compile(r'"command failed" err=<\n((?:\t.*\n)*) >')


@dataclass(frozen=True, slots=True)
class Answer:
    """What it said: the error, or the completed file and the plugins of each profile by extension point."""

    error: str | None
    completed: dict[str, Any]
    plugins: tuple[dict[str, Any], ...]


@dataclass(frozen=True, slots=True)
class Scheduler:
    """The binary, and a folder for its files."""

    binary: Path
    folder: Path

    def ask(self, text: str, number: int = 0) -> Answer:
        """Let it load one file, write the completed one and end."""
        file, out = self.folder / f"{number}.yaml", self.folder / f"{number}.out"
        file.write_text(text, encoding="utf-8", newline="")
        command: list[str | Path] = [self.binary, "--config", file, "--master", UNREACHABLE, "--secure-port", "0"]
        done = subprocess.run(
            [*command, "--write-config-to", out, "-v", "2"], capture_output=True, timeout=SECONDS, check=False
        )
        said = done.stderr.decode()
        if done.returncode:
            return Answer(_error(said), {}, ())
        return Answer(None, yaml.safe_load(out.read_text()), tuple(map(json.loads, PLUGINS.findall(said))))

    def ask_all(self, texts: list[str]) -> list[Answer]:
        """Let it load many."""
        with ThreadPoolExecutor(AT_ONCE) as pool:
            return list(pool.map(self.ask, texts, range(len(texts))))


def _error(said: str) -> str:
    found = ONE_LINE.search(said)
    if found is not None:
        return _unquoted(found[1])
    lines = LINES.search(said)
    assert lines is not None, said
    return "\n".join(line[1:] for line in lines[1].splitlines())


def _unquoted(text: str) -> str:
    """Read a string quoted by Go, which knows escapes that JSON does not."""
    wider = re.sub(r"\\x([0-9a-f]{2})", r"\\u00\1", text)
    return str(json.loads(wider.replace("\\a", "\\u0007").replace("\\v", "\\u000b")))
