"""The command's verbs and options as a page, taken from the parsers that read them."""

from __future__ import annotations

import argparse
import importlib
from dataclasses import dataclass, field
from typing import Any

from cli import main
from cli.kubectl_gpu import main as kubectl_gpu
from cli.kubectl_gpu.flags import CONNECTION
from tests.docs.markdown import code, paragraph, table

PROGRAM = "gpu-scheduler"


@dataclass(slots=True)
class Option:
    """One option or argument of a verb."""

    names: tuple[str, ...]
    default: str
    about: str


@dataclass(slots=True)
class Commands:
    """What the parsers declared, by command without the program's name: "certs ensure"."""

    options: dict[str, list[Option]] = field(default_factory=dict)


def commands() -> Commands:
    """Let every verb declare its options to a parser that takes notes."""
    noted = Commands()
    for verb, (module, _) in main.VERBS.items():
        importlib.import_module(module).add_arguments(_noting(noted)(prog=f"{PROGRAM} {verb}"))
    return noted


def kubectl_commands() -> Commands:
    """The same of kubectl's plugin, without what it hands on to kubectl."""
    noted = Commands()
    for verb, (module, _) in kubectl_gpu.VERBS.items():
        importlib.import_module(module).add_arguments(_noting(noted)(prog=verb))
    return noted


def kubectl_section() -> list[str]:
    """A table of the plugin's verbs and one of their options."""
    rows = [
        [code(command), ", ".join(map(code, option.names)), code(option.default), option.about]
        for command, options in kubectl_commands().options.items()
        for option in options
    ]
    return [
        "## The kubectl plugin",
        "",
        *paragraph(f"Every verb also takes kubectl's own {', '.join(code(flag) for flag, _ in CONNECTION)}."),
        *table(["kubectl gpu", "what"], [[code(verb), about] for verb, (_, about) in kubectl_gpu.VERBS.items()]),
        *table(["kubectl gpu", "option", "default", "what"], rows),
    ]


def section() -> list[str]:
    """A table of the verbs and one of their options."""
    rows = [
        [code(command), ", ".join(map(code, option.names)), code(option.default), option.about]
        for command, options in commands().options.items()
        for option in options
    ]
    return [
        "## The command",
        "",
        *table(["verb", "what"], [[code(verb), about] for verb, (_, about) in main.VERBS.items()]),
        *table(["command", "option", "default", "what"], rows),
    ]


def _noting(noted: Commands) -> type[argparse.ArgumentParser]:
    class Noting(argparse.ArgumentParser):
        """Notes what is declared to it; parsers of sub-commands are of the same class."""

        def add_argument(self, *names: str, **settings: Any) -> argparse.Action:
            action = super().add_argument(*names, **settings)
            if action.dest != "help":
                noted.options.setdefault(self.prog.removeprefix(f"{PROGRAM} "), []).append(_option(action))
            return action

    return Noting


def _option(action: argparse.Action) -> Option:
    names = tuple(action.option_strings) or (action.dest.upper(),)
    default = "required" if action.required and action.option_strings else action.default
    about = (action.help or "").replace(" (%(default)s)", "").replace(" (default: %(default)s)", "")
    choices = f"one of {', '.join(map(str, action.choices))}" if action.choices else ""
    return Option(names, "" if default in (None, []) else str(default), about or choices)
