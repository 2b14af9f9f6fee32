"""Hints of the plugins that count GPUs or read their model: a node that would do, or a pod that gave GPUs back."""

from cluster_model import gpu_names
from cluster_model.node_record import NodeRecord
from cluster_model.pod import PendingPod
from cluster_model.pod_changes import OF_WAITING
from cluster_model.verdict import Event
from scheduler_plugins.hints.interest import Hint, Interest, Interests, Judge, when


def scheduler() -> Interests:
    """GPUScheduler: the node has GPUs now and had none before."""

    def judge(_: PendingPod, old: NodeRecord | None, new: NodeRecord) -> Hint:
        return when(new.has_gpu and (old is None or not old.has_gpu))

    on_nodes: dict[Event, Judge] = dict.fromkeys((Event.NODE_ADD, Event.NODE_ALLOCATABLE), judge)
    return (Interest(on_nodes | dict.fromkeys(OF_WAITING, _asks_for_other_gpus)),)


def topology() -> Interests:
    """GPUTopologyPlugin: GPUs were given back, or a node that would do when empty is new or another than before."""
    anyhow: dict[Event, Judge] = {
        Event.ASSIGNED_POD_DELETE: _gpus_left,
        Event.ASSIGNED_POD_SCALE_DOWN: lambda _, old, new: when(_held(old) > _held(new)),
        **dict.fromkeys(OF_WAITING, _asks_for_other_gpus),
    }
    on_nodes: dict[Event, Judge] = dict.fromkeys((Event.NODE_ADD, Event.NODE_ALLOCATABLE, Event.NODE_LABEL), _would_do)
    return (Interest(anyhow), Interest(on_nodes, lambda pod: (pod.request.gpu.units, pod.request.gpu.models)))


def _asks_for_other_gpus(_: PendingPod, old: PendingPod, new: PendingPod) -> Hint:
    return when(old.request.gpu != new.request.gpu)


def _gpus_left(_: PendingPod, old: PendingPod, __: None) -> Hint:
    placed = old.pod.spec.node_name or old.pod.status.nominated_node_name
    return when(bool(placed) and _held(old) > 0)


def _held(pod: PendingPod) -> int:
    return pod.request.resources.get(gpu_names.GPU, 0)


def _would_do(pod: PendingPod, old: NodeRecord | None, new: NodeRecord) -> Hint:
    """Look at the number and the model; the memory of one GPU is left to the next attempt."""
    gpu, there = pod.request.gpu, new.allocatable.get(gpu_names.GPU, 0)
    if there < gpu.units or (gpu.models and new.facts.model not in {model.name for model in gpu.models}):
        return Hint.SKIP
    return when(old is None or old.facts != new.facts or there > old.allocatable.get(gpu_names.GPU, 0))
