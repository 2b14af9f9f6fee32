"""Generators for the plugins of volumes that are there: disks in pods, limits of drivers, zones of volumes.

Where kube-scheduler goes by Go's map order there is no choice here: one driver at most must be installed.
"""

from __future__ import annotations

from tests.differential import volume_documents as make
from tests.differential.documents import ZONE, Document
from tests.differential.world import World

REGION = "topology.kubernetes.io/region"
BETA_ZONE = "failure-domain.beta.kubernetes.io/zone"
BETA_REGION = "failure-domain.beta.kubernetes.io/region"
WAITS = "WaitForFirstConsumer"
DRIVERS = ("ebs.csi.aws.com", "pd.csi.storage.gke.io", "csi.example.com")
IN_TREE = {"ebs.csi.aws.com": "kubernetes.io/aws-ebs", "pd.csi.storage.gke.io": "kubernetes.io/gce-pd"}


def volume_restrictions(world: World) -> None:
    """Let pods name disks, the same ones often, and claims that one pod alone may use."""
    for found in world.everybody():
        for number in world.up_to(2):
            make.mount(found, f"disk-{number}", _disk(world))
    for number in world.up_to(2):
        _shared_claim(world, f"shared-{number}")


def node_volume_limits(world: World) -> None:
    """Let drivers attach few volumes, which pods use by claims and by themselves, and attachments take up."""
    for one in world.nodes:
        if not world.seldom(4):
            for driver in world.some(DRIVERS):
                make.driver_on(world, one, driver, world.of((None, 0, 1, 2, 3, 5)))
    if world.seldom(3):
        spec = {"preventPodSchedulingIfMissing": world.of((True, True, False))}
        make.add(world, "csiDrivers", {"metadata": {"name": world.of(DRIVERS)}, "spec": spec})
    claims = [_counted_claim(world, f"counted-{number}") for number in range(world.rng.randint(1, 6))]
    for found in world.everybody():
        for place, name in enumerate(world.rng.sample(claims, min(len(claims), len(world.up_to(3))))):
            make.mount_claim(found, f"counted-{place}", name)
        if world.seldom(4):
            make.mount(found, "inline", _migratable(world))
    for number in world.up_to(4):
        _attachment(world, f"attachment-{number}")


def volume_zone(world: World) -> None:
    """Label volumes and nodes with zones and regions, old labels and new, and bind claims to the volumes."""
    for one in world.nodes:
        labels = one["metadata"]["labels"]
        if world.seldom(4):
            labels.pop(ZONE, None)
        labels |= {key: world.of("abc") for key in (BETA_ZONE, REGION, BETA_REGION) if world.seldom(3)}
    for number in range(world.rng.randint(1, 3)):
        held = make.add(world, "persistentVolumes", make.volume(f"zoned-{number}", "1Gi", storageClassName="zoned"))
        # The last two no API server takes.
        zones = ("a__", "b__ c") if world.seldom(15) else ("a", "b", "c", "a__b", "b__c", "")
        held["metadata"]["labels"] = {key: world.of(zones) for key in zone_keys(world)}
        one = make.add(world, "persistentVolumeClaims", make.claim(f"zoned-{number}", "1Gi"))
        one["spec"]["storageClassName"] = "zoned"
        make.bind(one, held)
        make.mount_claim(world.pod, f"zoned-{number}", f"zoned-{number}")
        if world.seldom(12):
            _break(world, one)
    if world.seldom(2):
        mode = {} if world.seldom(3) else {"volumeBindingMode": WAITS}
        make.add(world, "storageClasses", make.storage_class("zoned", "csi.example.com", **mode))


def contended(world: World) -> None:
    """Let bound pods hold by a volume what the pod to place wants: a disk, a claim for one pod, a place of a driver."""
    match world.of(("disk", "claim", "driver")):
        case "disk":
            for found in (world.pod, *world.some(world.pods)):
                make.mount(found, "disk", {"gcePersistentDisk": {"pdName": "x", "readOnly": world.seldom(4)}})
        case "claim":
            # One pod of the same namespace: kube-scheduler thinks that any other frees the claim when it goes.
            own = world.pod["metadata"]["namespace"]
            near = [one for one in world.pods if one["metadata"]["namespace"] == own]
            for found in (world.pod, *world.rng.sample(near, min(1, len(near)))):
                _own_claim(world, found, "alone", {"accessModes": ["ReadWriteOncePod"]})
        case "driver":
            for one in world.nodes:
                make.driver_on(world, one, DRIVERS[-1], world.of((1, 2)))
            for number, found in enumerate((world.pod, *world.some(world.pods))):
                _own_claim(world, found, f"own-{number}", {})


