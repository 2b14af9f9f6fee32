"""How many cards a node holds, how they are shared, and how many are lost; from quantities and count labels."""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass

from cluster_model import gpu_catalogue, gpu_models, gpu_names, objects, quantity
from cluster_model import node_labels as keys
from cluster_model.gpu_names import GPU, Sharing
from cluster_model.node_labels import LabelReader, Untrusted
from cluster_model.node_model import Naming

# One unit of these is one device, so that a missing unit is a lost device.
_OTHER_WHOLE_CARDS = frozenset({"amd.com/gpu", "gpu.intel.com/i915", "gpu.intel.com/xe"})
_OTHER_COUNTS = (keys.EKS_COUNT, keys.KARPENTER_COUNT, keys.AZURE_COUNT)
_MAX_INT64 = 2**63 - 1


@dataclass(frozen=True, slots=True)
class Units:
    """The GPU resources of a node's status."""

    capacity: Mapping[str, int]
    allocatable: Mapping[str, int]

    def unhealthy(self) -> int:
        """Count the devices that capacity has and allocatable lacks."""
        both = [name for name in self.capacity if name in self.allocatable and _counts_devices(name)]
        return sum(max(0, self.capacity[name] - self.allocatable[name]) for name in both)

    def most(self, name: str) -> int:
        """Return the larger of capacity and allocatable."""
        return max(self.capacity.get(name, 0), self.allocatable.get(name, 0))

    def offered(self) -> set[str]:
        """Return the resources that the node has or had more than 0 of."""
        return {name for name in (*self.capacity, *self.allocatable) if self.most(name) > 0}


@dataclass(frozen=True, slots=True)
class Cards:
    """The cards behind a node's GPU units."""

    physical: int | None
    replicas: int | None  # units per card; 0 when every card is cut by MIG
    shared: bool


def units(status: objects.NodeStatus, reader: LabelReader) -> Units:
    """Read the GPU resources of a node's status; an unreadable amount is left out and reported."""
    capacity = dict(_amounts("status.capacity", status.capacity, reader))
    return Units(capacity, dict(_amounts("status.allocatable", status.allocatable, reader)))


def read(reader: LabelReader, naming: Naming, found: Units) -> Cards:
    """Work out cards, replicas and sharing, and doubt labels that contradict the node's own quantities."""
    evident = _evidently_shared(reader, naming, found) or _outnumbers_its_cards(reader, naming, found)
    cards = _count_label(reader, naming) or (naming.instance.cards if naming.instance else 0)
    divided = reader.cards(keys.GFD_COUNT) if naming.counts_slices else cards
    replicas = _replicas(reader, naming, _units_each(divided, found) if evident else None)
    shared = evident or (replicas or 0) > 1
    _check_replicas(reader, evident, found)
    _check_count(reader, naming, shared, found)
    return Cards(cards or _from_capacity(naming, shared, found), replicas, shared)


def _amounts(path: str, resources: objects.Resources, reader: LabelReader) -> Iterator[tuple[str, int]]:
    for name, text in resources.items():
        if not _is_gpu(name):
            continue
        try:
            amount = quantity.value(quantity.parse(text))
        except ValueError:
            reader.doubts.append(Untrusted(f"{path}[{name}]", str(text), "must be a quantity such as 8, 500m or 32Gi"))
            continue
        yield name, max(0, min(amount, _MAX_INT64))


def _is_gpu(name: str) -> bool:
    sharing = gpu_names.sharing_of(name)
    return sharing not in (None, Sharing.DRA) or _counts_devices(name)


def _counts_devices(name: str) -> bool:
    if name in _OTHER_WHOLE_CARDS:
        return True
    sharing = gpu_names.sharing_of(name)
    return sharing in (Sharing.NONE, Sharing.MIG, Sharing.TIMESLICE) or (sharing is None and _is_virtual_card(name))


def _is_virtual_card(name: str) -> bool:
    """Tell whether the name is a vGPU type offered to virtual machines: nvidia.com/GRID_A100-40C."""
    domain, _, device = name.partition("/")
    model = gpu_models.canonical(device) if domain == "nvidia.com" else None
    return model is not None and model.vgpu_profile is not None


