"""A scheduler with plugins of users: classes of a test, enabled by a real configuration."""

import asyncio
from collections.abc import Awaitable, Callable
from dataclasses import dataclass, field

from gpu_scheduler import config, discovery, profiles
from gpu_scheduler.discovery import Found
from gpu_scheduler.extension_points import BindPlugin, Handle
from gpu_scheduler.profiles import Assembly
from tests.gpu_scheduler.build import SCHEDULER
from tests.gpu_scheduler.fakes import World

HEAD = "apiVersion: kubescheduler.config.k8s.io/v1\nkind: KubeSchedulerConfiguration\n"


def announced(*classes: type) -> Found:
    """What discovery would give for classes that are announced by their names."""
    return Found({one.__name__: discovery.read(one) for one in classes})


def everywhere(*classes: type) -> str:
    """A profile that enables plugins at all their points, those that bind before DefaultBinder."""
    binders = [one.__name__ for one in classes if issubclass(one, BindPlugin)]
    bind = f", bind: {_enabled(*binders, 'DefaultBinder')}" if binders else ""
    return f"profiles: [{{plugins: {{multiPoint: {_enabled(*(one.__name__ for one in classes))}{bind}}}}}]"


def _enabled(*names: str) -> str:
    return f"{{enabled: [{', '.join(f'{{name: {name}}}' for name in names)}]}}"


def assembled(text: str, found: Found, handle: Handle) -> Assembly:
    """Read a configuration and make its only profile."""
    read = config.parse(HEAD + text, profiles.known(found), "own")
    return profiles.assemble(read.profiles, found, handle)[SCHEDULER]


@dataclass
class Plugged(World):
    """The parts, with plugins."""

    classes: tuple[type, ...] = ()
    text: str = ""
    plugins: dict[str, object] = field(default_factory=dict)

    def assemble(self, handle: Handle) -> Assembly:
        found = announced(*self.classes)
        made = assembled(self.text or everywhere(*self.classes), found, handle)
        self.plugins = dict(made.users)
        return made


def with_plugins(test: Callable[[Plugged], Awaitable[None]], *classes: type, text: str = "") -> None:
    """Run a test on two nodes of eight GPUs."""

    async def run() -> None:
        world = Plugged(classes=classes, text=text)
        world.nodes(["n", "other"], gpu=8)
        await test(world)
        await world.binder.abandon()

    asyncio.run(run())
