"""Reads from the API server through kubectl: its configuration, its ways to log in, its rights, its words for errors.

A plugin is started by kubectl, so one is there; our own client would need more packages and know fewer logins.
"""

import shutil
import subprocess
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Generic, TypeVar
from urllib.parse import urlencode

import msgspec

from cli.kubectl_gpu.flags import Failure

T = TypeVar("T")

POD_NAMESPACE = Path("/var/run/secrets/kubernetes.io/serviceaccount/namespace")


class List(msgspec.Struct, Generic[T], frozen=True):
    """The items of a collection; Go writes an empty one as null."""

    items: list[T] | None = None


class Refused(Exception):
    """A read that kubectl could not do; the message is kubectl's."""


@dataclass(frozen=True, slots=True)
class Kubectl:
    """One identity at one cluster."""

    binary: str
    flags: Sequence[str]

    @classmethod
    def find(cls, flags: Sequence[str]) -> "Kubectl":
        """Take the kubectl on PATH."""
        binary = shutil.which("kubectl")
        if binary is None:
            raise Failure("error: kubectl is not on PATH")
        return cls(binary, flags)

    def namespace(self) -> str:
        """Return the namespace that kubectl would take itself."""
        words = ["config", "view", "--minify", "-o", "jsonpath={..namespace}"]
        done = subprocess.run([self.binary, *words, *self.flags], capture_output=True, text=True, check=False)
        if done.returncode == 0 and done.stdout:
            return done.stdout
        # kubectl in a pod, without a kubeconfig. Whatever else is wrong the next call says.
        in_pod = done.returncode != 0 and POD_NAMESPACE.is_file()
        return POD_NAMESPACE.read_text().strip() if in_pod else "default"

    def read(self, path: str, kind: type[T], params: Mapping[str, str] | None = None) -> list[T]:
        """Read a collection; kubectl's own words, and its questions for a login, go to standard error."""
        done = subprocess.run(self._command(path, params), stdout=subprocess.PIPE, check=False)
        if done.returncode:
            raise Failure("")
        return _items(path, done.stdout, kind)

    def try_read(self, path: str, kind: type[T]) -> list[T]:
        """Read a collection that may be kept from us: Refused holds kubectl's words."""
        done = subprocess.run(self._command(path, None), capture_output=True, check=False)
        if done.returncode:
            raise Refused(done.stderr.decode(errors="replace").strip())
        return _items(path, done.stdout, kind)

    def _command(self, path: str, params: Mapping[str, str] | None) -> list[str]:
        query = f"?{urlencode(params)}" if params else ""
        return [self.binary, "get", "--raw", path + query, *self.flags]


def _items(path: str, answer: bytes, kind: type[T]) -> list[T]:
    try:
        return msgspec.json.decode(answer, type=List[kind]).items or []  # type: ignore[valid-type]
    except (msgspec.DecodeError, UnicodeDecodeError) as problem:
        raise Failure(f"error: {path}: {problem}") from problem
