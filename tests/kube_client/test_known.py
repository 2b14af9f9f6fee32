from hypothesis import given
from hypothesis import strategies as st

from cluster_model import objects
from kube_client.changes import Added, Change, Deleted, Modified
from kube_client.known import Key, Known, key_of

States = dict[str, tuple[str, str]]  # name -> uid, resourceVersion
STATES = st.dictionaries(st.sampled_from("abc"), st.tuples(st.sampled_from("uvw"), st.sampled_from("123")))


def _pods(states: States) -> dict[Key, objects.Pod | None]:
    metas = [objects.ObjectMeta(name=n, uid=u, resource_version=v) for n, (u, v) in states.items()]
    return {key_of(meta): objects.Pod(metadata=meta) for meta in metas}


def _apply(model: dict[str, str], change: Change[objects.Pod]) -> None:
    """A consumer keyed by uid, as the ledger is; it breaks on any change that does not fit what it was told."""
    match change:
        case Added(object=new):
            assert new.metadata.name + new.metadata.uid not in model
            model[new.metadata.name + new.metadata.uid] = new.metadata.resource_version
        case Modified(object=new, old=old):
            assert model[new.metadata.name + new.metadata.uid] == old.metadata.resource_version
            model[new.metadata.name + new.metadata.uid] = new.metadata.resource_version
        case Deleted(object=gone):
            del model[gone.metadata.name + gone.metadata.uid]


@given(st.lists(STATES))
def test_lists_told_as_changes_bring_a_consumer_to_the_last_list(lists: list[States]) -> None:
    known: Known[objects.Pod] = Known()
    model: dict[str, str] = {}
    for states in lists:
        # One version stands for one state, as on the server.
        stamped = {name: (uid, f"{uid}{version}") for name, (uid, version) in states.items()}
        for change in known.replace(_pods(stamped)):
            _apply(model, change)
        assert model == {name + uid: version for name, (uid, version) in stamped.items()}


def test_an_unreadable_object_is_kept_as_it_was() -> None:
    known: Known[objects.Pod] = Known()
    list(known.replace(_pods({"a": ("u", "1")})))
    assert list(known.replace({("", "a"): None})) == []
    assert len(known) == 1


def test_an_end_that_was_not_seen_tells_the_old_object_and_then_the_new() -> None:
    known: Known[objects.Pod] = Known()
    list(known.replace(_pods({"a": ("u", "1")})))
    told = list(known.replace(_pods({"a": ("v", "2")})))
    assert [type(change) for change in told] == [Deleted, Added]


def test_the_end_of_an_unknown_object_is_nothing() -> None:
    known: Known[objects.Pod] = Known()
    assert list(known.lose(("ns", "a"), None)) == []
