"""Generator for VolumeBinding: claims in every state of their life, volumes they could take, classes that make some.

Where kube-scheduler goes by Go's map order there is no choice here: volumes of one class differ in size, and one
capacity at most counts for a node.
"""

from __future__ import annotations

from tests.differential import volume_documents as make
from tests.differential.documents import HOSTNAME, ZONE, Document, requirement
from tests.differential.volume_cases import WAITS, zone_keys
from tests.differential.world import World

GOOGLE_ZONE = "topology.gke.io/zone"
MIGRATED = "storage.alpha.kubernetes.io/migrated-plugins"
# All different, so that the smallest is one.
SIZES = ("1Gi", "1500Mi", "2G", "2Gi", "3Gi", "5000000001", "5Gi", "7.5Gi", "10Gi", "20Gi", "100Gi")
ASKED = ("1Gi", "2Gi", "2000000000", "5Gi", "8Gi", "30Gi")
MODES = ("ReadWriteOnce", "ReadOnlyMany", "ReadWriteMany", "ReadWriteOncePod")
SHAPES = ([(0, 0), (100, 10)], [(10, 3), (35, 10), (90, 1)], [(50, 5)])
EBS_ZONE = "topology.ebs.csi.aws.com/zone"


def volume_binding(world: World) -> None:
    """Let claims be bound, find volumes, or need some made, in classes that can do so in some places only."""
    classes = [_class(world, f"class-{number}") for number in range(world.rng.randint(1, 3))]
    for found in classes:
        for size in world.rng.sample(SIZES, len(world.up_to(5))):
            _free_volume(world, found["metadata"]["name"], size)
    for number in range(world.rng.randint(1, 4)):
        name = _claim(world, f"claim-{number}", world.of(classes))
        for use in range(world.of((1, 1, 1, 1, 1, 2))):
            _use(world, f"claim-{number}-{use}", name)
    _shape(world)
    for one in world.nodes:
        if world.seldom(3):
            make.csi_node(world, one)["metadata"]["annotations"][MIGRATED] = world.of(
                ("kubernetes.io/gce-pd", "kubernetes.io/aws-ebs,kubernetes.io/gce-pd", "")
            )
        if world.seldom(3):
            one["metadata"]["labels"] |= {GOOGLE_ZONE: world.of("ab"), EBS_ZONE: world.of("ab")}


def volume_scores(world: World) -> None:
    """Let claims find volumes on several nodes, of sizes that fit them more or less, or room that is more or less."""
    counted = world.seldom(2)
    provisioner = "counts.example.com" if counted else "kubernetes.io/no-provisioner"
    make.add(world, "storageClasses", make.storage_class("scored", provisioner, volumeBindingMode=WAITS))
    if counted:
        _count_storage(world, "scored")
    for number, one in enumerate(world.nodes if not counted else ()):
        name = one["metadata"]["name"]
        for size in world.rng.sample(SIZES, world.rng.randint(1, 3)):
            held = make.volume(f"on-{number}-{size.lower()}", size, storageClassName="scored")
            held["spec"]["nodeAffinity"] = make.affinity(requirement(HOSTNAME, "In", name))
            make.add(world, "persistentVolumes", held)
    for number in range(world.rng.randint(1, 2)):
        one = make.add(world, "persistentVolumeClaims", make.claim(f"scored-{number}", world.of(ASKED[:3])))
        one["spec"]["storageClassName"] = "scored"
        make.mount_claim(world.pod, f"scored-{number}", f"scored-{number}")
    _shape(world)


def _shape(world: World) -> None:
    if world.seldom(5):
        points = [{"utilization": utilization, "score": score} for utilization, score in world.of(SHAPES)]
        world.args["VolumeBinding"] = {"shape": points}


def _class(world: World, name: str) -> Document:
    provisioner = world.of(("csi.example.com", "csi.example.com", "kubernetes.io/no-provisioner", "counts.example.com"))
    found = make.storage_class(name, provisioner)
    if not world.seldom(6):
        found["volumeBindingMode"] = WAITS
    if world.seldom(3):
        one, other = _topology(world), _topology(world)
        found["allowedTopologies"] = [one] if world.seldom(2) or one == other else [one, other]
    if provisioner == "counts.example.com":
        _count_storage(world, name)
    if not world.seldom(20):
        make.add(world, "storageClasses", found)
    return found


