"""`gpu-scheduler read pod`: how the pod of a workload is understood, as plain data. Reads no file itself."""

from collections.abc import Sequence
from typing import Any

from cluster_model import pod_reading, workload
from cluster_model.claims import Context
from cluster_model.verdict import BadRequest, Problem


def describe(documents: Sequence[Any]) -> dict[str, Any]:
    """Describe the last object; claims and classes before it are its context. BadRequest if it holds no pod."""
    found = workload.flatten(documents)
    if not found:
        raise BadRequest(Problem("document", "", "must hold a workload"))
    reading = pod_reading.read(workload.find(found[-1]), Context.of(found[:-1]))
    return {
        "gpus": reading.gpus,
        "resources": dict(sorted(reading.resources.items())),
        "models": "any" if reading.models is None else list(reading.models),
        "memory_mib": reading.memory_mib,
        "sharing": str(reading.sharing),
        "fraction": reading.fraction,
        "notes": list(reading.notes),
    }
