"""What to do next with the stored material, and doing it. Pure: time and chance come in, nothing is stored here.

The order that keeps every pair of a bundle and a leaf that may meet verifiable: publish the new CA beside the old one,
wait until every API server has seen it, switch the leaf, and drop the old CA once no server can hold an old leaf.
"""

from collections.abc import Iterable
from dataclasses import dataclass, replace
from datetime import datetime, timedelta
from enum import StrEnum

from cryptography import x509

from certs import issue, material
from certs.issue import SKEW, Authority, Chance, Names
from certs.material import Material, Publication, Reading, Unusable


class Step(StrEnum):
    """One step of a rotation."""

    CREATE = "new CA and certificate"
    NEW_CA = "new CA beside the old one"
    NEW_LEAF = "new certificate"
    DROP_OLD = "old CA dropped"
    PUBLISH = "bundle to publish"
    WAIT = "wait until the bundle is known everywhere"
    KEEP = "nothing to do"


ISSUING = frozenset({Step.CREATE, Step.NEW_CA, Step.NEW_LEAF, Step.DROP_OLD})


@dataclass(frozen=True, slots=True)
class Policy:
    """How long things last. A leaf is renewed at two thirds of its life, a CA before it could not sign a whole one."""

    names: Names
    leaf_life: timedelta = timedelta(days=90)
    ca_life: timedelta = timedelta(days=730)
    # From the leaf's switch on: longer than any server takes to read its new leaf.
    overlap: timedelta = timedelta(hours=24)
    # From the publication on: longer than any API server takes to see a changed configuration.
    propagation: timedelta = timedelta(seconds=60)

    def __post_init__(self) -> None:
        if self.leaf_life < timedelta(hours=1):
            raise ValueError("validity: must be at least an hour")
        if self.overlap < timedelta(0) or self.propagation < timedelta(0):
            raise ValueError("overlap and propagation: must not be negative")
        if self.ca_life < 2 * self.leaf_life + self.overlap:
            raise ValueError("CA validity: must be at least twice the validity plus the overlap")


@dataclass(frozen=True, slots=True)
class Plan:
    """The next step, why, and for WAIT and KEEP until when. Urgent: what is there now serves nobody."""

    step: Step
    why: str
    until: datetime | None = None
    urgent: bool = False


def plan(stored: Material | None, published: Publication | None, now: datetime, policy: Policy) -> Plan:
    """Decide the next step."""
    if stored is None:
        return Plan(Step.CREATE, "nothing is stored", urgent=True)
    try:
        reading = material.read(stored)
    except Unusable as problem:
        return Plan(Step.CREATE, str(problem), urgent=True)
    fault = material.fault(reading, policy.names, now)
    signer = reading.signer if reading.signer and material.valid(reading.signer.certificate, now) else None
    if fault is not None:
        return Plan(Step.NEW_LEAF if signer else Step.CREATE, fault, urgent=True)
    if signer is None:
        return Plan(Step.NEW_CA, "no valid CA can sign")
    if now >= _ca_due(signer.certificate, policy):
        return Plan(Step.NEW_CA, "the CA nears its end")
    standing = _Standing(reading, signer, stored.fingerprint, published)
    return _switch(standing, now, policy) or _settle(standing, now, policy)


def carry_out(
    step: Step, stored: Material | None, found: Iterable[x509.Certificate], now: datetime, context: "Context"
) -> Material:
    """Make the material that an issuing step leads to; `found` are CAs that API servers trust at present."""
    policy, chance = context.policy, context.chance
    if step is Step.CREATE or stored is None:
        return _create(stored, found, now, context)
    reading = material.read(stored)
    if step is Step.NEW_CA:
        ca = issue.authority(policy.names.service, now, policy.ca_life, chance)
        bundle = (ca.certificate, *material.trusted(reading.bundle, now))
        return replace(stored, bundle=material.bundle_pem(bundle), ca_key=issue.key_pem(ca.key))
    if reading.signer is None:
        raise ValueError(f"{step}: needs a CA that can sign")
    if step is Step.NEW_LEAF:
        leaf = issue.serving(policy.names, reading.signer, now, policy.leaf_life, chance)
        return replace(stored, certificate=leaf.certificate, key=leaf.key)
    return replace(stored, bundle=material.bundle_pem((reading.signer.certificate,)))


