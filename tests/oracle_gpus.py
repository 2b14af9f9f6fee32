"""Twins of the plugins that count GPUs or read their model."""

from fractions import Fraction

from cluster_model import gpu_names
from cluster_model.pod import PendingPod
from tests.oracle_view import Said, View

GPU = "nvidia.com/gpu"


def gpu_scheduler(pod: PendingPod, view: View) -> list[Said]:
    has_gpu = any(gpu_names.asks_for_gpu(name) and view.has(name) > 0 for name in view.node.status.allocatable)
    if pod.request.gpu.asks and not has_gpu:
        return [("Node does not have GPU", False)]
    return []


def enough_memory(shown_mib: int, asked_mib: int) -> bool:
    return shown_mib >= Fraction(92, 100) * asked_mib


def gpu_kind(pod: PendingPod, view: View) -> str | None:
    """What is wrong with the model or the memory, if anything."""
    gpu, facts = pod.request.gpu, view.facts
    asked = [gpu.memory_mib or 0]
    if gpu.models:
        if facts.model is None:
            return "node(s) had no known GPU model"
        sizes = [model.memory_mib or 0 for model in gpu.models if model.name == facts.model]
        if not sizes:
            return "node(s) didn't match GPU model"
        asked.append(min(sizes))
    if max(asked) > 0 and facts.memory_mib is None:
        return "node(s) had no known GPU memory"
    if max(asked) > 0 and not enough_memory(facts.memory_mib or 0, max(asked)):
        return "Insufficient GPU memory"
    return None


def gpu_topology(pod: PendingPod, view: View) -> list[Said]:
    gpu = pod.request.gpu
    if not gpu.asks:
        return []
    wrong = gpu_kind(pod, view)
    if gpu.units and view.has(GPU) - view.held(GPU) < gpu.units:
        return [(f"Insufficient {GPU}", wrong is None and gpu.units <= view.has(GPU))]
    return [] if wrong is None else [(wrong, False)]


def gpu_topology_score(pod: PendingPod, view: View, count: str = "free") -> int:
    total, taken = view.has(GPU), view.held(GPU)
    if not pod.request.gpu.asks or total == 0:
        return 0
    counted = total - taken if count == "free" else total
    fit = max(0, 100 - 10 * abs(counted - pod.request.gpu.units))
    said = view.facts.utilization
    idle = int(100 * (1 - (said if said is not None else min(taken / total, 1.0))))
    return (7 * fit + 3 * idle) // 10


def gpu_memory_score(pod: PendingPod, view: View) -> int:
    return (view.facts.memory_mib or 0) // 1024 if pod.request.gpu.asks else 0
