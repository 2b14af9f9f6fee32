"""What `ensure` asks of a place that keeps the material. Two exist: a Secret and a directory."""

from dataclasses import dataclass
from datetime import UTC, datetime
from typing import Protocol

from certs.material import BUNDLE, CA_KEY, CERTIFICATE, KEY, NAMES, Material, Publication


@dataclass(frozen=True, slots=True)
class Stored:
    """What was found, and the version that guards changing it."""

    material: Material
    publication: Publication | None
    version: str


class Conflict(Exception):
    """Somebody else has changed the place since it was read."""


class Refused(Exception):
    """The place must not or cannot be written, and why."""


class Place(Protocol):
    """Keeps the material; every write is whole or not at all."""

    async def read(self) -> Stored | None:
        """Read; None where nothing is."""

    async def write(self, new: Material, publication: Publication | None, old: Stored | None) -> None:
        """Replace what was read, or create; raise Conflict where it is not what was read any more."""


def parts(material: Material) -> dict[str, bytes]:
    """Give the material by the names of its parts."""
    return {
        CERTIFICATE: material.certificate,
        KEY: material.key,
        BUNDLE: material.bundle,
        CA_KEY: material.ca_key,
    }


def whole(found: dict[str, bytes]) -> Material:
    """Put the parts together; a missing one is empty, which reads as unusable."""
    return Material(*(found.get(name, b"") for name in NAMES))


def publication_text(publication: Publication) -> str:
    """Write a publication in one line."""
    return f"{publication.at.astimezone(UTC).isoformat()} {publication.fingerprint}"


def read_publication(text: str) -> Publication | None:
    """Read that line; anything else is no publication."""
    at, _, fingerprint = text.strip().partition(" ")
    try:
        moment = datetime.fromisoformat(at)
    except ValueError:
        return None
    return Publication(fingerprint, moment) if moment.tzinfo is not None else None