def _topology(world: World) -> Document:
    wanted = [{"key": ZONE, "values": world.rng.sample("abc", world.rng.randint(1, 2))}]
    if world.seldom(3):
        wanted.append({"key": HOSTNAME, "values": [world.of(world.nodes)["metadata"]["name"]]})
    return {"matchLabelExpressions": wanted}


def _count_storage(world: World, class_name: str) -> None:
    drivers = world.others.setdefault("csiDrivers", [])
    if not any(one["metadata"]["name"] == "counts.example.com" for one in drivers):
        drivers.append({"metadata": {"name": "counts.example.com"}, "spec": {"storageCapacity": not world.seldom(4)}})
    for zone in world.some("ab"):
        found: Document = {
            "metadata": {"name": f"{class_name}-{zone}", "namespace": "kube-system"},
            "storageClassName": class_name,
            "nodeTopology": {"matchLabels": {ZONE: zone}},
            "capacity": world.of(("0", "2Gi", "10Gi", "33Gi", "100Gi")),
        }
        if world.seldom(3):
            found["maximumVolumeSize"] = world.of(("1Gi", "5Gi", "50Gi"))
        make.add(world, "csiStorageCapacities", found)


def _free_volume(world: World, class_name: str, size: str) -> None:
    name = f"{class_name}-{size.lower()}"
    held = make.volume(name, size, storageClassName=class_name)
    spec = held["spec"]
    spec["accessModes"] = world.rng.sample(MODES[:3], world.rng.randint(1, 3))
    if world.seldom(10):
        spec["volumeMode"] = "Block"
    if world.seldom(12):
        spec["volumeAttributesClassName"] = "fast"
    if world.seldom(2):
        spec["nodeAffinity"] = _place(world)
    if world.seldom(2):
        held["metadata"]["labels"] = {"tier": world.of("xy")}
    held["status"] = {"phase": world.of(("Available",) * 6 + ("Released", "Pending"))}
    if world.seldom(15):
        held["metadata"]["deletionTimestamp"] = "2026-01-01T00:00:00Z"
        held["metadata"]["finalizers"] = ["example.com/busy"]
    if world.seldom(12):
        spec["claimRef"] = {"namespace": "default", "name": "other", "uid": "uid-other"}
    make.add(world, "persistentVolumes", held)


def _place(world: World) -> Document:
    name = world.of(world.nodes)["metadata"]["name"]
    return world.of(
        (
            make.affinity(requirement(ZONE, "In", *world.rng.sample("abc", world.rng.randint(1, 2)))),
            make.affinity(requirement(HOSTNAME, "In", name)),
            make.affinity(requirement(HOSTNAME, "NotIn", name)),
            {"required": {"nodeSelectorTerms": [{"matchFields": [_field(world, name)]}]}},
            {"required": {"nodeSelectorTerms": [{"matchExpressions": [requirement(ZONE, "In", "a")]}, _named(name)]}},
        )
    )


def _field(world: World, name: str) -> Document:
    return requirement("metadata.name", world.of(("In", "NotIn")), name)


def _named(name: str) -> Document:
    return {"matchExpressions": [requirement(HOSTNAME, "In", name)]}


def _claim(world: World, name: str, found: Document) -> str:
    """Make a claim of a class in some state of its life."""
    one = make.claim(name, world.of(ASKED))
    class_name = found["metadata"]["name"]
    if found["provisioner"] == "kubernetes.io/no-provisioner" and world.seldom(4):
        one["metadata"]["annotations"][make.BETA_CLASS] = class_name
    else:
        one["spec"]["storageClassName"] = class_name
    _vary(world, one)
    vary = world.of((None, None, None, None, _bound, _bound, _reserved, _sent, _strange))
    if vary is not None:
        vary(world, one)
    if not world.seldom(30):
        make.add(world, "persistentVolumeClaims", one)
    return name


