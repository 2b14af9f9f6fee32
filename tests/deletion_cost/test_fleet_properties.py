"""Whatever the watches tell and in whichever order, the fleet knows just the pods that are there."""

from hypothesis import given
from hypothesis import strategies as st

from tests.deletion_cost.build import Cluster, pod, replica_set

SETS = ("web", "two")
TOLD = st.tuples(
    st.sampled_from("abcd"),
    st.sampled_from((*SETS, "", "gone", "label", "term", "set")),  # its owner, or what happens instead
    st.booleans(),
    st.sampled_from((None, -49, 7)),
)


@given(st.lists(TOLD, max_size=60))
def test_members_are_the_pods_that_a_replica_set_owns(told: list[tuple[str, str, bool, int | None]]) -> None:
    cluster, there = Cluster(), dict[str, str]()
    for name, what, ready, cost in told:
        if what in (*SETS, ""):
            cluster.add(pod(name, cost, owner=what, ready=ready))
            there[name] = what
        elif what == "gone" and there.pop(name, None) is not None:
            cluster.remove(name)
        elif what == "label":
            cluster.label("on" if ready else "off")
        elif what == "set":
            cluster.add(replica_set(SETS[ready], deployment="app"))
        elif what == "term":
            (cluster.fleet.begin_term if ready else cluster.fleet.end_term)()
        for one in SETS:
            owned = {f"uid-{name}" for name, owner in there.items() if owner == one}
            assert set(cluster.fleet.members(f"uid-{one}")) == owned
