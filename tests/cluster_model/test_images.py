"""Image names, their sizes and their rows are what the nodes said last, whatever moved meanwhile."""

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from cluster_model import objects
from cluster_model.images import ImageTable, Spread
from cluster_model.snapshot import Rows
from tests import build

LARGE, SMALL = 500 << 20, 100 << 20


def test_size_is_that_of_the_node_that_said_it_first() -> None:
    state = build.state(build.node("a", images={"app": LARGE}), build.node("b", images={"app": SMALL}))

    assert state.snapshot().nodes.images.spreads["app"] == Spread(LARGE, 0b11)


def test_first_node_that_leaves_takes_no_size_with_it_while_another_holds_the_image() -> None:
    state = build.state(build.node("a", images={"app": LARGE}), build.node("b", images={"app": SMALL}))
    state.remove_node("a")

    assert state.snapshot().nodes.images.spreads == {"app": Spread(LARGE, 0b1)}


def test_image_that_no_node_holds_any_more_is_forgotten_with_its_size() -> None:
    state = build.state(build.node("a", images={"app": LARGE}))
    state.set_node(build.node("a"))
    state.set_node(build.node("a", images={"app": SMALL}))

    assert state.snapshot().nodes.images.spreads == {"app": Spread(SMALL, 0b1)}


def test_share_is_the_size_times_the_part_of_nodes_cut_once() -> None:
    nodes = [build.node(name, images={"app": 100} if name == "a" else {}) for name in "abc"]

    assert build.snapshot(*nodes).nodes.images.share_bytes("app") == 33


def test_names_of_one_image_are_each_their_own() -> None:
    both = objects.ContainerImage(names=("app:1", "app@sha256:0"), size_bytes=7)
    table = ImageTable()
    table.add(0, (both, both))
    assert table.frozen(1).spreads == {"app:1": Spread(7, 1), "app@sha256:0": Spread(7, 1)}
    table.remove(0, (both, both))
    assert table.frozen(1).spreads == {}


def test_a_snapshot_keeps_what_it_saw() -> None:
    state = build.state(build.node("a", images={"app": LARGE}))
    before = state.snapshot()
    state.set_node(build.node("a"))

    assert before.nodes.images.holders("app").tolist() == [True]
    assert state.snapshot().nodes.images.holders("app").tolist() == [False]


def test_rows_taken_out_hold_what_they_held_and_count_as_in_the_whole_cluster() -> None:
    nodes = [build.node(name, images={"app": 100} if name in "ad" else {}) for name in "abcd"]
    whole = build.snapshot(*nodes).nodes
    rows: Rows = np.array([3, 1, 0])

    part = whole.take(rows).take(np.array([0, 1]))
    assert part.images.holders("app").tolist() == [True, False]
    assert part.images.share_bytes("app") == whole.images.share_bytes("app") == 50


@given(st.lists(st.tuples(st.sampled_from("abcdefghij"), st.none() | st.frozensets(st.sampled_from("xyz")))))
def test_rows_follow_every_coming_and_going(news: list[tuple[str, frozenset[str] | None]]) -> None:
    state, expected = build.state(), dict[str, frozenset[str]]()
    for name, images in news:
        if images is None:
            state.remove_node(name)
            expected.pop(name, None)
        else:
            state.set_node(build.node(name, images=dict.fromkeys(images, 1)))
            expected[name] = images
    nodes = state.snapshot().nodes
    held = {image: nodes.images.holders(image) for image in "xyz"}
    assert {name: {image for image in "xyz" if held[image][row]} for row, name in enumerate(nodes.names)} == expected
    assert set(nodes.images.spreads) == {image for images in expected.values() for image in images}
