import asyncio
import threading
from pathlib import Path

import pytest

from certs import directory, material
from certs.directory import DirectoryPlace
from certs.material import Material, Publication
from certs.storage import Conflict, Refused
from tests.certs.world import START, first

PUBLICATION = Publication("sha256:00", START)


def _read(place: DirectoryPlace) -> Material:
    stored = asyncio.run(place.read())
    assert stored is not None
    return stored.material


def test_what_is_written_reads_back(tmp_path: Path) -> None:
    place, made = DirectoryPlace(tmp_path / "new" / "tls"), first()
    assert asyncio.run(place.read()) is None
    asyncio.run(place.write(made, PUBLICATION, None))
    stored = asyncio.run(place.read())
    assert stored is not None
    assert (stored.material, stored.publication) == (made, PUBLICATION)


def test_keys_are_for_their_owner_only(tmp_path: Path) -> None:
    asyncio.run(DirectoryPlace(tmp_path).write(first(), PUBLICATION, None))
    modes = {path.name: path.stat().st_mode & 0o777 for path in tmp_path.iterdir() if not path.name.startswith("..")}
    assert modes == {"tls.crt": 0o644, "tls.key": 0o600, "ca.crt": 0o644, "ca.key": 0o600, "published": 0o644}


def test_a_change_since_the_reading_is_a_conflict(tmp_path: Path) -> None:
    place = DirectoryPlace(tmp_path)
    asyncio.run(place.write(first(), None, None))
    stored = asyncio.run(place.read())
    asyncio.run(place.write(first(), None, stored))
    with pytest.raises(Conflict):
        asyncio.run(place.write(first(), None, stored))


def test_nothing_but_the_newest_files_is_left(tmp_path: Path) -> None:
    place = DirectoryPlace(tmp_path)
    for _ in range(3):
        asyncio.run(place.write(first(), None, asyncio.run(place.read())))
    assert len([path for path in tmp_path.iterdir() if path.is_dir() and not path.is_symlink()]) == 1


def test_an_export_has_no_ca_key_and_is_quiet_when_nothing_changed(tmp_path: Path) -> None:
    made = first()
    directory.export(tmp_path, made)
    before = (tmp_path / "..data").readlink()
    directory.export(tmp_path, made)
    assert (tmp_path / "..data").readlink() == before
    assert not (tmp_path / "ca.key").exists()
    assert (tmp_path / "tls.crt").read_bytes() == made.certificate


def test_a_file_in_the_way_is_replaced_and_a_directory_that_cannot_be_written_is_named(tmp_path: Path) -> None:
    (tmp_path / "tls.crt").write_text("by hand")
    directory.export(tmp_path, made := first())
    assert (tmp_path / "tls.crt").read_bytes() == made.certificate
    with pytest.raises(Refused, match=r"tls\.crt: (Not a directory|File exists)"):
        directory.export(tmp_path / "tls.crt", first())


def test_a_reader_that_resolves_the_folder_once_never_sees_a_mix(tmp_path: Path) -> None:
    place, stop = DirectoryPlace(tmp_path), threading.Event()
    asyncio.run(place.write(first(), None, None))

    def write() -> None:
        while not stop.is_set():
            asyncio.run(place.write(first(), None, asyncio.run(place.read())))

    writer = threading.Thread(target=write)
    writer.start()
    try:
        for _ in range(300):
            _pair_belongs_together(tmp_path)
    finally:
        stop.set()
        writer.join()


def _pair_belongs_together(at: Path) -> None:
    folder = (at / "..data").resolve()
    try:
        found = Material(*((folder / name).read_bytes() for name in material.NAMES))
    except FileNotFoundError:
        return  # swapped away while reading: a reader tries again
    reading = material.read(found)
    assert reading.signer is not None
    assert material.issued_by(reading.leaf, reading.signer.certificate)
