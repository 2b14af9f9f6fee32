"""Issues the CA and the serving certificate: names and dates in, PEM out. No I/O; chance comes from outside."""

import ipaddress
from collections.abc import Callable
from dataclasses import dataclass
from datetime import datetime, timedelta

from cryptography import x509
from cryptography.hazmat.primitives import hashes, serialization
from cryptography.hazmat.primitives.asymmetric import ec
from cryptography.x509.oid import ExtendedKeyUsageOID, NameOID

# Valid from a little before now: the clock of an API server may be behind ours.
SKEW = timedelta(hours=1)
LOOPBACK = ("localhost", "127.0.0.1", "::1")


def _new_key() -> ec.EllipticCurvePrivateKey:
    return ec.generate_private_key(ec.SECP256R1())


@dataclass(frozen=True, slots=True)
class Chance:
    """Where keys and serial numbers come from."""

    key: Callable[[], ec.EllipticCurvePrivateKey] = _new_key
    serial: Callable[[], int] = x509.random_serial_number


@dataclass(frozen=True, slots=True)
class Names:
    """The Service that the API server dials, and further names to serve under."""

    service: str
    namespace: str
    extra: tuple[str, ...] = ()

    @property
    def required(self) -> str:
        """The one name that the API server verifies."""
        return f"{self.service}.{self.namespace}.svc"

    @property
    def all(self) -> tuple[str, ...]:
        """Every subject alternative name, DNS names and addresses; the loopback ones are for a probe of one's own."""
        short = (self.service, f"{self.service}.{self.namespace}", f"{self.required}.cluster.local")
        return tuple(dict.fromkeys(_canonical(name) for name in (self.required, *short, *LOOPBACK, *self.extra)))


@dataclass(frozen=True, slots=True)
class Pair:
    """A certificate and its key, as PEM."""

    certificate: bytes
    key: bytes


@dataclass(frozen=True, slots=True)
class Authority:
    """A CA that can sign."""

    certificate: x509.Certificate
    key: ec.EllipticCurvePrivateKey


def authority(service: str, now: datetime, life: timedelta, chance: Chance) -> Authority:
    """Issue a CA that signs itself and serving certificates, nothing below them."""
    key, serial = chance.key(), chance.serial()
    # The serial keeps the names of two overlapping CAs apart.
    subject = _name(f"{service} CA {serial:x}"[:64])
    public = key.public_key()
    builder = _builder(subject, subject, public, serial).not_valid_before(now - SKEW).not_valid_after(now + life)
    builder = builder.add_extension(x509.BasicConstraints(ca=True, path_length=0), critical=True)
    builder = builder.add_extension(_usage(signs_certificates=True), critical=True)
    builder = builder.add_extension(x509.SubjectKeyIdentifier.from_public_key(public), critical=False)
    return Authority(builder.sign(key, hashes.SHA256()), key)


def serving(names: Names, signer: Authority, now: datetime, life: timedelta, chance: Chance) -> Pair:
    """Issue a serving certificate; it never outlives its CA."""
    key, ca = chance.key(), signer.certificate
    public = key.public_key()
    builder = _builder(_name(names.service[:64]), ca.subject, public, chance.serial())
    builder = builder.not_valid_before(max(now - SKEW, ca.not_valid_before_utc))
    builder = builder.not_valid_after(min(now + life, ca.not_valid_after_utc))
    builder = builder.add_extension(x509.BasicConstraints(ca=False, path_length=None), critical=True)
    builder = builder.add_extension(_usage(signs_certificates=False), critical=True)
    builder = builder.add_extension(x509.ExtendedKeyUsage([ExtendedKeyUsageOID.SERVER_AUTH]), critical=False)
    alternatives = x509.SubjectAlternativeName([_alternative(name) for name in names.all])
    builder = builder.add_extension(alternatives, critical=False)
    builder = builder.add_extension(x509.SubjectKeyIdentifier.from_public_key(public), critical=False)
    identifier = ca.extensions.get_extension_for_class(x509.SubjectKeyIdentifier).value
    issuer = x509.AuthorityKeyIdentifier.from_issuer_subject_key_identifier(identifier)
    builder = builder.add_extension(issuer, critical=False)
    return Pair(certificate_pem(builder.sign(signer.key, hashes.SHA256())), key_pem(key))


def certificate_pem(certificate: x509.Certificate) -> bytes:
    """Write a certificate as PEM."""
    return certificate.public_bytes(serialization.Encoding.PEM)


def key_pem(key: ec.EllipticCurvePrivateKey) -> bytes:
    """Write a private key as unencrypted PKCS #8."""
    form = serialization.PrivateFormat.PKCS8
    return key.private_bytes(serialization.Encoding.PEM, form, serialization.NoEncryption())


def _builder(
    subject: x509.Name, issuer: x509.Name, public: ec.EllipticCurvePublicKey, serial: int
) -> x509.CertificateBuilder:
    return x509.CertificateBuilder(issuer_name=issuer, subject_name=subject, public_key=public, serial_number=serial)


def _name(common_name: str) -> x509.Name:
    return x509.Name([x509.NameAttribute(NameOID.COMMON_NAME, common_name)])


def _canonical(name: str) -> str:
    """Write a name as it is read back from a certificate."""
    try:
        return str(ipaddress.ip_address(name))
    except ValueError:
        return name.lower()


def _alternative(name: str) -> x509.GeneralName:
    try:
        return x509.IPAddress(ipaddress.ip_address(name))
    except ValueError:
        return x509.DNSName(name)


def _usage(signs_certificates: bool) -> x509.KeyUsage:
    return x509.KeyUsage(
        digital_signature=not signs_certificates,
        key_cert_sign=signs_certificates,
        crl_sign=signs_certificates,
        content_commitment=False,
        key_encipherment=False,
        data_encipherment=False,
        key_agreement=False,
        encipher_only=False,
        decipher_only=False,
    )
