"""Flags as kubectl's users know them, and errors in kubectl's words."""

import argparse
from collections.abc import Sequence
from typing import NoReturn

# Taken as they are and handed to kubectl, which knows what they mean.
CONNECTION = (
    ("--kubeconfig", "path to the kubeconfig file"),
    ("--context", "name of the kubeconfig context"),
    ("--cluster", "name of the kubeconfig cluster"),
    ("--user", "name of the kubeconfig user"),
    ("--server", "address of the API server"),
    ("--token", "bearer token"),
    ("--as", "user to impersonate"),
    ("--as-group", "group to impersonate; may be given more than once"),
    ("--certificate-authority", "file with the authority of the API server's certificate"),
    ("--client-certificate", "file with the client's certificate"),
    ("--client-key", "file with the client's key"),
    ("--tls-server-name", "name to expect in the API server's certificate"),
    ("--request-timeout", "how long to wait for one answer, such as 5s"),
    ("--cache-dir", "kubectl's cache"),
)
SHORT = {"--server": "-s"}


class Failure(Exception):
    """Ends the command; the message goes to standard error as it is, an empty one where it has been said already."""


class Parser(argparse.ArgumentParser):
    """Reads a verb's flags."""

    def __init__(self, command: str, about: str) -> None:
        super().__init__(
            prog=command,
            usage=f"{command} [POD ...] [flags]",
            description=about,
            allow_abbrev=False,
            formatter_class=argparse.RawDescriptionHelpFormatter,
        )
        self._connection = self.add_argument_group("connection, as for kubectl")
        for flag, what in CONNECTION:
            names = [flag, SHORT[flag]] if flag in SHORT else [flag]
            self._connection.add_argument(*names, action="append", metavar="VALUE", help=what)
        self._connection.add_argument("--insecure-skip-tls-verify", action="store_true", help="trust any certificate")

    def read(self, words: Sequence[str]) -> argparse.Namespace:
        """Read the words of a command; what is wrong with them is a Failure."""
        found, unknown = self.parse_known_args(words)
        if unknown:
            what = "flag: " if unknown[0].startswith("-") else "argument: "
            self.error(f"unknown {what}{unknown[0]}")
        return found

    def error(self, message: str) -> NoReturn:
        """Say it as kubectl does."""
        raise Failure(f"error: {message}\nSee '{self.prog} --help' for usage.")


def connection(found: argparse.Namespace) -> list[str]:
    """Return the flags for kubectl."""
    flags = ["--insecure-skip-tls-verify=true"] if found.insecure_skip_tls_verify else []
    for flag, _ in CONNECTION:
        flags += [f"{flag}={value}" for value in getattr(found, flag.removeprefix("--").replace("-", "_")) or ()]
    return flags
