"""Completes `kubectl gpu …`: kubectl runs the executable `kubectl_complete-gpu` with the words that are there so far.

One candidate a line, last a directive of cobra's. It never fails: without an answer in time there is no candidate.
"""

import subprocess
import sys
from collections.abc import Sequence

from cli.kubectl_gpu.cost import FORMATS
from cli.kubectl_gpu.flags import CONNECTION, Failure
from cli.kubectl_gpu.kubectl import Kubectl
from cli.kubectl_gpu.main import VERBS

NO_FILES, FILES = 4, 0  # cobra's ShellCompDirectiveNoFileComp and -Default
SECONDS = 1.0
OWN_FLAGS = ("--all-namespaces", "--namespace", "--no-headers", "--output", "--selector")
OF_FILES = ("--kubeconfig", "--certificate-authority", "--client-certificate", "--client-key", "--cache-dir")
# What kubectl knows, by the flag whose value it is.
LISTS = {
    "--namespace": ("get", "namespaces", "-o", "name"),
    "--context": ("config", "get-contexts", "-o", "name"),
    "--cluster": ("config", "get-clusters"),
    "--user": ("config", "get-users"),
}
LONG = {"-n": "--namespace", "-o": "--output", "-l": "--selector", "-s": "--server"}
LISTED_HEADS = ("NAME",)  # of get-clusters and get-users, which know no -o name


def main(argv: Sequence[str] | None = None) -> int:
    """Print the candidates for the last word and what the shell may do beside them."""
    words = list(sys.argv[1:] if argv is None else argv) or [""]
    found, directive = candidates(words)
    last = words[-1].rpartition("=")[2] if words[-1].startswith("--") and "=" in words[-1] else words[-1]
    sys.stdout.write("".join(f"{one}\n" for one in found if one.startswith(last)) + f":{directive}\n")
    return 0


def candidates(words: Sequence[str]) -> tuple[list[str], int]:
    """Give what may stand in place of the last word, and the directive."""
    *before, last = words
    if not before:
        return list(VERBS), NO_FILES
    flag = last.partition("=")[0] if last.startswith("--") and "=" in last else before[-1]
    flag = LONG.get(flag, flag)
    if flag in OF_FILES:
        return [], FILES
    if flag == "--output":
        return list(FORMATS), NO_FILES
    if flag in LISTS:
        return _ask(LISTS[flag], before), NO_FILES
    if last.startswith("-"):
        return sorted([*OWN_FLAGS, *(name for name, _ in CONNECTION)]), NO_FILES
    return _ask(("get", "pods", "-o", "name", *_namespace(before)), before), NO_FILES


def _namespace(words: Sequence[str]) -> list[str]:
    """Return the namespace that is named already."""
    return _given(words, ("--namespace",))


def _given(words: Sequence[str], flags: Sequence[str]) -> list[str]:
    """Return those flags among the words that kubectl is to hear, each in one word."""
    joined = []
    for word, following in zip(words, [*words[1:], ""], strict=True):
        name, equals, value = word.partition("=")
        name = LONG.get(name, name)
        if name in flags and (equals or following):
            joined.append(f"{name}={value if equals else following}")
    return joined


def _ask(command: Sequence[str], words: Sequence[str]) -> list[str]:
    """Let kubectl list names; an error or a slow answer is an empty list."""
    try:
        kubectl = Kubectl.find(_given(words, [name for name, _ in CONNECTION]))
        done = subprocess.run(
            [kubectl.binary, *command, *kubectl.flags], capture_output=True, text=True, check=False, timeout=SECONDS
        )
    except (Failure, OSError, subprocess.TimeoutExpired):
        return []
    return [line.rpartition("/")[2] for line in done.stdout.splitlines() if line not in LISTED_HEADS]
