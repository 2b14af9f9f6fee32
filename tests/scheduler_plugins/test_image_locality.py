"""ImageLocality: which names count, how a share of the nodes weighs, and where the score begins and ends."""

from typing import Any

import numpy as np
import pytest

from cluster_model import objects
from scheduler_plugins import image_locality
from tests.build import node, pod, snapshot

MIB = 1 << 20
APP = "example.com/app:1"


def scores(asked: tuple[str, ...], *held: dict[str, int], **spec: Any) -> list[int]:
    """Score a pod of these images on nodes that hold some."""
    cluster = snapshot(*(node(f"n{index}", images=images) for index, images in enumerate(held)))
    containers = tuple(objects.Container(name=f"c{index}", image=image) for index, image in enumerate(asked))
    rows = np.arange(len(cluster))
    found: list[int] = image_locality.score(pod(containers=containers, **spec), cluster, rows).tolist()
    return found


def test_image_on_one_of_two_nodes_counts_half() -> None:
    assert scores((APP,), {APP: 1024 * MIB}, {}) == [100 * (512 - 23) // (1000 - 23), 0]


@pytest.mark.parametrize(("mib", "score"), [(0, 0), (23, 0), (33, 1), (1000, 100), (5000, 100)])
def test_score_runs_from_23_to_1000_mib(mib: int, score: int) -> None:
    assert scores((APP,), {APP: mib * MIB}) == [score]


def test_most_that_counts_grows_with_the_number_of_images() -> None:
    assert scores((APP, "other:1"), {APP: 1000 * MIB}) == [100 * (1000 - 23) // (2000 - 23)]


@pytest.mark.parametrize(
    ("asked", "held"),
    [
        ("app", "app:latest"),
        ("registry:5000/app", "registry:5000/app:latest"),
        ("registry:5000/app:1", "registry:5000/app:1"),
        ("app@sha256:00", "app@sha256:00"),
    ],
)
def test_name_without_a_tag_means_latest(asked: str, held: str) -> None:
    assert scores((asked,), {held: 1000 * MIB}) == [100]


def test_name_is_not_guessed_beyond_its_tag() -> None:
    assert scores(("app",), {"app": 1000 * MIB, "docker.io/library/app:latest": 1000 * MIB}) == [0]


def test_init_containers_and_image_volumes_count_as_containers_do() -> None:
    init = objects.Container(name="i", image="init:1")
    volume = objects.Volume(name="v", image=objects.ImageVolumeSource(reference="data"))
    held = {"init:1": 600 * MIB, "data:latest": 400 * MIB}

    found = scores((APP,), held, init_containers=(init,), volumes=(volume, objects.Volume(name="other")))
    assert found == [100 * (1000 - 23) // (3000 - 23)]


def test_same_image_twice_counts_twice() -> None:
    assert scores((APP, APP), {APP: 500 * MIB}) == [100 * (1000 - 23) // (2000 - 23)]
