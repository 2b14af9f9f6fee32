"""From any vocabulary of GPU names to one canonical short name, for pods and for nodes alike.

Matches whole words only, which keeps A100 from A10 and GB200 from B200. Reads no label and no file.
"""

import difflib
import itertools
import re
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from types import MappingProxyType

from cluster_model.gpu_catalogue import CARDS

KNOWN: frozenset[str] = frozenset(CARDS)

# A card shows up to 8 % less memory than its marketing size, depending on driver, ECC and who measures.
SUFFICIENT_PERCENT = 92

_VENDOR_WORDS = frozenset({"NVIDIA", "TESLA", "QUADRO", "GEFORCE", "GRID", "AMD", "INSTINCT"})
# Words that say a card's form or generation and change nothing about the model.
_FORM_WORDS = frozenset(
    {"SXM", "SXM2", "SXM3", "SXM4", "SXM5", "SXM6", "PCIE", "NVL", "NVLINK", "OAM", "MEGA", "MAX", "Q", "GB", "GIB"}
    | {"HBM2", "HBM2E", "HBM3", "HBM3E", "AMPERE", "LOVELACE", "ADA", "HOPPER", "BLACKWELL"}
    | {"GENERATION", "EDITION", "WORKSTATION"}
)
# Words that some vocabularies put inside a name: rtx-pro-server-6000, RTX-4000-SFF-Ada.
_FILLER_WORDS = frozenset({"SERVER", "SFF"})
_LONGEST_TEXT = 253
_SIZE = re.compile(r"([0-9]{1,4})(?:G|GB|GI|GIB)")
_SEPARATORS = re.compile(r"[-_\s]+")
_SHARED = re.compile(r"-SHARED$")
_MIG = re.compile(r"-MIG-(?P<profile>[^-]+)$")
_VGPU = re.compile(r"-(?:[1-7]-)?(?P<profile>[0-9]{1,3}[QCBA]4?)$")
# A100D-80C, H100XM-80C: a virtual card's name carries the board's form in letters after the model.
_VGPU_BOARD = re.compile(r"(?P<model>[A-Z]+[0-9]+)(?:DX|XM|XL|[DXLSPM])")
_GLUED_RTX = re.compile(r"^RTX(?:(PRO)(?=[0-9]|$)|(?=A?[0-9]))")
_GLUED_ADA = re.compile(r"(?<=[0-9])ADA$")
# GH200 480GB names the memory of its CPU.
_NOT_CARD_SIZES = frozenset({("GH200", 480 * 1024)})


@dataclass(frozen=True, slots=True)
class Model:
    """What a name says: the canonical model, and what its size token and suffixes add."""

    name: str
    memory_mib: int | None = None  # of the whole card, from a size token: A100-80GB
    mig_profile: str | None = None  # 1g.5gb
    mig_invalid: bool = False  # several profiles under the single strategy: nothing there is usable
    vgpu_profile: str | None = None  # 40C
    shared: bool = False  # time-sliced or MPS replica
    unread: tuple[str, ...] = ()  # words of no known meaning: an OEM suffix on a node, a slip in a request

    @property
    def vgpu_memory_mib(self) -> int | None:
        """Memory of the virtual card: profiles count GiB, a leading 0 means 512 MiB."""
        if self.vgpu_profile is None:
            return None
        gib = int(self.vgpu_profile.rstrip("4").rstrip("QCBA"))
        return gib * 1024 or 512


Phrases = Mapping[tuple[str, ...], str]  # upper-case words -> canonical name