def _disk(world: World) -> Document:
    read_only = {"readOnly": True} if world.seldom(2) else {}
    return world.of(
        (
            {"gcePersistentDisk": {"pdName": world.of("xy"), **read_only}},
            {"awsElasticBlockStore": {"volumeID": f"vol-{world.of('xy')}", **read_only}},
            {"iscsi": {"targetPortal": "10.0.0.1", "iqn": f"iqn.2026-01.com.example:{world.of('xy')}", "lun": 0}
             | read_only},
            {"rbd": {"monitors": world.rng.sample("klm", 2), "image": world.of("xy"), **_pool(world), **read_only}},
        )
    )  # fmt: skip


def _pool(world: World) -> Document:
    return {"pool": world.of(("rbd", "other"))} if world.seldom(2) else {}


def _shared_claim(world: World, name: str) -> None:
    modes = {"accessModes": [world.of(("ReadWriteOncePod", "ReadWriteMany"))]}
    held = make.add(world, "persistentVolumes", make.volume(name, "1Gi", **modes))
    one = make.claim(name, "1Gi", **modes)
    make.bind(one, held)
    if not world.seldom(8):
        make.add(world, "persistentVolumeClaims", one)
    for found in world.everybody():
        if found is world.pod or world.seldom(5):
            make.mount_claim(found, name, name)


def _own_claim(world: World, pod: Document, name: str, spec: Document) -> None:
    """Let a pod use a bound claim of its namespace, which is there from the first use on."""
    namespace = pod["metadata"]["namespace"]
    make.mount_claim(pod, "own", name)
    if any(one["metadata"]["name"] == f"{namespace}-{name}" for one in world.others.get("persistentVolumes", ())):
        return
    one = make.add(world, "persistentVolumeClaims", make.claim(name, "1Gi", **spec))
    one["metadata"]["namespace"] = namespace
    make.bind(one, make.add(world, "persistentVolumes", make.volume(f"{namespace}-{name}", "1Gi")))


def _counted_claim(world: World, name: str) -> str:
    """Make a claim whose volume counts for a driver: one that is there, is missing, or is still to be made."""
    driver = world.of(DRIVERS)
    one = make.add(world, "persistentVolumeClaims", make.claim(name, "1Gi"))
    if world.seldom(3):
        one["spec"]["storageClassName"] = f"made-{name}"
        provisioner = world.of((driver, IN_TREE.get(driver, driver), "kubernetes.io/vsphere-volume"))
        if not world.seldom(6):
            found = make.storage_class(f"made-{name}", provisioner, volumeBindingMode=WAITS)
            make.add(world, "storageClasses", found)
        return name
    held = make.volume(name, "1Gi", **_source(world, driver, f"handle-{world.of('xyz') if world.seldom(4) else name}"))
    make.bind(one, held)
    if not world.seldom(8):
        make.add(world, "persistentVolumes", held)
    return name


def _source(world: World, driver: str, handle: str) -> Document:
    """Name a volume as CSI does, or as the kind does that its driver has taken over."""
    if driver == "ebs.csi.aws.com" and world.seldom(3):
        return {"awsElasticBlockStore": {"volumeID": world.of(("", "aws://us-east-1a/", "aws:///")) + f"vol-{handle}"}}
    if driver == "pd.csi.storage.gke.io" and world.seldom(3):
        return {"gcePersistentDisk": {"pdName": handle}}
    return {"csi": {"driver": driver, "volumeHandle": handle}}


def _migratable(world: World) -> Document:
    return world.of(
        (
            {"awsElasticBlockStore": {"volumeID": world.of(("vol-a", "aws://us-east-1a/vol-a"))}},
            {"gcePersistentDisk": {"pdName": world.of("xy")}},
            {"cinder": {"volumeID": "c"}},
            {"portworxVolume": {"volumeID": "p"}},
        )
    )


def _attachment(world: World, name: str) -> None:
    held = world.others.get("persistentVolumes", ())
    named = world.of([*(one["metadata"]["name"] for one in held), "absent"])
    spec = {
        "attacher": world.of(DRIVERS),
        "nodeName": world.of(world.nodes)["metadata"]["name"],
        "source": {"persistentVolumeName": named},
    }
    make.add(world, "volumeAttachments", {"metadata": {"name": name}, "spec": spec, "status": {"attached": True}})


def zone_keys(world: World) -> list[str]:
    """Choose labels that place a volume."""
    return [key for key in (ZONE, BETA_ZONE, REGION, BETA_REGION) if world.seldom(2)]


def _break(world: World, one: Document) -> None:
    """Let a claim name a volume that is not there, or none at all."""
    one["spec"]["volumeName"] = world.of(("absent", ""))
    if world.seldom(3):
        one["spec"].pop("storageClassName")