@dataclass(frozen=True, slots=True)
class Context:
    """What every step needs."""

    policy: Policy
    chance: Chance


def _create(stored: Material | None, found: Iterable[x509.Certificate], now: datetime, context: Context) -> Material:
    policy, chance = context.policy, context.chance
    ca = issue.authority(policy.names.service, now, policy.ca_life, chance)
    leaf = issue.serving(policy.names, ca, now, policy.leaf_life, chance)
    # Servers may still hold a leaf of a CA that is lost to us: whoever trusts it goes on doing so for the overlap.
    old = material.certificates(stored.bundle) if stored else ()
    bundle = (ca.certificate, *material.trusted((*old, *found), now))
    return Material(leaf.certificate, leaf.key, material.bundle_pem(bundle), issue.key_pem(ca.key))


@dataclass(frozen=True, slots=True)
class _Standing:
    """Material that serves and can sign."""

    reading: Reading
    signer: Authority
    fingerprint: str
    published: Publication | None

    @property
    def leaf(self) -> x509.Certificate:
        return self.reading.leaf

    @property
    def leaf_is_the_signers(self) -> bool:
        return material.issued_by(self.leaf, self.signer.certificate)

    @property
    def is_published(self) -> bool:
        return self.published is not None and self.published.fingerprint == self.fingerprint

    @property
    def has_others(self) -> bool:
        return any(ca != self.signer.certificate for ca in self.reading.bundle)


def _switch(standing: _Standing, now: datetime, policy: Policy) -> Plan | None:
    """Lead to a new leaf where one is due, but not before its CA is known everywhere."""
    why = _why_switch(standing, now, policy)
    if why is None:
        return None
    published = standing.published
    if not standing.is_published or published is None or published.at > now:
        return Plan(Step.PUBLISH, "the bundle must be known before the certificate changes")
    known = published.at + policy.propagation
    if now < known:
        return Plan(Step.WAIT, "the bundle was published just now", known)
    return Plan(Step.NEW_LEAF, why)


def _why_switch(standing: _Standing, now: datetime, policy: Policy) -> str | None:
    if not standing.leaf_is_the_signers:
        return "the new CA is known everywhere"
    if now >= _leaf_due(standing.leaf):
        return "two thirds of its life are over"
    lacking = material.missing(standing.reading, policy.names)
    return f"the certificate lacks the name {min(lacking)}" if lacking else None


def _settle(standing: _Standing, now: datetime, policy: Policy) -> Plan:
    """The leaf is in order: drop what is left over, or wait for the next date."""
    drop = standing.leaf.not_valid_before_utc + SKEW + policy.overlap
    if standing.has_others and now >= drop:
        return Plan(Step.DROP_OLD, "no server holds a certificate of it any more")
    if not standing.is_published:
        return Plan(Step.PUBLISH, "the bundle has changed")
    dates = [_leaf_due(standing.leaf), _ca_due(standing.signer.certificate, policy)]
    return Plan(Step.KEEP, "all is in order", min([*dates, drop] if standing.has_others else dates))


def _leaf_due(leaf: x509.Certificate) -> datetime:
    start, end = leaf.not_valid_before_utc + SKEW, leaf.not_valid_after_utc
    return start + (end - start) * 2 / 3


def _ca_due(ca: x509.Certificate, policy: Policy) -> datetime:
    # Then a leaf signed at the last moment could still live to its end, and the overlap after it.
    return ca.not_valid_after_utc - policy.leaf_life - policy.overlap