def _replicas(reader: LabelReader, naming: Naming, units_each: int | None) -> int | None:
    """Return the replicas as labelled, else as the node's own quantities show: some versions of GFD keep saying 1."""
    labelled = reader.count(keys.GFD_REPLICAS)
    if labelled is None and keys.GKE_SHARING in reader.labels:
        return reader.cards(keys.GKE_CLIENTS)
    if labelled == 1 and units_each:
        reader.doubt(keys.GFD_REPLICAS, f"the node offers {units_each} units of each card")
    if labelled in (None, 1) and units_each:
        return units_each
    if labelled is not None:
        return labelled
    # Old versions of GFD write no replicas, and knew none.
    described = keys.GFD_PRODUCT in reader.labels or keys.GFD_COUNT in reader.labels
    return 1 if described and not (naming.product and naming.product.shared) else None


def _evidently_shared(reader: LabelReader, naming: Naming, found: Units) -> bool:
    """Tell whether something other than the replicas label shows time slicing, MPS or vGPU shares."""
    return (
        bool(naming.product and naming.product.shared)
        or reader.has(keys.GFD_SHARING, "time-slicing", "mps")
        or reader.has(keys.GKE_SHARING, "time-sharing", "mps")
        or any(reader.has(flag, "true") for flag in keys.MPS_FLAGS)
        or any(_is_share(name) for name in found.offered())
    )


def _outnumbers_its_cards(reader: LabelReader, naming: Naming, found: Units) -> bool:
    """Tell whether a machine of known make offers a multiple of its cards, which cannot be slices: then it shares."""
    instance = naming.instance
    if instance is None or instance.fractional or naming.counts_slices or naming.contradicted:
        return False
    if naming.product is None and instance.model in gpu_catalogue.CUT_BY_MIG:
        return False
    agreed = reader.cards(keys.GFD_COUNT) in (None, instance.cards)
    return agreed and _units_each(instance.cards, found) is not None


def _units_each(cards: int | None, found: Units) -> int | None:
    """Divide the units among the cards; None unless each has the same number above 1."""
    units = found.most(GPU) + found.most(gpu_names.GPU_SHARED)
    return units // cards if cards and units > cards and units % cards == 0 else None


def _is_share(name: str) -> bool:
    return name.endswith(".shared") or gpu_names.sharing_of(name) in (Sharing.TIMESLICE, Sharing.VGPU)


def _count_label(reader: LabelReader, naming: Naming) -> int | None:
    by_hand = reader.cards(keys.HAND_COUNT)
    by_driver = None if naming.counts_slices else reader.cards(keys.GFD_COUNT)
    others = [reader.cards(key) for key in _OTHER_COUNTS]
    # GKE counts TPUs under the same key.
    others.append(reader.cards(keys.GKE_COUNT) if keys.GKE_ACCELERATOR in reader.labels else None)
    others += [reader.cards(key) for key in naming.akash]
    return by_hand or by_driver or next(filter(None, others), None)


def _from_capacity(naming: Naming, shared: bool, found: Units) -> int | None:
    """Count the node's whole-card units, which are cards where nothing shows that they are shares or slices."""
    sliced = naming.counts_slices or any(gpu_names.sharing_of(name) is Sharing.MIG for name in found.offered())
    if shared or sliced or (naming.instance and naming.instance.fractional):
        return None
    return sum(found.most(name) for name in (GPU, *sorted(_OTHER_WHOLE_CARDS))) or None


def _check_replicas(reader: LabelReader, evident: bool, found: Units) -> None:
    """Doubt replicas that nothing else confirms: on a node with cards of several kinds the label flips between them."""
    replicas, cards = reader.count(keys.GFD_REPLICAS) or 0, reader.cards(keys.GFD_COUNT)
    confirmed = evident or (cards is not None and found.most(GPU) == cards * replicas)
    if replicas > 1 and not confirmed:
        reader.doubt(keys.GFD_REPLICAS, "nothing else shows that the cards are shared")


def _check_count(reader: LabelReader, naming: Naming, shared: bool, found: Units) -> None:
    """Doubt the driver's count where the machine is known to have another number, or the node offers more."""
    count = None if naming.counts_slices else reader.cards(keys.GFD_COUNT)
    if count is None:
        return
    if naming.instance and not naming.instance.fractional and naming.instance.cards != count:
        reader.doubt(keys.GFD_COUNT, f"instance type {naming.instance.name} has {naming.instance.cards}")
    if found.most(GPU) > count and not shared:
        reader.doubt(
            keys.GFD_COUNT, f"the node offers {found.most(GPU)} of {GPU}: other cards, or sharing not labelled"
        )
