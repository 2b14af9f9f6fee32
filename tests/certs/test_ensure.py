import asyncio
import base64
import copy
import functools
import itertools
from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from datetime import datetime, timedelta
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from certs import configurations, material, storage
from certs.configurations import GROUP
from certs.ensure import Ensuring, Result, ensure
from certs.issue import Chance
from certs.material import Material
from certs.secret import PUBLISHED, SecretPlace
from certs.storage import Refused
from kube_client.client import DEFAULTS, Body, Options
from kube_client.errors import ApiError
from kube_client.timing import Timing
from tests.certs.world import POLICY, START, days, first, trusts
from tests.kube_client.fake_api import MemoryClient
from tests.kube_client.store import Json, Store, Target

SECRET = "/api/v1/namespaces/gpu-scheduler/secrets/gpu-scheduler-webhook-tls"
MUTATING = f"{GROUP}/mutatingwebhookconfigurations/gpu-scheduler"
VALIDATING = f"{GROUP}/validatingwebhookconfigurations/gpu-scheduler"
SERVER_LAG = timedelta(minutes=10)


class Crash(BaseException):
    """The process dies here."""


@dataclass
class Cluster:
    """A store with our objects, a clock, and what API servers and webhook servers may hold at present."""

    store: Store = field(default_factory=Store)
    now: datetime = START
    bundles: dict[str, list[tuple[datetime, bytes]]] = field(default_factory=dict)
    leaves: list[tuple[datetime, Material]] = field(default_factory=list)

    def __post_init__(self) -> None:
        if self.store.objects:
            return
        for path in (MUTATING, VALIDATING):
            hooks = [{"name": name, "clientConfig": {"service": {"name": "s"}}} for name in ("a.example", "b.example")]
            self.store.create(Target.of(path), {"metadata": {"name": "gpu-scheduler"}, "webhooks": hooks})

    async def sleep(self, seconds: float) -> None:
        self.now += timedelta(seconds=seconds)
        await asyncio.sleep(0)

    def secret(self) -> Material:
        data = self.store.get(Target.of(SECRET))["data"]
        return storage.whole({key: _decoded(text) for key, text in data.items()})

    def bundle(self, path: str) -> set[bytes]:
        hooks = self.store.get(Target.of(path))["webhooks"]
        return {base64.b64decode(hook["clientConfig"].get("caBundle", "")) for hook in hooks}

    def settled(self) -> bool:
        made = self.secret()
        return self.bundle(MUTATING) == self.bundle(VALIDATING) == {made.bundle} and trusts(made.bundle, made, self.now)

    def forget(self) -> None:
        """Begin the histories anew."""
        self.bundles.clear()
        self.leaves.clear()

    def note(self) -> None:
        """Remember what can be seen from now on, and check all that can meet."""
        for path in (MUTATING, VALIDATING):
            for bundle in self.bundle(path) - {b""}:
                _append(self.bundles.setdefault(path, []), self.now, bundle)
        if Target.of(SECRET).key in self.store.objects:
            _append(self.leaves, self.now, self.secret())
        for path, (_, served) in itertools.product(self.bundles, _recent(self.leaves, self.now - SERVER_LAG)):
            for _, bundle in _recent(self.bundles[path], self.now - POLICY.propagation):
                assert trusts(bundle, served, self.now), "an API server refuses a server"


def _decoded(text: str | None) -> bytes:
    try:
        return base64.b64decode(text or "")
    except ValueError:
        return b""


def _append(history: list[tuple[datetime, Any]], now: datetime, thing: Any) -> None:
    if not history or history[-1][1] != thing:
        history.append((now, thing))


def _recent(history: Sequence[tuple[datetime, Any]], since: datetime) -> list[tuple[datetime, Any]]:
    """What was current at some moment after `since`."""
    ends = [at for at, _ in history[1:]]
    return [entry for entry, end in itertools.zip_longest(history, ends) if end is None or end > since]


