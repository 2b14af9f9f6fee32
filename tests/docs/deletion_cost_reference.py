"""The deletion-cost controller's configuration and annotations as a page, taken from the code that reads them."""

from __future__ import annotations

from cluster_model import deletion_cost
from deletion_cost import policy
from deletion_cost.config import Config
from tests.docs.markdown import code, paragraph, table
from tests.docs.webhook_reference import rows_of


def fields() -> list[str]:
    """The fields of the file with the comments that stand beside them in the code."""
    return [
        "## deletion-cost.yaml",
        "",
        *paragraph(
            "The file of `gpu-scheduler deletion-cost --config`. Everything may be left out. "
            "An unknown key or a wrong value ends the process with exit code 2, the path and the rule."
        ),
        *table(["field", "form", "default", "note"], list(rows_of(Config, Config()))),
    ]


def annotation_table() -> list[str]:
    """The annotations of a pod template, with the rules that events quote."""
    switch = [code(deletion_cost.SWITCH), "pod template, pod; label of a namespace", _rule(deletion_cost.SWITCH_RULE)]
    keys = [[code(name), "pod template", _rule(key.rule)] for name, key in policy.KEYS.items()]
    return [
        "## Annotations of the deletion cost",
        "",
        *table(["key", "on a", "must"], [switch, *keys]),
    ]


def _rule(rule: str) -> str:
    return rule.removeprefix("must ")
