"""Small random storage: classes, volumes and claims in every state, drivers with few places, and pods that use them."""

from typing import Any

from cluster_model import objects
from cluster_model.objects import Disk, Volume
from cluster_model.storage_objects import SELECTED_NODE, PersistentVolume, PersistentVolumeClaim
from tests import build_storage as make
from tests.build import requirement
from tests.generate_source import Source

ZONE, BETA_ZONE, REGION = make.ZONE, "failure-domain.beta.kubernetes.io/zone", "topology.kubernetes.io/region"
CLASSES = ("fast", "local", "counted", "now")
CLAIMS = tuple(f"claim-{index}" for index in range(5))
EBS = "ebs.csi.aws.com"
SIZES = ("1Gi", "1500Mi", "2G", "3Gi", "10Gi", "100Gi")
ASKED = ("1Gi", "1Gi", "2000000000", "3Gi", "20Gi", None)
MODES = ("ReadWriteOnce", "ReadOnlyMany", "ReadWriteMany")


def storage(source: Source, nodes: tuple[str, ...]) -> list[Any]:
    """Make the storage of a cluster; of each class there is a volume of a size once, so that the smallest is one."""
    found: list[Any] = [
        make.storage_class("fast", topologies=({ZONE: "a"},) if source.seldom(3) else ()),
        make.storage_class("local", "kubernetes.io/no-provisioner"),
        make.storage_class("counted", "counts.example.com"),
        make.storage_class("now", mode="Immediate"),
        make.storage_class("old", "kubernetes.io/aws-ebs"),
        make.driver("counts.example.com", capacity=not source.seldom(6)),
        make.driver(source.of((make.DRIVER, EBS)), needed=source.seldom(3)),
    ]
    found += [make.capacity(zone, source.of(("0", "2Gi", "20Gi", "100Gi")), of="counted", where={ZONE: zone},
                            most=source.of((None, None, "5Gi"))) for zone in source.some("ab")]  # fmt: skip
    found += [free(source, name, size) for name in CLASSES[:3] for size in source.some(SIZES)]
    for name in CLAIMS:
        found += claim(source, name, nodes) if not source.seldom(20) else []
    for name in source.some(nodes):
        limits = {driver: source.of((None, 0, 1, 2)) for driver in source.some((make.DRIVER, EBS))}
        found.append(make.csi_node(name, limits))
        if source.seldom(2):
            found.append(make.attachment(f"on-{name}", name, source.of(("of-claim-0", "of-claim-1", None))))
    return found


def free(source: Source, of: str, size: str) -> PersistentVolume:
    return make.volume(
        f"{of}-{size.lower()}",
        size,
        of=of,
        zone=source.some("ab") if source.seldom(2) else (),
        phase=source.of(("Available",) * 6 + ("Released",)),
        labels={"tier": source.of("xy")} if source.seldom(2) else {},
        modes=source.some(MODES) or MODES,
        deleted="2026-01-01T00:00:00Z" if source.seldom(12) else "",
        volume_mode=source.of(("Filesystem",) * 8 + ("Block",)),
        claimed=make.reference("somebody") if source.seldom(12) else None,
    )


def claim(source: Source, name: str, nodes: tuple[str, ...]) -> list[PersistentVolume | PersistentVolumeClaim]:
    """Make a claim, and its volume where it has one."""
    of, size = source.of((*CLASSES[:3] * 4, "now", "old", "gone", None)), source.of(ASKED)
    modes = (source.of((*MODES, "ReadWriteOncePod")),)
    match source.of((*("open", "bound") * 5, "reserved", "reserved", "sent", "strange")):
        case "bound":
            return [make.claim(name, size, of=of, on=f"of-{name}", modes=modes), *bound(source, name)]
        case "reserved":
            named = make.reference(name, source.of((None, "", "uid-of-another")))
            zone = source.some("ab") if source.seldom(2) else ()
            held = make.volume(f"for-{name}", "3Gi", of=of or "", claimed=named, zone=zone)
            return [make.claim(name, size, of=of), held]
        case "sent":
            return [make.claim(name, size, of=of, annotations={SELECTED_NODE: source.of((*nodes, "gone"))})]
        case "strange":
            return [strange(source, name)]
    return [make.claim(name, size, of=of, modes=modes, selector=selector(source))]


def bound(source: Source, name: str) -> list[PersistentVolume]:
    labels = {key: source.of(("a", "b", "a__b", "a__")) for key in source.some((ZONE, BETA_ZONE, REGION))}
    built_in = {"aws_elastic_block_store": Disk(volume_id=source.of(("vol-1", "aws:///vol-1")))}
    more: dict[str, Any] = built_in if source.seldom() else {}
    handle = None if more else source.of(("", "", "same"))
    zone = source.some("ab") if source.seldom(2) else ()
    found = make.volume(f"of-{name}", "100Gi", handle=handle, zone=zone, labels=labels, phase="Bound", **more)
    return [] if source.seldom(12) else [found]


def strange(source: Source, name: str) -> PersistentVolumeClaim:
    return source.of(
        (
            make.claim(name, phase="Lost", on="gone"),
            make.claim(name, deleted="2026-01-01T00:00:00Z"),
            make.claim(name, on="by-hand", bound=False),
        )
    )


def selector(source: Source) -> objects.LabelSelector | None:
    if not source.seldom():
        return None
    without = objects.LabelSelector(match_expressions=(requirement("tier", "NotIn", "x"),))
    return source.of((objects.LabelSelector(), objects.LabelSelector(match_labels={"tier": "x"}), without))


def disk(source: Source) -> Volume:
    """Make a disk that stands in the pod itself."""
    name, read_only = source.of("xy"), source.seldom(2)
    return source.of(
        (
            Volume(name="disk", gce_persistent_disk=Disk(pd_name=name, read_only=read_only)),
            Volume(name="disk", aws_elastic_block_store=Disk(volume_id=f"vol-{name}", read_only=read_only)),
            Volume(name="disk", iscsi=Disk(iqn=name, read_only=read_only)),
            Volume(name="disk", rbd=Disk(monitors=("k", name), pool="rbd", image="i", read_only=read_only)),
        )
    )


def volumes(source: Source, often: int) -> tuple[Volume, ...]:
    """Make what a pod uses, once in so many times anything."""
    if not source.seldom(often):
        return ()
    claims = make.using(*(source.of(CLAIMS) for _ in range(source.of((1, 1, 1, 2, 3)))))
    return claims + ((disk(source),) if source.seldom(3) else ())
