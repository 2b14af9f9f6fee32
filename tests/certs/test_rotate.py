import dataclasses
from datetime import datetime, timedelta
from typing import Any

import pytest
from cryptography import x509
from hypothesis import given, settings
from hypothesis import strategies as st

from certs import issue, material, rotate
from certs.issue import Chance, Names
from certs.material import Material, Publication
from certs.rotate import Policy, Step
from tests.certs.world import CONTEXT, NAMES, POLICY, START, advance, cas, days, first, overlapping, published, trusts

MINUTE = timedelta(minutes=1)


def _step(stored: Material | None, known: Publication | None, now: datetime, **policy: Any) -> Step:
    return rotate.plan(stored, known, now, dataclasses.replace(POLICY, **policy)).step


def test_the_first_installation_has_one_ca() -> None:
    plan, made = advance(None, None, START)
    assert (plan.step, plan.urgent) == (Step.CREATE, True)
    assert len(list(cas(made))) == 1
    assert trusts(made.bundle, made, START)


def test_new_material_is_published_and_then_kept() -> None:
    made = first()
    assert _step(made, None, START) is Step.PUBLISH
    plan = rotate.plan(made, published(made, START), START, POLICY)
    assert (plan.step, plan.until) == (Step.KEEP, START + days(60))


@pytest.mark.parametrize(("age", "step"), [(59.9, Step.KEEP), (60.1, Step.NEW_LEAF), (89.0, Step.NEW_LEAF)])
def test_the_leaf_is_renewed_at_two_thirds_of_its_life(age: float, step: Step) -> None:
    made = first()
    assert _step(made, published(made, START), START + days(age)) is step


def test_a_renewed_leaf_needs_no_new_bundle() -> None:
    made, now = first(), START + days(61)
    _, renewed = advance(made, published(made, START), now)
    assert (renewed.bundle, renewed.ca_key) == (made.bundle, made.ca_key)
    assert renewed.certificate != made.certificate
    assert trusts(made.bundle, renewed, now)


def test_a_new_ca_comes_before_the_old_one_could_not_sign_a_whole_leaf() -> None:
    end = START + days(730)
    made = rotate.carry_out(Step.NEW_LEAF, first(), (), end - days(100), CONTEXT)
    assert _step(made, published(made, START), end - days(91) - MINUTE) is Step.KEEP
    assert _step(made, published(made, START), end - days(91)) is Step.NEW_CA


def test_a_new_ca_stands_beside_the_old_one_and_the_leaf_stays() -> None:
    made, both = first(), overlapping(START + days(600))
    assert len(list(cas(both))) == 2
    reading = material.read(both)
    assert reading.signer is not None
    assert reading.signer.certificate == next(iter(cas(both)))
    assert not material.issued_by(reading.leaf, reading.signer.certificate)
    assert len(list(cas(made))) == 1


def test_the_leaf_is_switched_only_once_the_new_ca_is_known() -> None:
    now = START + days(600)
    fresh = rotate.carry_out(Step.NEW_LEAF, first(START), (), START + days(590), CONTEXT)
    both = rotate.carry_out(Step.NEW_CA, fresh, (), now, CONTEXT)
    assert _step(both, None, now) is Step.PUBLISH
    assert _step(both, published(fresh, START), now) is Step.PUBLISH
    waiting = rotate.plan(both, published(both, now), now + timedelta(seconds=59), POLICY)
    assert (waiting.step, waiting.until) == (Step.WAIT, now + MINUTE)
    assert _step(both, published(both, now), now + MINUTE) is Step.NEW_LEAF


def test_the_old_ca_is_dropped_a_day_after_the_switch() -> None:
    now = START + days(10)
    both = rotate.carry_out(Step.NEW_LEAF, overlapping(now), (), now, CONTEXT)
    known = published(both, now)
    assert _step(both, known, now + timedelta(hours=23, minutes=59)) is Step.KEEP
    plan, dropped = advance(both, known, now + days(1))
    assert plan.step is Step.DROP_OLD
    assert len(list(cas(dropped))) == 1
    assert trusts(dropped.bundle, dropped, now + days(1))


