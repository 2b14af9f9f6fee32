"""Asks the hints of one plugin about one change."""

from typing import Any

from cluster_model import objects
from cluster_model.label_selectors import EVERYTHING, Selector
from cluster_model.node_record import NodeRecord
from cluster_model.pod import PendingPod
from cluster_model.verdict import Event
from scheduler_plugins import registry
from scheduler_plugins.hints.interest import Hint
from scheduler_plugins.hints.table import HINTS


def ask(
    plugin: str,
    event: Event,
    pod: PendingPod,
    old: Any = None,
    new: Any = None,
    args: Any = None,
    owners: Selector = EVERYTHING,
) -> Hint | None:
    """Say what the plugin's hint is; None where it does not hear of the event."""
    bound = registry.PLUGINS[plugin].args() if args is None else args
    heard = [one for one in HINTS[plugin](bound, lambda _: owners) if event in one.judges]
    changed = _read(old), _read(new)
    said = [one.judges[event](pod, *changed) for one in heard if one.concerns is None or one.concerns(*changed)]
    return next((one for one in said if one is not Hint.SKIP), Hint.SKIP if heard else None)


def _read(found: Any) -> Any:
    return NodeRecord.read(found, None, ()) if isinstance(found, objects.Node) else found
