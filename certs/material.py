"""What is stored, and what can be said of it: who signed what, until when. Pure; it changes nothing."""

import hashlib
import ipaddress
from collections.abc import Iterable
from dataclasses import dataclass
from datetime import datetime

from cryptography import x509
from cryptography.exceptions import InvalidSignature
from cryptography.hazmat.primitives import serialization
from cryptography.hazmat.primitives.asymmetric import ec

from certs.issue import Authority, Names, certificate_pem

# The parts, as files and as keys of the Secret. The webhook mounts the first three; the CA's key is ours alone.
CERTIFICATE, KEY, BUNDLE, CA_KEY = "tls.crt", "tls.key", "ca.crt", "ca.key"
NAMES = (CERTIFICATE, KEY, BUNDLE, CA_KEY)


@dataclass(frozen=True, slots=True)
class Material:
    """The serving pair, the CAs to trust, the newest first, and the key of the one that signs; all PEM."""

    certificate: bytes
    key: bytes
    bundle: bytes
    ca_key: bytes

    @property
    def fingerprint(self) -> str:
        """Name the bundle."""
        return "sha256:" + hashlib.sha256(self.bundle).hexdigest()


@dataclass(frozen=True, slots=True)
class Publication:
    """Since when every webhook configuration has had which bundle."""

    fingerprint: str
    at: datetime


class Unusable(ValueError):
    """The stored material cannot be worked with, and why."""


@dataclass(frozen=True, slots=True)
class Reading:
    """A leaf with its key, and the CAs to trust. `signer` is the one whose key we have, if we have one."""

    leaf: x509.Certificate
    bundle: tuple[x509.Certificate, ...]
    signer: Authority | None


def read(material: Material) -> Reading:
    """Read all parts; raise Unusable unless the leaf has its key. A CA key that is of no use counts as none."""
    try:
        leaf = x509.load_pem_x509_certificate(material.certificate)
    except ValueError as problem:
        raise Unusable(f"{CERTIFICATE}: {problem}") from problem
    if leaf.public_key() != _key(material.key, KEY).public_key():
        raise Unusable(f"{KEY}: is not the key of {CERTIFICATE}")
    bundle = certificates(material.bundle)
    return Reading(leaf, bundle, _signer(bundle, material.ca_key))


def _signer(bundle: tuple[x509.Certificate, ...], pem: bytes) -> Authority | None:
    try:
        key = _key(pem, CA_KEY)
    except Unusable:
        return None
    signer = next((ca for ca in bundle if ca.public_key() == key.public_key()), None)
    return None if signer is None else Authority(signer, key)


def fault(reading: Reading, names: Names, now: datetime) -> str | None:
    """Say why the leaf cannot serve now, if it cannot."""
    if not valid(reading.leaf, now):
        return "the certificate is not valid at this time"
    if not any(issued_by(reading.leaf, ca) and valid(ca, now) for ca in reading.bundle):
        return "no valid CA of the bundle has signed the certificate"
    if names.required in missing(reading, names):
        return f"the certificate lacks the name {names.required}"
    return None


def missing(reading: Reading, names: Names) -> frozenset[str]:
    """Give the names that the leaf should have and has not."""
    return frozenset(names.all) - frozenset(_names(reading.leaf))


def certificates(pem: bytes) -> tuple[x509.Certificate, ...]:
    """Read every certificate of a bundle; an unreadable bundle has none."""
    try:
        return tuple(x509.load_pem_x509_certificates(pem))
    except ValueError:
        return ()


def trusted(candidates: Iterable[x509.Certificate], now: datetime) -> tuple[x509.Certificate, ...]:
    """Keep what is a CA and valid, each once."""
    return tuple(dict.fromkeys(ca for ca in candidates if valid(ca, now) and _is_ca(ca)))


def bundle_pem(cas: Iterable[x509.Certificate]) -> bytes:
    """Write a bundle."""
    return b"".join(certificate_pem(ca) for ca in cas)


def valid(certificate: x509.Certificate, now: datetime) -> bool:
    """Tell whether the time is within a certificate's life."""
    return certificate.not_valid_before_utc <= now < certificate.not_valid_after_utc


def issued_by(leaf: x509.Certificate, ca: x509.Certificate) -> bool:
    """Tell whether that CA signed the certificate."""
    try:
        leaf.verify_directly_issued_by(ca)
    except (ValueError, TypeError, InvalidSignature):
        return False
    return True


def _key(pem: bytes, where: str) -> ec.EllipticCurvePrivateKey:
    try:
        key = serialization.load_pem_private_key(pem, password=None)
    except (ValueError, TypeError) as problem:
        raise Unusable(f"{where}: {problem}") from problem
    if not isinstance(key, ec.EllipticCurvePrivateKey):
        raise Unusable(f"{where}: must be an elliptic curve key")
    return key


def _names(leaf: x509.Certificate) -> list[str]:
    try:
        names = leaf.extensions.get_extension_for_class(x509.SubjectAlternativeName).value
    except (x509.ExtensionNotFound, ValueError):
        return []
    addresses = names.get_values_for_type(x509.IPAddress)
    return [*names.get_values_for_type(x509.DNSName), *(str(ipaddress.ip_address(str(at))) for at in addresses)]


def _is_ca(certificate: x509.Certificate) -> bool:
    try:
        return certificate.extensions.get_extension_for_class(x509.BasicConstraints).value.ca
    except (x509.ExtensionNotFound, ValueError):
        return False