@dataclass(frozen=True, slots=True, eq=False)
class KnownModels:
    """The models that a request may name: the built-in ones and those from the configuration."""

    names: frozenset[str]
    phrases: Phrases = field(repr=False)
    longest_phrase: int

    @classmethod
    def extended(cls, extras: Iterable[str] = ()) -> "KnownModels":
        """Build the built-in models plus `extras`; an extra that spells a built-in one adds nothing."""
        phrases = {_core_words(name): name for name in KNOWN}
        # A6000 alone is common, and no other card has that name.
        phrases |= {words[1:]: name for words, name in phrases.items() if re.match(r"RTX-A[0-9]+$", name)}
        phrases[("PG500", "216")] = "V100"
        for extra in extras:
            if words := _core_words(extra):
                phrases.setdefault(words, extra.strip())
        return cls(frozenset(phrases.values()), MappingProxyType(phrases), max(map(len, phrases)))

    def canonical(self, text: str) -> Model | None:
        """Read a GPU name of any vocabulary; None when it names no known model, or more than one."""
        rest, shared, mig, vgpu = _cut_suffixes(text)
        words = _words(rest)
        if vgpu:
            words = [self._without_board(word) for word in words]
        names, others = self._matches(words)
        if len(names) != 1:
            return None
        (name,) = names
        unread = tuple(
            word for word in others if word not in _VENDOR_WORDS | _FORM_WORDS and not _is_size(word, others)
        )
        invalid = mig == "INVALID"
        profile = None if invalid or mig is None else mig.lower()
        return Model(name, _size_mib(name, words), profile, invalid, vgpu, shared, unread)

    def nearest(self, text: str) -> tuple[str, ...]:
        """Return up to three known names that look like `text`, best first."""
        by_letters = {_letters(name): name for name in sorted(self.names)}
        close = difflib.get_close_matches(_letters(text[:_LONGEST_TEXT]), by_letters, n=3, cutoff=0.5)
        return tuple(by_letters[letters] for letters in close)

    def _without_board(self, word: str) -> str:
        board = _VGPU_BOARD.fullmatch(word)
        return board["model"] if board and (word,) not in self.phrases and (board["model"],) in self.phrases else word

    def _matches(self, words: Sequence[str]) -> tuple[set[str], list[str]]:
        """Return the models named, the longest phrase winning at each place, and the words left over."""
        found: set[str] = set()
        others: list[str] = []
        at = 0
        while at < len(words):
            length = self._longest_match(words, at)
            if length:
                found.add(self.phrases[tuple(words[at : at + length])])
            else:
                others.append(words[at])
            at += max(length, 1)
        return found, others

    def _longest_match(self, words: Sequence[str], at: int) -> int:
        longest = min(self.longest_phrase, len(words) - at)
        return next((n for n in range(longest, 0, -1) if tuple(words[at : at + n]) in self.phrases), 0)


def largest_memory_mib(name: str) -> int | None:
    """Return the memory of the largest known card of a model; None when no size is known."""
    card = CARDS.get(name)
    return card.largest_mib if card else None


def smallest_memory_mib(name: str) -> int | None:
    """Return the memory that every card of a model has at least; None when no size is known."""
    card = CARDS.get(name)
    return card.smallest_mib if card else None


def suffices(card_mib: int, asked_mib: int) -> bool:
    """Tell whether a card that shows `card_mib` satisfies a request, with the slack real cards need."""
    return card_mib * 100 >= asked_mib * SUFFICIENT_PERCENT


def exceeds_every_card(name: str, asked_mib: int) -> bool:
    """Tell whether no known card of the model could satisfy the request; an unknown size never refuses."""
    largest = largest_memory_mib(name)
    return largest is not None and not suffices(largest, asked_mib)


def _cut_suffixes(text: str) -> tuple[str, bool, str | None, str | None]:
    """Split a name into its rest, whether it is shared, its MIG profile and its vGPU profile."""
    name = _SEPARATORS.sub("-", text[:_LONGEST_TEXT].strip().upper())
    rest = _SHARED.sub("", name)
    shared = rest != name
    mig, vgpu = _MIG.search(rest), _VGPU.search(rest)
    cut = mig or vgpu
    rest = rest[: cut.start()] if cut else rest
    return rest, shared, mig["profile"] if mig else None, vgpu["profile"] if vgpu and not mig else None


def _words(text: str) -> list[str]:
    """Split into upper-case words; RTXA6000 and RTX6000ADA are written apart first."""
    apart: list[str] = []
    for word in _SEPARATORS.split(text.strip().upper()):
        word = _GLUED_ADA.sub("-ADA", word) if word.startswith("RTX") or apart[-1:] == ["RTX"] else word
        word = _GLUED_RTX.sub(lambda m: "RTX-PRO-" if m[1] else "RTX-", word)
        apart += [part for part in word.split("-") if part]
    return [word for word in apart if word not in _FILLER_WORDS]


def _core_words(text: str) -> tuple[str, ...]:
    return tuple(word for word in _words(text) if word not in _VENDOR_WORDS)


def _size_mib(name: str, words: Sequence[str]) -> int | None:
    """Return the card memory that a size word gives: 80GB, or 80 GB in two words."""
    if "PG500" in words:
        return 32 * 1024
    joined = [*words, *(a + b for a, b in itertools.pairwise(words) if b in {"GB", "GIB"})]
    sizes = [int(size[1]) * 1024 for word in joined if (size := _SIZE.fullmatch(word))]
    return next((mib for mib in sizes if mib and (name, mib) not in _NOT_CARD_SIZES), None)


def _is_size(word: str, others: Sequence[str]) -> bool:
    return bool(_SIZE.fullmatch(word)) or any(
        pair in {(word, "GB"), (word, "GIB")} for pair in itertools.pairwise(others)
    )


def _letters(text: str) -> str:
    return "".join(re.findall(r"[A-Z0-9]", "".join(_core_words(text))))


BUILT_IN = KnownModels.extended()


def canonical(text: str, known: KnownModels = BUILT_IN) -> Model | None:
    """Read a GPU name of any vocabulary; None when it names no known model, or more than one."""
    return known.canonical(text)


def nearest(text: str, known: KnownModels = BUILT_IN) -> tuple[str, ...]:
    """Return up to three known names that look like `text`, best first."""
    return known.nearest(text)
