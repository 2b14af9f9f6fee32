"""The label keys by which real clusters describe GPUs, and readers for single values. Draws no conclusion from them.

A value that cannot be read is reported as untrusted and counts as absent; it never raises.
"""

import re
from collections.abc import Mapping
from dataclasses import dataclass, field

HAND_MODEL = "gpu.nvidia.com/model"
HAND_MEMORY = "gpu.nvidia.com/memory"
HAND_COUNT = "gpu.nvidia.com/count"
COREWEAVE_CLASS = "gpu.nvidia.com/class"
COREWEAVE_VRAM = "gpu.nvidia.com/vram"

GFD_PRODUCT = "nvidia.com/gpu.product"
GFD_MEMORY = "nvidia.com/gpu.memory"
GFD_COUNT = "nvidia.com/gpu.count"
GFD_REPLICAS = "nvidia.com/gpu.replicas"
GFD_SHARING = "nvidia.com/gpu.sharing-strategy"
GFD_MACHINE = "nvidia.com/gpu.machine"
GFD_SLICES = ("nvidia.com/gpu.slices.gi", "nvidia.com/gpu.slices.ci")  # only under the single strategy
MPS_FLAGS = ("nvidia.com/mps.capable", "nvidia.com/sharing.mps.enabled")
MIG_STATE = "nvidia.com/mig.config.state"
DRIVER_UPGRADE = "nvidia.com/gpu-driver-upgrade-state"

GKE_ACCELERATOR = "cloud.google.com/gke-accelerator"
GKE_COUNT = "cloud.google.com/gke-accelerator-count"
GKE_PARTITION = "cloud.google.com/gke-gpu-partition-size"
GKE_SHARING = "cloud.google.com/gke-gpu-sharing-strategy"
GKE_CLIENTS = "cloud.google.com/gke-max-shared-clients-per-gpu"

EKS_NAME = "eks.amazonaws.com/instance-gpu-name"
EKS_MEMORY = "eks.amazonaws.com/instance-gpu-memory"
EKS_COUNT = "eks.amazonaws.com/instance-gpu-count"
KARPENTER_NAME = "karpenter.k8s.aws/instance-gpu-name"
KARPENTER_MEMORY = "karpenter.k8s.aws/instance-gpu-memory"
KARPENTER_COUNT = "karpenter.k8s.aws/instance-gpu-count"
AZURE_NAME = "karpenter.azure.com/sku-gpu-name"
AZURE_COUNT = "karpenter.azure.com/sku-gpu-count"

INSTANCE_TYPES = ("node.kubernetes.io/instance-type", "beta.kubernetes.io/instance-type")
OCI_HEALTH = "oci.oraclecloud.com/host.health"

# Labels that name a card's model, the most trusted first.
MODELS = (
    GFD_PRODUCT,
    HAND_MODEL,
    COREWEAVE_CLASS,
    GKE_ACCELERATOR,
    EKS_NAME,
    KARPENTER_NAME,
    AZURE_NAME,
    "k8s.amazonaws.com/accelerator",
    "skypilot.co/accelerator",
    "aliyun.accelerator/nvidia_name",
    "cloud.tencent.com/tke-accelerator",
    "baidu/nvidia_name",
    "cluster-api/accelerator",
    "k8s.scw.cloud/gpu",
    "doks.digitalocean.com/gpu-model",
    "cloud.digitalocean.com/gpu-node",
    "hcloud/gpu-node",
    "accelerator",
)

# Above this a memory figure is bytes: no card has 16 TiB.
_LARGEST_MIB = 2**24
_LARGEST_COUNT = 4096
# CoreWeave's vram is NVML's MiB over 1000, cut: 81 for a card of 81559 MiB.
_VRAM_MIB = 1000
_DIGITS = re.compile(r"[0-9]{1,18}")
_RATIO = re.compile(r"[0-9]{1,3}(?:\.[0-9]{1,18})?|\.[0-9]{1,18}")


@dataclass(frozen=True, slots=True)
class Untrusted:
    """A label, annotation or quantity that could not be read or contradicts another, and why."""

    label: str
    value: str
    why: str


@dataclass(frozen=True, slots=True)
class LabelReader:
    """The labels of one node, and the doubts that reading them raises."""

    labels: Mapping[str, str]
    doubts: list[Untrusted] = field(default_factory=list)

    def doubt(self, label: str, why: str) -> None:
        """Note that a label cannot be trusted, once per label and reason."""
        found = Untrusted(label, self.labels.get(label, ""), why)
        if found not in self.doubts:
            self.doubts.append(found)

    def has(self, label: str, *values: str) -> bool:
        """Tell whether the label has one of the values, in any case."""
        return self.labels.get(label, "").strip().lower() in values

    def count(self, label: str) -> int | None:
        """Read a small whole number, 0 included."""
        text = self.labels.get(label)
        if text is None:
            return None
        if not _DIGITS.fullmatch(text) or int(text) > _LARGEST_COUNT:
            self.doubt(label, f"must be a whole number from 0 to {_LARGEST_COUNT}")
            return None
        return int(text)

    def cards(self, label: str) -> int | None:
        """Read a number of cards; 0 is unknown."""
        return self.count(label) or None

    def memory_mib(self, label: str) -> int | None:
        """Read MiB, and bytes as some versions write them; 0 is unknown."""
        text = self.labels.get(label)
        if text is None:
            return None
        mib = int(text) if _DIGITS.fullmatch(text) else None
        if mib is not None and mib > _LARGEST_MIB:
            mib //= 2**20
        if mib is None or mib > _LARGEST_MIB:
            self.doubt(label, "must be a whole number of MiB")
            return None
        return mib or None

    def vram_mib(self) -> int | None:
        """Read CoreWeave's memory label as a lower bound in MiB."""
        text = self.labels.get(COREWEAVE_VRAM)
        if text is None:
            return None
        if not _DIGITS.fullmatch(text) or int(text) > _LARGEST_COUNT:
            self.doubt(COREWEAVE_VRAM, "must be the card's MiB divided by 1000")
            return None
        return int(text) * _VRAM_MIB or None


def ratio(text: str) -> float | None:
    """Read a plain decimal from 0 to 1; None for anything else."""
    return float(text) if _RATIO.fullmatch(text) and float(text) <= 1 else None
