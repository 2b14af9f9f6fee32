"""A pod as the scheduler sees it: the API object beside what it asks for, read once."""

from dataclasses import dataclass

import msgspec

from cluster_model import objects, request
from cluster_model.gpu_models import KnownModels
from cluster_model.request import Rules


def rules(extra_models: tuple[str, ...] = ()) -> Rules:
    """Read model names as the scheduler does: one that is not known is no mistake, but a model that no node has."""
    return Rules(KnownModels.extended(extra_models), allow_unknown_models=True)


BUILT_IN_MODELS = Rules(allow_unknown_models=True)


@dataclass(frozen=True, slots=True)
class PendingPod:
    """A pod and the reading of its request; built once when the pod is seen, then shared by every attempt."""

    pod: objects.Pod
    request: request.PodRequest

    @classmethod
    def read(cls, pod: objects.Pod, known: Rules = BUILT_IN_MODELS) -> "PendingPod":
        """Read a pod as it comes from the API server."""
        return cls(pod, request.parse(pod, known))

    def on(self, node: str) -> "PendingPod":
        """Return the pod as it would be bound to a node."""
        if self.pod.spec.node_name == node:
            return self
        spec = msgspec.structs.replace(self.pod.spec, node_name=node)
        return PendingPod(msgspec.structs.replace(self.pod, spec=spec), self.request)

    def nominated_to(self, node: str) -> "PendingPod":
        """Return the pod as it would wait for room on a node."""
        if self.pod.status.nominated_node_name == node:
            return self
        status = msgspec.structs.replace(self.pod.status, nominated_node_name=node)
        return PendingPod(msgspec.structs.replace(self.pod, status=status), self.request)
