"""Our verdict on configurations is the real kube-scheduler's: the same files load, and the others fail in its words.

Go's maps have no order: several errors may be told in any, and the comparison does not mind.
"""

import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from gpu_scheduler.kube_config import building, check, defaults, go_text, names
from gpu_scheduler.kube_config.validation import ProfileRead
from tests.control_plane import build
from tests.gpu_scheduler import configurations, odd_configurations
from tests.gpu_scheduler.real_config import Answer, Scheduler

pytestmark = [pytest.mark.control_plane, pytest.mark.timeout(900)]

CASES = Path(__file__).parents[2].parent / "shared" / "cases" / "scheduler_configs"
SEEDS = range(120)
PLUGINS = building.Plugins(names.POINTS, frozenset())
PLACES = [f"{{{point}: {{enabled: [{{name: {name}}}]}}}}" for name in names.POINTS for point in building.ORDER[::5]]


@pytest.fixture(scope="module")
def scheduler(tmp_path_factory: pytest.TempPathFactory) -> Scheduler:
    return Scheduler(build.control_plane() / "kube-scheduler", tmp_path_factory.mktemp("configurations"))


def ours(text: str) -> str | None:
    """Our verdict where no plugin of others is at hand, in the form in which Go prints several errors."""
    errors = check.check(text, {}, alone=True).errors
    return f"[{', '.join(errors)}]" if len(errors) > 1 else next(iter(errors), None)


def without_order(error: str | None) -> list[str] | None:
    return None if error is None else sorted(re.split(", ", error.strip("[]")))


def differing(texts: list[str], answers: list[Answer]) -> list[tuple[str, str | None, str | None]]:
    both = [(text, answer.error, ours(text)) for text, answer in zip(texts, answers, strict=True)]
    return [(text, real, mine) for text, real, mine in both if without_order(real) != without_order(mine)]


def test_configurations_made_at_random_get_the_same_verdict_and_text(scheduler: Scheduler) -> None:
    texts = [configurations.text(seed) for seed in SEEDS]
    answers = scheduler.ask_all(texts)

    assert differing(texts, answers) == []
    assert {answer.error is None for answer in answers} == {True, False}


def test_odd_configurations_get_the_same_verdict_and_text(scheduler: Scheduler) -> None:
    texts = [*odd_configurations.TEXTS]

    assert differing(texts, scheduler.ask_all(texts)) == []


def test_every_plugin_works_where_it_works_in_kube_scheduler(scheduler: Scheduler) -> None:
    texts = [f"{odd_configurations.HEAD}profiles: [{{plugins: {place}}}]" for place in PLACES]

    assert differing(texts, scheduler.ask_all(texts)) == []


def test_public_files_of_v1_get_the_same_verdict_and_text(scheduler: Scheduler) -> None:
    if not CASES.is_dir():
        pytest.skip("the collection of public files is not beside this checkout")
    found = [path.read_text(encoding="utf-8") for path in sorted(CASES.glob("*-v1-*.yaml"))]
    texts = [re.sub(r"(?m)^( *kubeconfig:).*$", r'\1 ""', text) for text in found]  # it would look for that file

    assert texts
    assert differing(texts, scheduler.ask_all(texts)) == []


def test_the_completed_file_has_our_lists_args_and_order(scheduler: Scheduler) -> None:
    """Defaults, merging and the spreading of multiPoint, as it writes and logs them."""
    made = map(configurations.text, range(1000, 1100))
    # Resources that an extender manages are written over those that NodeResourcesFit ignores.
    texts = [text for text in made if "ignoredByScheduler" not in text and check.check(text, {}, alone=True).valid]
    differences = []
    for text, answer in zip(texts, scheduler.ask_all(texts), strict=True):
        reads = check.check(text, {}, alone=True).reads
        pairs = zip(reads, answer.completed["profiles"], answer.plugins, strict=True)
        differences += [(text, *found) for read, written, logged in pairs for found in compared(read, written, logged)]
    assert len(texts) > 10
    assert differences == []


def compared(read: ProfileRead, written: dict[str, Any], logged: dict[str, Any]) -> Iterator[tuple[str, Any, Any]]:
    """Yield what differs: its name, its value there and here."""
    sets = building.merged(read)
    for point, found in written["plugins"].items():
        mine = [(entry.name, entry.weight or 0) for entry in sets[point].enabled] if point in sets else []
        theirs = [(entry["name"], entry["weight"]) for entry in found.get("enabled", ())]
        if mine != theirs:
            yield f"merged {point}", theirs, mine
    for point, entries in building.running(sets, PLUGINS).items():
        theirs = [(entry["Name"], entry["Weight"]) for entry in logged[point[0].upper() + point[1:]]["Enabled"] or ()]
        mine = [(entry.name, (entry.weight or 1) if point == "score" else 0) for entry in entries]
        if point == "placementScore":  # its weight is not logged
            theirs = [(name, 0) for name, _ in theirs]
        if mine != theirs:
            yield f"running {point}", theirs, mine
    given = {
        one.get("name", ""): typed for one, typed in zip(read.content.get("pluginConfig", ()), read.typed, strict=True)
    }
    for configured in written["pluginConfig"]:
        name, theirs = configured["name"], configured.get("args")
        mine = shown(given[name] if name in given else defaults.BY_NAME[name]({}))
        if mine is not None and mine != shown(theirs):
            yield f"args of {name}", shown(theirs), mine


def shown(args: Any) -> Any:
    """Args without their type, times as text, and what is empty left out."""
    if args is None:
        return None
    times = {
        name: go_text.duration(args[name])
        for name in ("filterTimeout", "bindingTimeout")
        if args.get(name, "") != "" and isinstance(args[name], int)
    }
    return _bare({**args, **times})


def _bare(value: Any) -> Any:
    if isinstance(value, dict):
        kept = {name: _bare(one) for name, one in value.items() if name not in ("apiVersion", "kind")}
        return {name: one for name, one in kept.items() if one not in (None, "", 0, False, [], {})}
    return [_bare(one) for one in value] if isinstance(value, list) else value