class Caller(MemoryClient):
    """A client of the cluster that may die around its n-th write."""

    def __init__(self, cluster: Cluster, dies_at_write: int = 0, after_it: bool = False, checks: bool = True) -> None:
        timing = Timing(sleep=cluster.sleep, utc_now=lambda: cluster.now, random=lambda: 0.0)
        super().__init__(cluster.store, timing)
        self.cluster, self.dies_at_write, self.after_it, self.checks = cluster, dies_at_write, after_it, checks
        self.writes = 0

    async def request(self, method: str, path: str, body: Body = None, options: Options = DEFAULTS) -> bytes:
        await asyncio.sleep(0)
        self.writes += method != "GET"
        dying = method != "GET" and self.writes == self.dies_at_write
        if dying and not self.after_it:
            raise Crash
        answer = await super().request(method, path, body, options)
        if self.checks:
            self.cluster.note()
        if dying:
            raise Crash
        return answer


def run(cluster: Cluster, client: MemoryClient | None = None, targets: Sequence[str] = ("gpu-scheduler",)) -> Result:
    return asyncio.run(_run(cluster, client or Caller(cluster), targets))


async def _run(cluster: Cluster, client: MemoryClient, targets: Sequence[str] = ("gpu-scheduler",)) -> Result:
    place = SecretPlace(client, "gpu-scheduler", "gpu-scheduler-webhook-tls")
    wanted = configurations.targets(targets)
    return await ensure(Ensuring(place, client, wanted, POLICY, client.timing, Chance()))


def installed() -> Cluster:
    cluster = Cluster()
    run(cluster)
    return cluster


@functools.cache
def _old() -> Cluster:
    cluster = installed()
    for age in range(60, 630, 60):
        cluster.now = START + days(age + 0.5)
        run(cluster)
    return cluster


def near_the_end_of_the_ca() -> Cluster:
    """Installed long ago, with a fresh leaf, on the day on which a new CA is due."""
    old = _old()
    return Cluster(replace(old.store, objects=copy.deepcopy(old.store.objects), history=[]), START + days(639))


def test_the_first_run_issues_stores_and_publishes() -> None:
    cluster = Cluster()
    result = run(cluster)
    assert cluster.settled()
    assert result.next_due == START + days(60)
    assert cluster.store.get(Target.of(SECRET))["type"] == "kubernetes.io/tls"
    assert sorted(cluster.store.get(Target.of(SECRET))["data"]) == ["ca.crt", "ca.key", "tls.crt", "tls.key"]


def test_a_second_run_writes_nothing() -> None:
    cluster = installed()
    before, client = cluster.store.version, Caller(cluster)
    run(cluster, client)
    assert (cluster.store.version, client.writes) == (before, 0)


def test_a_renewal_leaves_the_configurations_alone() -> None:
    cluster = installed()
    cluster.now += days(61)
    client = Caller(cluster)
    run(cluster, client)
    assert [call for call in client.calls if call[0] != "GET"] == [("PUT", SECRET)]
    assert cluster.settled()


def test_one_run_rotates_the_ca_and_a_later_one_drops_the_old() -> None:
    cluster = near_the_end_of_the_ca()
    old = cluster.secret()
    run(cluster)
    both = cluster.secret()
    assert (len(material.certificates(both.bundle)), cluster.settled()) == (2, True)
    assert both.key != old.key
    assert trusts(both.bundle, old, cluster.now)
    cluster.now += days(1)
    run(cluster)
    assert len(material.certificates(cluster.secret().bundle)) == 1
    assert cluster.settled()


def test_a_hand_edited_bundle_is_restored_without_touching_the_secret() -> None:
    cluster = installed()
    document = cluster.store.get(Target.of(MUTATING))
    document["webhooks"][1]["clientConfig"]["caBundle"] = "bm90IGEgYnVuZGxl"
    before = cluster.secret()
    client = Caller(cluster, checks=False)
    run(cluster, client)
    assert cluster.settled()
    assert cluster.secret() == before
    assert [path for method, path in client.calls if method == "PATCH"] == [MUTATING]


def test_a_lost_secret_is_replaced_and_the_old_leaf_stays_trusted() -> None:
    cluster = installed()
    served = cluster.secret()
    cluster.store.remove(Target.of(SECRET))
    run(cluster, Caller(cluster, checks=False))
    cluster.forget()
    assert cluster.settled()
    assert all(trusts(bundle, served, cluster.now) for bundle in cluster.bundle(VALIDATING))
    cluster.now += days(1)
    run(cluster)
    assert not any(trusts(bundle, served, cluster.now) for bundle in cluster.bundle(VALIDATING))