def test_a_publication_of_the_future_is_made_anew() -> None:
    now = START + days(10)
    both = overlapping(now)
    assert _step(both, published(both, now + days(400)), now) is Step.PUBLISH


@pytest.mark.parametrize("jump", [days(-400), days(100), days(3_000)])
def test_what_is_not_valid_at_the_present_time_is_replaced_at_once(jump: timedelta) -> None:
    made, now = first(), START + jump
    plan, replaced = advance(made, published(made, START), now)
    assert plan.urgent
    assert trusts(replaced.bundle, replaced, now)


def test_a_clock_that_jumps_and_comes_back_is_repaired_both_times() -> None:
    made = first()
    away, back = START + days(3_000), START + MINUTE
    _, wrong = advance(made, published(made, START), away)
    plan, right = advance(wrong, published(wrong, away), back)
    assert plan.urgent
    assert trusts(right.bundle, right, back)


@pytest.mark.parametrize("damage", [b"", b"garbage", first().ca_key, first().certificate])
def test_a_lost_ca_key_is_a_rotation_like_any_other(damage: bytes) -> None:
    lost = dataclasses.replace(first(), ca_key=damage)
    plan, both = advance(lost, published(lost, START), START)
    assert (plan.step, plan.urgent) == (Step.NEW_CA, False)
    assert both.certificate == lost.certificate
    assert trusts(both.bundle, lost, START)


@pytest.mark.parametrize("part", ["certificate", "key", "bundle"])
@pytest.mark.parametrize("damage", [b"", b"garbage", b"-----BEGIN CERTIFICATE-----\nAAAA\n-----END CERTIFICATE-----\n"])
def test_damaged_material_is_replaced_at_once(part: str, damage: bytes) -> None:
    broken = dataclasses.replace(first(), **{part: damage})
    plan, made = advance(broken, published(first(), START), START)
    assert plan.urgent
    assert trusts(made.bundle, made, START)


def test_a_key_of_another_certificate_is_noticed() -> None:
    mixed = dataclasses.replace(first(), key=first().key)
    assert rotate.plan(mixed, None, START, POLICY).urgent


def test_a_lost_store_keeps_the_cas_that_are_still_trusted() -> None:
    lost = first()
    made = rotate.carry_out(Step.CREATE, None, cas(lost), START, CONTEXT)
    assert trusts(made.bundle, lost, START)
    assert trusts(made.bundle, made, START)
    assert _step(made, published(made, START), START + days(1)) is Step.DROP_OLD


def test_expired_cas_and_leaves_in_a_found_bundle_are_not_carried_along() -> None:
    old, now = first(START - days(731)), START
    leaf = x509.load_pem_x509_certificate(first().certificate)
    made = rotate.carry_out(Step.CREATE, None, [*cas(old), leaf], now, CONTEXT)
    assert len(list(cas(made))) == 1


def test_another_service_means_another_leaf_at_once() -> None:
    plan = rotate.plan(first(), None, START, dataclasses.replace(POLICY, names=Names("other", "ns")))
    assert (plan.step, plan.urgent) == (Step.NEW_LEAF, True)


def test_a_further_name_waits_for_the_bundle_like_any_renewal() -> None:
    more = dataclasses.replace(NAMES, extra=("further.example",))
    made = first()
    assert _step(made, None, START, names=more) is Step.PUBLISH
    assert _step(made, published(made, START), START + MINUTE, names=more) is Step.NEW_LEAF
    renewed = rotate.carry_out(
        Step.NEW_LEAF, made, (), START, rotate.Context(dataclasses.replace(POLICY, names=more), Chance())
    )
    assert _step(renewed, published(made, START), START + MINUTE, names=more) is Step.KEEP


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"ca_life": days(100)}, "CA validity"),
        ({"leaf_life": timedelta(minutes=5)}, "validity"),
        ({"overlap": days(-1)}, "negative"),
    ],
)
def test_lives_that_cannot_work_are_refused(change: dict[str, Any], message: str) -> None:
    with pytest.raises(ValueError, match=message):
        dataclasses.replace(POLICY, **change)


