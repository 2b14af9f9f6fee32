"""Keeps the material in a directory, swapped whole as the kubelet does with a Secret: readers never see a mix."""

import os
import secrets
import shutil
from collections.abc import Mapping
from pathlib import Path

from certs import storage
from certs.material import CA_KEY, KEY, NAMES, Material, Publication
from certs.storage import Conflict, Refused, Stored

DATA = "..data"
PUBLISHED = "published"
PRIVATE = frozenset({KEY, CA_KEY})


class DirectoryPlace:
    """A directory as the only store, for machines without a cluster; one process at a time writes it."""

    def __init__(self, directory: Path) -> None:
        self._directory = directory

    async def read(self) -> Stored | None:
        """Read the files; None where there is no certificate."""
        at = self._directory / DATA
        found = {name: (at / name).read_bytes() for name in NAMES if (at / name).is_file()}
        if not found:
            return None
        published = at / PUBLISHED
        publication = storage.read_publication(published.read_text()) if published.is_file() else None
        return Stored(storage.whole(found), publication, os.path.realpath(at))

    async def write(self, new: Material, publication: Publication | None, old: Stored | None) -> None:
        """Replace all files at once."""
        found = await self.read()
        if (found and found.version) != (old and old.version):
            raise Conflict(f"{self._directory}: changed meanwhile")
        files = storage.parts(new)
        if publication is not None:
            files[PUBLISHED] = storage.publication_text(publication).encode()
        swap(self._directory, files)


def export(directory: Path, material: Material) -> None:
    """Write what a server and its clients need: pair and bundle, not the CA's key. Unchanged files are left alone."""
    files = {name: part for name, part in storage.parts(material).items() if name != CA_KEY}
    at = directory / DATA
    if {name: (at / name).read_bytes() for name in files if (at / name).is_file()} != files:
        swap(directory, files)


def swap(directory: Path, files: Mapping[str, bytes]) -> None:
    """Write all files into a new folder, then turn one symlink; keys are readable by their owner only."""
    try:
        directory.mkdir(parents=True, exist_ok=True)
        fresh = directory / f"..{secrets.token_hex(8)}"
        fresh.mkdir(mode=0o755)
        for name, content in files.items():
            _write(fresh / name, content, 0o600 if name in PRIVATE else 0o644)
        old = directory / os.readlink(directory / DATA) if (directory / DATA).is_symlink() else None
        _link(directory, DATA, fresh.name)
        for name in files:
            if not (directory / name).is_symlink():
                _link(directory, name, f"{DATA}/{name}")
    except OSError as problem:
        raise Refused(f"{directory}: {problem.strerror or problem}") from problem
    if old is not None:
        shutil.rmtree(old, ignore_errors=True)


def _write(path: Path, content: bytes, mode: int) -> None:
    with open(path, "xb", opener=lambda name, flags: os.open(name, flags, mode)) as file:
        file.write(content)
        file.flush()
        os.fsync(file.fileno())


def _link(directory: Path, name: str, target: str) -> None:
    temporary = directory / f"..{secrets.token_hex(8)}.link"
    temporary.symlink_to(target)
    temporary.replace(directory / name)
