"""Brings store and configurations to where they should be, one guarded step at a time, wherever the last run ended.

What happens when:
- The Secret is lost: a new CA and certificate at once. CAs that the configurations still trust stay in the bundle for
  the overlap, since servers go on with the old certificate until their volume is refreshed.
- Only the CA's key is lost or damaged: a new CA beside the old one, as in any rotation; nobody notices.
- A caBundle was edited by hand: it is written anew from the Secret, by the next run.
- The clock jumps: what is not valid at the present time is replaced at once; a publication dated in the future counts
  as not made. When the clock comes back the same holds, so the next run repairs what the wrong time made.
- A run dies between two steps: the next one reads both places and goes on; no step needs memory of the last.
- A configuration is missing: the others are served and certificates are renewed, but no new CA is switched to, and the
  run ends with an error that names it.
- Two runs at once: each write is guarded by the version it was decided on; the loser reads again and finds it done.
"""

import logging
from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime

from certs import configurations, rotate
from certs.configurations import Found, Target
from certs.issue import Chance
from certs.material import Material, Publication
from certs.rotate import ISSUING, Context, Plan, Policy, Step
from certs.storage import Conflict, Place, Refused, Stored
from kube_client.client import Client
from kube_client.timing import Timing

log = logging.getLogger(__name__)

# Create, publish, record, wait, switch, publish, drop: a run needs about ten; conflicts with another may cost as many.
STEPS_LIMIT = 60
CONFLICT_SECONDS = 0.5


@dataclass(frozen=True, slots=True)
class Ensuring:
    """All that a run works with. Without a client there are no configurations to publish to."""

    place: Place
    client: Client | None
    targets: Sequence[Target]
    policy: Policy
    timing: Timing
    chance: Chance


@dataclass(frozen=True, slots=True)
class Result:
    """What is stored at the end, and when something is next due."""

    material: Material
    next_due: datetime | None


async def ensure(run: Ensuring) -> Result:
    """Take steps until nothing is to be done; raise Refused where a person has to do something."""
    last: Conflict | None = None
    for _ in range(STEPS_LIMIT):
        try:
            done = await _step(run)
        except Conflict as conflict:
            last = conflict
            log.info("changed by another, reading again cause=%s", conflict)
            await run.timing.sleep(CONFLICT_SECONDS * (1 + run.timing.random()))
            continue
        if done is not None:
            return done
    raise Refused(f"certificates and configurations did not come to rest: {last}")


async def _step(run: Ensuring) -> Result | None:
    # The configurations are read before the store. A bundle is stored before it is published, so whatever a rival has
    # published by now is in the store by the time that is read; and what it publishes later fails our version.
    found = () if run.client is None else await configurations.read(run.client, run.targets)
    stored = await run.place.read()
    now = run.timing.utc_now()
    plan = _plan(stored, now, run.policy)
    if stored is not None and not plan.urgent and await _publish(run, found, stored):
        return None
    if plan.step in ISSUING:
        await _issue(run, plan, stored, found)
        return None
    if plan.step is Step.WAIT and plan.until is not None:
        log.info("waiting until=%s why=%s", plan.until.isoformat(), plan.why)
        await run.timing.sleep((plan.until - now).total_seconds())
        return None
    configurations.check(found)
    return Result(stored.material, plan.until) if stored is not None and plan.step is Step.KEEP else None


def _plan(stored: Stored | None, now: datetime, policy: Policy) -> Plan:
    if stored is None:
        return rotate.plan(None, None, now, policy)
    return rotate.plan(stored.material, stored.publication, now, policy)


async def _publish(run: Ensuring, found: Sequence[Found], stored: Stored) -> bool:
    """Make the configurations trust the stored bundle and note since when; tell whether that took a step."""
    bundle = stored.material.bundle
    wrote = run.client is not None and await configurations.publish(run.client, found, bundle)
    if any(at.document is None for at in found):
        return wrote
    now, known = run.timing.utc_now(), stored.publication
    if not wrote and known is not None and known.fingerprint == stored.material.fingerprint and known.at <= now:
        return False
    log.info("bundle published fingerprint=%s configurations=%d", stored.material.fingerprint, len(found))
    await run.place.write(stored.material, Publication(stored.material.fingerprint, now), stored)
    return True


async def _issue(run: Ensuring, plan: Plan, stored: Stored | None, found: Sequence[Found]) -> None:
    trusted = configurations.authorities(found)
    context = Context(run.policy, run.chance)
    old = stored.material if stored else None
    new = rotate.carry_out(plan.step, old, trusted, run.timing.utc_now(), context)
    kept = stored.publication if stored is not None and new.bundle == stored.material.bundle else None
    await run.place.write(new, kept, stored)
    log.info("stored step=%s why=%s", plan.step.value, plan.why)
