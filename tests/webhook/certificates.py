"""Throw-away key pairs for tests and benchmarks: self-signed, ECDSA P-256, with dates of choice."""

import os
from datetime import UTC, datetime, timedelta
from ipaddress import ip_address
from pathlib import Path

from cryptography import x509
from cryptography.hazmat.primitives import hashes, serialization
from cryptography.hazmat.primitives.asymmetric import ec
from cryptography.x509.oid import NameOID

DAY = timedelta(days=1)


def issue(begin: datetime | None = None, life: timedelta = DAY, name: str = "localhost") -> tuple[bytes, bytes]:
    """Return certificate and key as PEM."""
    begin = begin or datetime.now(UTC) - timedelta(minutes=5)
    key = ec.generate_private_key(ec.SECP256R1())
    subject = x509.Name([x509.NameAttribute(NameOID.COMMON_NAME, name)])
    names = x509.SubjectAlternativeName([x509.DNSName("localhost"), x509.IPAddress(ip_address("127.0.0.1"))])
    builder = x509.CertificateBuilder(subject, subject, key.public_key(), x509.random_serial_number())
    builder = builder.not_valid_before(begin).not_valid_after(begin + life)
    builder = builder.add_extension(names, critical=False)
    builder = builder.add_extension(x509.BasicConstraints(ca=True, path_length=0), critical=True)
    certificate = builder.sign(key, hashes.SHA256())
    return certificate.public_bytes(serialization.Encoding.PEM), key.private_bytes(
        serialization.Encoding.PEM, serialization.PrivateFormat.PKCS8, serialization.NoEncryption()
    )


def publish(directory: Path, certificate: bytes, key: bytes) -> None:
    """Write a pair as the kubelet does: a new directory, then one swap of the symlink `..data`."""
    directory.mkdir(parents=True, exist_ok=True)
    version = directory / f"..{len(list(directory.iterdir()))}"
    version.mkdir()
    (version / "tls.crt").write_bytes(certificate)
    (version / "tls.key").write_bytes(key)
    link = directory / "..data_tmp"
    link.symlink_to(version.name)
    os.replace(link, directory / "..data")
    for name in ("tls.crt", "tls.key"):
        if not (directory / name).is_symlink():
            (directory / name).symlink_to(f"..data/{name}")


def encrypted(key: bytes) -> bytes:
    """Return a PEM key under a passphrase."""
    return serialization.load_pem_private_key(key, None).private_bytes(
        serialization.Encoding.PEM, serialization.PrivateFormat.PKCS8, serialization.BestAvailableEncryption(b"x")
    )