def _vary(world: World, one: Document) -> None:
    spec = one["spec"]
    if world.seldom(4):
        spec["accessModes"] = world.rng.sample(MODES, 1)
    if world.seldom(12):
        spec["volumeMode"] = "Block"
    if world.seldom(12):
        spec["volumeAttributesClassName"] = "fast"
    if world.seldom(4):
        spec["selector"] = world.of(
            (
                {"matchLabels": {"tier": "x"}},
                {"matchExpressions": [requirement("tier", "NotIn", "x")]},
                {"matchExpressions": [requirement("tier", world.of(("Exists", "DoesNotExist")))]},
                {},
            )
        )


def _bound(world: World, one: Document) -> None:
    held = make.volume(f"of-{one['metadata']['name']}", "100Gi", **_any_source(world))
    held["spec"]["storageClassName"] = one["spec"].get("storageClassName", "")
    if world.seldom(2):
        held["spec"]["nodeAffinity"] = _place(world)
    if world.seldom(2):
        # Two zones of a disk of Google's, in names that are no such zones, would make kube-scheduler fail the attempt.
        zones = ("a", "b") if "gcePersistentDisk" in held["spec"] else ("a", "b", "a__b")
        held["metadata"]["labels"] = {key: world.of(zones) for key in zone_keys(world)}
    make.bind(one, held)
    if not world.seldom(8):
        make.add(world, "persistentVolumes", held)


def _any_source(world: World) -> Document:
    """Take a kind of volume whose node affinity a node may read in its driver's labels."""
    return world.of(({}, {"awsElasticBlockStore": {"volumeID": "vol-1"}}, {"gcePersistentDisk": {"pdName": "x"}}))


def _reserved(world: World, one: Document) -> None:
    """Let a volume name the claim before the two are bound."""
    uid = world.of((None, None, "", "uid-of-an-older-one"))
    size = world.of(("1Gi", "6Gi", "50Gi"))
    held = make.volume(f"for-{one['metadata']['name']}", size, claimRef=make.reference(one, uid))
    held["spec"]["storageClassName"] = one["spec"].get("storageClassName", "class-0")
    if world.seldom(2):
        held["spec"]["nodeAffinity"] = _place(world)
    make.add(world, "persistentVolumes", held)


def _sent(world: World, one: Document) -> None:
    names = [*(node["metadata"]["name"] for node in world.nodes), "gone"]
    one["metadata"]["annotations"][make.SELECTED_NODE] = world.of(names)


def _strange(world: World, one: Document) -> None:
    """Break the claim, or name a volume by hand, or let it lose its volume, or be deleted."""
    meta = one["metadata"]
    match world.of(("deleting", "lost", "by hand", "no class", "no size")):
        case "deleting":
            meta["deletionTimestamp"], meta["finalizers"] = "2026-01-01T00:00:00Z", ["kubernetes.io/pvc-protection"]
        case "lost":
            one["spec"]["volumeName"], one["status"] = "gone", {"phase": "Lost"}
        case "by hand":
            one["spec"]["volumeName"] = "by-hand"
        case "no class":
            one["spec"]["storageClassName"] = ""
        case "no size":
            one["spec"]["resources"] = {}


def _use(world: World, name: str, claim_name: str) -> None:
    """Let the pod use a claim, seldom as one that was made for it."""
    own = f"placed-{name}"
    claims = world.others.get("persistentVolumeClaims", ())
    mine = [one for one in claims if one["metadata"]["name"] == claim_name]
    if not world.seldom(10) or not mine:
        make.mount_claim(world.pod, name, claim_name)
        return
    template = {"spec": {"accessModes": ["ReadWriteOnce"], "resources": {"requests": {"storage": "1Gi"}}}}
    make.mount(world.pod, name, {"ephemeral": {"volumeClaimTemplate": template}})
    if world.seldom(4):
        return
    world.pod["metadata"]["uid"] = "uid-placed"
    owner = {"apiVersion": "v1", "kind": "Pod", "name": "placed", "uid": "uid-placed", "controller": True}
    mine[0]["metadata"] |= {"name": own, "ownerReferences": [owner] if not world.seldom(4) else []}