def test_foreign_keys_labels_and_annotations_of_the_secret_stay() -> None:
    cluster = installed()
    document = cluster.store.get(Target.of(SECRET))
    document["data"]["note"] = "aGk="
    document["metadata"].update(labels={"team": "x"}, annotations={**document["metadata"]["annotations"], "k": "v"})
    cluster.now += days(61)
    run(cluster)
    found = cluster.store.get(Target.of(SECRET))
    assert (found["data"]["note"], found["metadata"]["labels"]) == ("aGk=", {"team": "x"})
    assert set(found["metadata"]["annotations"]) == {"k", PUBLISHED}


def test_a_missing_configuration_is_named_and_the_secret_and_the_others_stay() -> None:
    cluster = Cluster()
    cluster.store.remove(Target.of(VALIDATING))
    with pytest.raises(Refused, match=r'validatingwebhookconfigurations "gpu-scheduler": not found'):
        run(cluster, Caller(cluster, checks=False))
    assert cluster.bundle(MUTATING) == {cluster.secret().bundle}


def test_a_missing_configuration_does_not_stop_renewals() -> None:
    cluster = installed()
    old = cluster.secret()
    cluster.store.remove(Target.of(VALIDATING))
    cluster.now += days(61)
    with pytest.raises(Refused):
        run(cluster, Caller(cluster, checks=False))
    assert cluster.secret().certificate != old.certificate


def test_a_missing_configuration_holds_back_the_switch_to_a_new_ca() -> None:
    cluster = near_the_end_of_the_ca()
    old = cluster.secret()
    cluster.store.remove(Target.of(VALIDATING))
    with pytest.raises(Refused):
        run(cluster, Caller(cluster, checks=False))
    both = cluster.secret()
    assert (both.certificate, len(material.certificates(both.bundle))) == (old.certificate, 2)
    assert cluster.bundle(MUTATING) == {both.bundle}


def test_one_kind_alone_can_be_asked_for() -> None:
    cluster = Cluster()
    cluster.store.remove(Target.of(VALIDATING))
    run(cluster, Caller(cluster, checks=False), ["mutating/gpu-scheduler"])
    assert cluster.bundle(MUTATING) == {cluster.secret().bundle}


def test_a_secret_of_cert_manager_is_not_touched() -> None:
    cluster = Cluster()
    foreign = {"metadata": {"name": "x", "annotations": {"cert-manager.io/certificate-name": "c"}}, "data": {}}
    cluster.store.create(Target.of(SECRET), {**foreign, "metadata": {**foreign["metadata"], "name": SECRET[-25:]}})
    with pytest.raises(Refused, match="cert-manager"):
        run(cluster)


@pytest.mark.parametrize("damage", ["", "%%%", "Z2FyYmFnZQ==", None])
@pytest.mark.parametrize("key", ["tls.crt", "tls.key", "ca.crt", "ca.key"])
def test_a_damaged_secret_is_repaired(key: str, damage: str | None) -> None:
    cluster = installed()
    cluster.store.get(Target.of(SECRET))["data"][key] = damage
    run(cluster, Caller(cluster, checks=key == "ca.key"))
    assert cluster.settled()


@pytest.mark.parametrize("after_it", [False, True])
@pytest.mark.parametrize("make", [Cluster, near_the_end_of_the_ca])
def test_a_run_that_dies_around_any_write_is_repaired_by_the_next(make: Any, after_it: bool) -> None:
    deaths = 0
    for write in range(1, 12):
        cluster = make()
        try:
            run(cluster, Caller(cluster, write, after_it))
        except Crash:
            deaths += 1
        cluster.now += timedelta(seconds=5)
        run(cluster)
        assert cluster.settled()
    assert deaths >= 4


@pytest.mark.parametrize("make", [Cluster, near_the_end_of_the_ca])
def test_a_run_that_dies_again_and_again_gets_there(make: Any) -> None:
    cluster = make()
    for _ in range(30):
        with pytest.raises(Crash):
            run(cluster, Caller(cluster, dies_at_write=1, after_it=True))
        cluster.now += timedelta(seconds=20)
        if cluster.secret() and _at_rest(cluster):
            break
    assert cluster.settled()


def _at_rest(cluster: Cluster) -> bool:
    client = Caller(cluster)
    run(cluster, client)
    return True


