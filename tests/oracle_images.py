"""Twin of the plugin that looks for a pod's images on the nodes."""

from collections.abc import Mapping

from cluster_model import objects
from cluster_model.pod import PendingPod
from tests.oracle_view import View


def runtime_name(image: str) -> str:
    """The name as a container runtime says it: with a tag, which is not the port of a registry."""
    last = image.split("/")[-1]
    return image if ":" in last else image + ":latest"


def pod_images(pod: PendingPod) -> list[str]:
    spec = pod.pod.spec
    named = [one.image for one in (*spec.init_containers, *spec.containers)]
    return [runtime_name(one) for one in named + [one.image.reference for one in spec.volumes if one.image is not None]]


def image_names(node: objects.Node) -> set[str]:
    return {name for image in node.status.images for name in image.names}


def image_score(pod: PendingPod, view: View, views: list[View], sizes: Mapping[str, int]) -> int:
    wanted, total = pod_images(pod), 0
    for name in wanted:
        if name in image_names(view.node):
            holders = sum(name in image_names(other.node) for other in views)
            total += int(sizes[name] * (holders / len(views)))
    least, most = 23 * 1024 * 1024, 1000 * 1024 * 1024 * len(wanted)
    return 100 * (min(max(total, least), most) - least) // (most - least) if wanted else 0
