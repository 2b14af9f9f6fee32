from datetime import timedelta

import pytest
from cryptography import x509
from cryptography.hazmat.primitives.asymmetric import ec
from cryptography.x509.oid import ExtendedKeyUsageOID

from certs import issue, material
from certs.issue import Chance, Names
from tests.certs.world import NAMES, START, days, first, trusts

LEAF = x509.load_pem_x509_certificate(first().certificate)
(CA,) = material.certificates(first().bundle)


@pytest.mark.parametrize("name", [name for name in NAMES.all if not name[-1].isdigit()])
def test_every_name_is_verified(name: str) -> None:
    made = first()
    assert trusts(made.bundle, made, START, name)
    assert not trusts(made.bundle, made, START, "other." + name)


def test_the_names_are_the_services_and_loopback() -> None:
    names = LEAF.extensions.get_extension_for_class(x509.SubjectAlternativeName).value
    service = "gpu-scheduler-webhook"
    assert names.get_values_for_type(x509.DNSName) == [
        f"{service}.gpu-scheduler.svc",
        service,
        f"{service}.gpu-scheduler",
        f"{service}.gpu-scheduler.svc.cluster.local",
        "localhost",
    ]
    assert [str(address) for address in names.get_values_for_type(x509.IPAddress)] == ["127.0.0.1", "::1"]


def test_the_leaf_serves_and_signs_nothing() -> None:
    extensions = LEAF.extensions
    usage = extensions.get_extension_for_class(x509.KeyUsage)
    assert list(extensions.get_extension_for_class(x509.ExtendedKeyUsage).value) == [ExtendedKeyUsageOID.SERVER_AUTH]
    assert (usage.critical, usage.value.digital_signature, usage.value.key_cert_sign) == (True, True, False)
    assert extensions.get_extension_for_class(x509.BasicConstraints).value.ca is False


def test_the_ca_signs_one_level_only() -> None:
    constraints = CA.extensions.get_extension_for_class(x509.BasicConstraints)
    usage = CA.extensions.get_extension_for_class(x509.KeyUsage).value
    assert (constraints.critical, constraints.value.ca, constraints.value.path_length) == (True, True, 0)
    assert (usage.key_cert_sign, usage.digital_signature) == (True, False)


def test_the_leaf_names_its_cas_key() -> None:
    (ca,) = material.certificates((made := first()).bundle)
    leaf = x509.load_pem_x509_certificate(made.certificate)
    authority = leaf.extensions.get_extension_for_class(x509.AuthorityKeyIdentifier).value
    subject = ca.extensions.get_extension_for_class(x509.SubjectKeyIdentifier).value
    assert authority.key_identifier == subject.digest


def test_keys_are_p256_and_serials_differ() -> None:
    assert isinstance(key := LEAF.public_key(), ec.EllipticCurvePublicKey)
    assert isinstance(key.curve, ec.SECP256R1)
    assert LEAF.serial_number != CA.serial_number


def test_a_clock_that_is_an_hour_behind_is_no_problem() -> None:
    made = first()
    assert trusts(made.bundle, made, START - timedelta(minutes=59))
    assert not trusts(made.bundle, made, START - timedelta(minutes=61))


def test_a_leaf_never_outlives_its_ca() -> None:
    signer = issue.authority("s", START, days(10), Chance())
    pair = issue.serving(NAMES, signer, START + days(5), days(90), Chance())
    leaf = x509.load_pem_x509_certificate(pair.certificate)
    assert leaf.not_valid_after_utc == signer.certificate.not_valid_after_utc


@pytest.mark.parametrize("service", ["s", "s" * 63])
def test_services_of_any_length_can_be_served(service: str) -> None:
    names = Names(service, "n" * 63, ("Extra.Example", "0:0:0:0:0:0:0:2"))
    signer = issue.authority(service, START, days(10), Chance())
    pair = issue.serving(names, signer, START, days(5), Chance())
    leaf = x509.load_pem_x509_certificate(pair.certificate)
    stored = material.Material(
        pair.certificate, pair.key, issue.certificate_pem(signer.certificate), issue.key_pem(signer.key)
    )
    assert material.issued_by(leaf, signer.certificate)
    assert material.missing(material.read(stored), names) == frozenset()
