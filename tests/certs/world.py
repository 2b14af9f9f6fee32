"""A cluster as far as certificates go: times, a store in memory, and the check that a client trusts a server."""

from __future__ import annotations

import functools
from collections.abc import Iterable
from datetime import UTC, datetime, timedelta

from cryptography import x509
from cryptography.x509.verification import PolicyBuilder, Store, VerificationError

from certs import material, rotate
from certs.issue import Chance, Names
from certs.material import Material, Publication
from certs.rotate import Context, Plan, Policy, Step

START = datetime(2026, 1, 1, tzinfo=UTC)
NAMES = Names("gpu-scheduler-webhook", "gpu-scheduler")
POLICY = Policy(NAMES)
CONTEXT = Context(POLICY, Chance())


@functools.lru_cache(maxsize=50_000)
def trusts(bundle: bytes, served: Material, at: datetime, name: str = NAMES.required) -> bool:
    """Verify as a strict client would: chain, purpose, dates, name."""
    trusted = list(material.certificates(bundle))
    if not trusted:
        return False
    verifier = PolicyBuilder().store(Store(trusted)).time(at).build_server_verifier(x509.DNSName(name))
    try:
        verifier.verify(x509.load_pem_x509_certificate(served.certificate), [])
    except VerificationError:
        return False
    return True


def advance(
    stored: Material | None, published: Publication | None, now: datetime, policy: Policy = POLICY
) -> tuple[Plan, Material]:
    """Plan one step and carry it out."""
    plan = rotate.plan(stored, published, now, policy)
    if plan.step not in rotate.ISSUING:
        assert stored is not None
        return plan, stored
    return plan, rotate.carry_out(plan.step, stored, (), now, Context(policy, Chance()))


def first(now: datetime = START) -> Material:
    """Material as the first installation makes it."""
    return advance(None, None, now)[1]


def published(stored: Material, at: datetime) -> Publication:
    """Its bundle, published then."""
    return Publication(stored.fingerprint, at)


def overlapping(now: datetime) -> Material:
    """Material in the middle of a rotation: a new CA beside the old one, the leaf still the old one's."""
    return rotate.carry_out(Step.NEW_CA, first(START), (), now, CONTEXT)


def days(number: float) -> timedelta:
    return timedelta(days=number)


def cas(stored: Material) -> Iterable[x509.Certificate]:
    return material.certificates(stored.bundle)