class World:
    """Servers and API servers that lag: at any time every leaf and bundle of the last while may still be in use."""

    SERVER_LAG = timedelta(minutes=10)

    def __init__(self, policy: Policy) -> None:
        self.policy = policy
        self.now = START
        self.stored: Material | None = None
        self.publication: Publication | None = None
        self.leaves: list[tuple[datetime, Material]] = []
        self.bundles: list[tuple[datetime, bytes]] = []

    def run(self, steps: int) -> None:
        """One run of the command that dies after so many steps."""
        for _ in range(steps):
            plan, self.stored = advance(self.stored, self.publication, self.now, self.policy)
            if plan.step is Step.PUBLISH:
                self._publish()
            elif plan.step is Step.WAIT:
                assert plan.until is not None
                self.now = plan.until
            elif plan.step is Step.KEEP:
                return
            self.leaves.append((self.now, self.stored))
            self.check()

    def _publish(self) -> None:
        assert self.stored is not None
        self.bundles.append((self.now, self.stored.bundle))
        self.publication = published(self.stored, self.now)

    def check(self) -> None:
        if not self.bundles:
            return
        for bundle in _in_use(self.bundles, self.now, self.policy.propagation):
            for served in _in_use(self.leaves, self.now, self.SERVER_LAG):
                assert trusts(bundle, served, self.now)


def _in_use(history: list[tuple[datetime, Any]], now: datetime, lag: timedelta) -> list[Any]:
    """The newest, and whatever was replaced within the lag."""
    ends = [at for at, _ in history[1:]] + [now + days(1)]
    return [thing for (_, thing), end in zip(history, ends, strict=True) if end > now - lag]


POLICIES = [
    Policy(NAMES, leaf_life=days(2), ca_life=days(6), overlap=timedelta(hours=24)),
    Policy(NAMES, leaf_life=days(1), ca_life=days(4), overlap=timedelta(hours=12), propagation=timedelta(minutes=5)),
]
RUNS = st.lists(st.tuples(st.floats(0.01, 14.0), st.integers(1, 8)), max_size=40)


@settings(max_examples=40, deadline=None)
@given(st.sampled_from(POLICIES), RUNS)
def test_every_bundle_and_leaf_that_can_meet_verify_whenever_runs_come_and_die(
    policy: Policy, runs: list[tuple[float, int]]
) -> None:
    """Runs come every 14 hours at the latest (a leaf has at least 8 left then), and die after any number of steps."""
    world = World(policy)
    world.run(steps=8)
    for hours, steps in runs:
        # A run that dies is repeated by its Job; a whole one follows within the hour.
        world.now += timedelta(hours=hours / 2)
        world.check()
        world.run(steps)
        world.now += timedelta(minutes=30)
        world.check()
        world.run(steps=8)


def test_ten_years_of_runs_rotate_cas_and_never_hold_more_than_two() -> None:
    world, most = World(POLICY), 0
    signers = set()
    for _ in range(1_217):
        world.run(steps=8)
        assert world.stored is not None
        most = max(most, len(list(cas(world.stored))))
        signers.add(world.stored.ca_key)
        world.leaves, world.bundles = world.leaves[-3:], world.bundles[-3:]
        world.now += days(3)
    assert most == 2
    assert len(signers) == 6


def test_the_pem_of_a_bundle_reads_back() -> None:
    both = overlapping(START + days(1))
    assert material.bundle_pem(material.certificates(both.bundle)) == both.bundle
    assert issue.certificate_pem(material.certificates(both.bundle)[0]) in both.bundle
