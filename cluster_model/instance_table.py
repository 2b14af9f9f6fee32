"""GPUs by cloud instance type, from the table shipped with the package: the one file that this package reads.

Knows instance types only; what a node's labels say is for others to weigh against it.
"""

import csv
import functools
import re
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from types import MappingProxyType

from cluster_model import gpu_models

_FILE = Path(__file__).with_name("gpu_instances.csv")
# OCI writes model and number of cards into the name: BM.GPU.H100.8.
_OCI_SHAPE = re.compile(r"(?:bm|vm)\.gpu\.(?P<model>[a-z0-9.-]{1,40})\.(?P<cards>[1-9][0-9]?)")


@dataclass(frozen=True, slots=True)
class Instance:
    """The GPUs of one instance type."""

    name: str
    model: str  # canonical
    cards: int  # 0: a fraction of one card
    memory_mib: int | None  # per card, or of the fraction
    interconnect: str  # none, pcie, nvlink-…, nvswitch, xgmi, fractional; empty when unknown

    @property
    def fractional(self) -> bool:
        """Whether the machine holds less than one card."""
        return self.cards == 0


def find(instance_type: str) -> Instance | None:
    """Look up an instance type in any case, with or without HyperPod's `ml.` prefix."""
    name = instance_type.strip().lower().removeprefix("ml.")
    return table().get(name) or _from_oci_shape(name)


@functools.cache
def table() -> Mapping[str, Instance]:
    """Return the whole table by lower-case instance type; read once."""
    with _FILE.open(encoding="utf-8", newline="") as file:
        return MappingProxyType({row["instance_type"].lower(): _instance(row) for row in csv.DictReader(file)})


def _instance(row: Mapping[str, str]) -> Instance:
    return Instance(
        name=row["instance_type"],
        model=row["gpu_model"],
        cards=int(row["gpu_count"]),
        memory_mib=int(row["gpu_memory_mib"]),
        interconnect=row["interconnect"],
    )


def _from_oci_shape(name: str) -> Instance | None:
    shape = _OCI_SHAPE.fullmatch(name)
    model = gpu_models.canonical(shape["model"]) if shape else None
    if shape is None or model is None:
        return None
    return Instance(name, model.name, int(shape["cards"]), model.memory_mib, interconnect="")
