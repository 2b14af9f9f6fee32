"""A decision in words: the sentence that kube-scheduler would say, a table for people, plain data for programs."""

from collections import Counter
from collections.abc import Iterable, Mapping
from typing import Any

import numpy as np

from scheduler_plugins.framework import FITS, Decision, Rejection

NO_NODES = "no nodes available to schedule pods"
MOST_ROWS = 20
CHOSEN = "*"


def sentence(decision: Decision) -> str:
    """Say why no node takes the pod, in the exact words of kube-scheduler's FitError; empty where one does."""
    nodes = len(decision.snapshot)
    if decision.fits:
        return ""
    if not nodes:
        return NO_NODES
    if decision.refused:
        return f"0/{nodes} nodes are available: {', '.join(_texts(decision.table[0]))}."
    return counted(nodes, reasons(decision))


def counted(nodes: int, texts: Mapping[str, int]) -> str:
    """Say of how many nodes each text is true, sorted as strings: the tenth of anything comes before the second."""
    listed = ", ".join(sorted(f"{count} {text}" for text, count in texts.items()))
    return f"0/{nodes} nodes are available: {listed}."


def reasons(decision: Decision) -> Mapping[str, int]:
    """Count the nodes that each text was said of; a node short of several things counts for each."""
    found: Counter[str] = Counter()
    for rejection, nodes in decision.counts():
        for text in _texts(rejection):
            found[text] += nodes
    return found


def table(decision: Decision, most: int = MOST_ROWS) -> str:
    """Lay the nodes out: those that fit by falling total with each plugin's score, then the others with reasons."""
    weights = {scorer.name: scorer.weight for scorer in decision.profile.scorers if scorer.name in decision.scores}
    heads = ["", "NODE", "TOTAL", *(f"{name} x{weight}" for name, weight in weights.items())]
    fitting = [
        [CHOSEN if place == decision.best else "", _name(decision, place), str(decision.total[place])]
        + [str(decision.scores[name][place]) for name in weights]
        for place in _ranked(decision)[:most]
    ]
    others = [_rejected_line(decision, row) for row in np.flatnonzero(decision.codes != FITS)[:most]]
    lines = (aligned([heads, *fitting]) if fitting else []) + others
    left = len(decision.snapshot) - len(fitting) - len(others)
    return "\n".join([*lines, f"and {left} more nodes"] if left else lines)


def as_json(decision: Decision, most: int = MOST_ROWS) -> dict[str, Any]:
    """Return the decision as plain data, with at most so many nodes of either kind."""
    meta = decision.pod.pod.metadata
    rejected = np.flatnonzero(decision.codes != FITS)
    return {
        "pod": {"namespace": meta.namespace, "name": meta.name, "uid": meta.uid},
        "schedulerName": decision.profile.scheduler_name,
        "node": decision.node,
        "message": sentence(decision),
        "nodes": len(decision.snapshot),
        "feasible": len(decision.rows),
        "reasons": dict(reasons(decision)),
        "curedBy": [] if decision.fits else sorted(decision.cured_by),
        "weights": {scorer.name: scorer.weight for scorer in decision.profile.scorers},
        "scores": [_scored(decision, place) for place in _ranked(decision)[:most]],
        "rejected": [_rejected(decision, int(row)) for row in rejected[:most]],
    }


def aligned(rows: Iterable[list[str]]) -> list[str]:
    """Pad the cells of each column to one width and return a line for each row."""
    """Pad the cells of a text table to their columns' widths."""
    rows = list(rows)
    widths = [max(len(row[column]) for row in rows) for column in range(len(rows[0]))]
    return ["  ".join(cell.ljust(width) for cell, width in zip(row, widths, strict=True)).rstrip() for row in rows]


def _scored(decision: Decision, place: int) -> dict[str, Any]:
    shares = {name: int(scores[place]) for name, scores in decision.scores.items()}
    return {"node": _name(decision, place), "total": int(decision.total[place]), "scores": shares}


def _rejected(decision: Decision, row: int) -> dict[str, Any]:
    rejection = decision.table[int(decision.codes[row]) - 1]
    return {"node": decision.snapshot.names[row], "plugin": rejection.plugin, "reasons": list(_texts(rejection))}


def _ranked(decision: Decision) -> list[int]:
    """Return the places of the feasible nodes from the best total on; of equals the first row, as the choice does."""
    return [int(place) for place in np.argsort(-decision.total, kind="stable")]


def _name(decision: Decision, place: int) -> str:
    row: int = decision.rows[place]
    return decision.snapshot.names[row]


def _rejected_line(decision: Decision, row: int) -> str:
    found = _rejected(decision, row)
    return f"  {found['node']}: {', '.join(found['reasons'])} ({found['plugin']})"


def _texts(rejection: Rejection) -> tuple[str, ...]:
    return tuple(reason.text for reason in rejection.reasons)