def test_conflicts_are_read_again() -> None:
    conflict = ApiError(409, "Conflict", "the object has been modified")
    cluster = Cluster()
    client = MemoryClient(
        cluster.store, Caller(cluster).timing, [None, None, None, conflict, None, None, None, conflict]
    )
    run(cluster, client)
    assert cluster.settled()


def test_a_lost_answer_is_looked_up() -> None:
    lost = ApiError(0, "ServerDisconnectedError", "reset")
    cluster = Cluster()
    client = MemoryClient(cluster.store, Caller(cluster).timing, [None, None, None, lost])
    run(cluster, client)
    assert cluster.settled()


def test_endless_conflicts_end_in_a_message() -> None:
    cluster = Cluster()
    conflict = ApiError(409, "Conflict", "the object has been modified")
    failures = itertools.chain.from_iterable(itertools.repeat([None, None, None, conflict]))
    with pytest.raises(Refused, match="did not come to rest: 409 Conflict"):
        run(cluster, MemoryClient(cluster.store, Caller(cluster).timing, failures))


def test_a_forbidden_call_is_an_api_error() -> None:
    cluster = Cluster()
    client = MemoryClient(cluster.store, Caller(cluster).timing, [ApiError(403, "Forbidden", "no")])
    with pytest.raises(ApiError, match="403"):
        run(cluster, client)


class Paced(Caller):
    """A client that lets others go first as often as told."""

    def __init__(self, cluster: Cluster, turns: Sequence[int]) -> None:
        super().__init__(cluster)
        self.turns = itertools.chain(turns, itertools.repeat(0))

    async def request(self, method: str, path: str, body: Body = None, options: Options = DEFAULTS) -> bytes:
        for _ in range(next(self.turns)):
            await asyncio.sleep(0)
        return await super().request(method, path, body, options)


def near_the_end_and_edited() -> Cluster:
    """As above; the bundle still does, but is not the stored one, so that both runs have something to restore."""
    cluster = near_the_end_of_the_ca()
    for path in (MUTATING, VALIDATING):
        for hook in cluster.store.get(Target.of(path))["webhooks"]:
            hook["clientConfig"]["caBundle"] = base64.b64encode(cluster.secret().bundle + b"\n").decode()
    return cluster


TURNS = st.lists(st.integers(0, 30), max_size=30)


@settings(max_examples=100, deadline=None)
@given(st.sampled_from([Cluster, near_the_end_of_the_ca, near_the_end_and_edited]), TURNS, TURNS)
def test_two_runs_at_once_end_well_and_never_break_trust(make: Any, one: list[int], other: list[int]) -> None:
    cluster = make()

    async def both() -> None:
        await asyncio.gather(_run(cluster, Paced(cluster, one)), _run(cluster, Paced(cluster, other)))

    asyncio.run(both())
    assert cluster.settled()
    assert len(material.certificates(cluster.secret().bundle)) == (1 if make is Cluster else 2)


@pytest.mark.parametrize("text", ["", "x/y", "mutating/", "mutatingwebhookconfigurations/x"])
def test_a_configuration_of_another_form_is_refused(text: str) -> None:
    with pytest.raises(ValueError, match="must be NAME, mutating/NAME or validating/NAME"):
        configurations.targets([text])


def test_a_name_stands_for_one_of_each_kind_once() -> None:
    found = configurations.targets(["a", "mutating/a", "validating/b"])
    assert [(target.kind, target.name) for target in found] == [
        ("mutating", "a"),
        ("validating", "a"),
        ("validating", "b"),
    ]


def test_what_was_never_a_publication_reads_as_none() -> None:
    publication = material.Publication(first().fingerprint, START)
    assert storage.read_publication(storage.publication_text(publication)) == publication
    assert storage.read_publication("yesterday sha256:00") is None
    assert storage.read_publication("2026-01-01T00:00:00 sha256:00") is None


def test_documents_without_webhooks_are_complete() -> None:
    cluster = Cluster()
    empty: Json = {"metadata": {"name": "gpu-scheduler"}}
    cluster.store.replace(Target.of(MUTATING), empty)
    run(cluster, Caller(cluster, checks=False))
    assert cluster.bundle(VALIDATING) == {cluster.secret().bundle}
