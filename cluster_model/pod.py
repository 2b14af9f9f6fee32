"""A pod as the scheduler sees it: the API object beside what it asks for, read once."""

from dataclasses import dataclass

from cluster_model import objects, request


@dataclass(frozen=True, slots=True)
class PendingPod:
    """A pod and the reading of its request; built once when the pod is seen, then shared by every attempt."""

    pod: objects.Pod
    request: request.PodRequest

    @classmethod
    def read(cls, pod: objects.Pod) -> "PendingPod":
        return cls(pod, request.parse(pod))
