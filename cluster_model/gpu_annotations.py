"""The grammar of the annotations under gpu.nvidia.com/: model, memory, fraction. Values in, readings and problems out.

Knows nothing of the pod beside its annotations, except what `Demand` says.
"""

import difflib
import re
from collections.abc import Mapping
from dataclasses import dataclass

from cluster_model import gpu_models, quantity
from cluster_model.go_text import quoted
from cluster_model.gpu_models import KnownModels
from cluster_model.verdict import Problem

PREFIX = "gpu.nvidia.com/"
MODEL = PREFIX + "model"
MEMORY = PREFIX + "memory"
FRACTION = PREFIX + "fraction"
KEYS = (MODEL, MEMORY, FRACTION)

MOST_MODELS = 64
MEMORY_FORM = 'above zero: MiB in digits ("40960"), or bytes with a suffix ("40Gi", "40G", "1.5Gi")'
FRACTION_FORM = "0.01 to 1"
MODEL_FORM = 'known models such as "A100", "A100-80GB" or "A100,H100"'
NO_GPU = "needs a container that asks for a GPU, such as a limit nvidia.com/gpu: 1, or a gpu.nvidia.com/fraction"

_FRACTION = re.compile(r"0\.(?:0[1-9]|[1-9])[0-9]*|1(?:\.0+)?")
_MEBIBYTES = re.compile(r"[0-9]+")
_BYTES = re.compile(r"([0-9]+(?:\.[0-9]+)?)([KMGTPE]i|[kMGTPE])")
_MODEL_TEXT = re.compile(r"[A-Za-z0-9](?:[A-Za-z0-9 ._-]*[A-Za-z0-9])?")
_FORM_WORD = re.compile(
    r"NVIDIA|TESLA|QUADRO|GEFORCE|SXM[0-9]?|PCIE|NVL|NVLINK|MEGA|HBM[0-9]E?|[0-9]{1,4}G(?:B|I|IB)?"
    r"|ADA|GENERATION|BLACKWELL|SERVER|WORKSTATION|EDITION"
)
_APART_SIZE = re.compile(r"(?<=[0-9])[-_ ]+(?=G(?:I?B)\b)", re.IGNORECASE)
_LONGEST_SHOWN = 253
_MOST_REPORTED = 5  # wrong models of one list
_MIB = 2**20


@dataclass(frozen=True, slots=True)
class ModelRequest:
    """An acceptable model; with a size, only its cards that have at least that memory."""

    name: str
    memory_mib: int | None = None


@dataclass(frozen=True, slots=True)
class Rules:
    """Which model names are accepted."""

    known: KnownModels = gpu_models.BUILT_IN
    allow_unknown_models: bool = False


DEFAULT_RULES = Rules()


@dataclass(frozen=True, slots=True)
class Demand:
    """What the rest of the pod asks for, as far as the rules about annotations look at it."""

    gpus: int
    asks_for_gpu: bool


@dataclass(frozen=True, slots=True)
class Reading:
    """What the annotations say, where they are wrong, and which keys nobody knows."""

    models: tuple[ModelRequest, ...] = ()
    memory_mib: int | None = None
    fraction: float | None = None
    annotated: bool = False
    problems: tuple[Problem, ...] = ()
    warnings: tuple[str, ...] = ()


NOTHING = Reading()


def is_annotated(annotations: Mapping[str, str]) -> bool:
    """Say whether the pod is GPU-annotated: some key starts with gpu.nvidia.com/."""
    return any(key.startswith(PREFIX) for key in annotations)


def read(annotations: Mapping[str, str], demand: Demand, rules: Rules = DEFAULT_RULES, at: str = "metadata") -> Reading:
    """Read the GPU annotations of a pod whose metadata stand at the path `at`. Never raises."""
    if not is_annotated(annotations):
        return NOTHING
    path = f"{at}.annotations"
    models, problems = _models(annotations, rules, path)
    memory, wrong_memory = _memory(annotations, models, path)
    fraction, wrong_fraction = _fraction(annotations, demand, path)
    idle = _without_gpu(annotations, demand, path)
    warnings = tuple(_unknown_key(f"{path}[{key}]", key) for key in sorted(annotations) if _is_unknown(key))
    return Reading(models, memory, fraction, True, (*problems, *wrong_memory, *wrong_fraction, *idle), warnings)


def parse_memory_mib(text: str) -> int:
    """Read a memory amount: digits are MiB, with a suffix bytes, rounded up to MiB. Malformed or zero: ValueError."""
    if _MEBIBYTES.fullmatch(text):
        mib = quantity.value(quantity.parse(text))
    elif _BYTES.fullmatch(text):
        mib = -(-quantity.value(quantity.parse(text)) // _MIB)
    else:
        raise ValueError(MEMORY_FORM)
    if mib == 0:
        raise ValueError(MEMORY_FORM)
    return mib


def parse_fraction(text: str) -> float:
    """Read a share of one GPU, 0.01 to 1 as a plain decimal. Anything else: ValueError."""
    if len(text) > _LONGEST_SHOWN or _FRACTION.fullmatch(text) is None:
        raise ValueError(FRACTION_FORM)
    return float(text)


def parse_model(text: str, rules: Rules = DEFAULT_RULES) -> ModelRequest:
    """Read one model name with its optional size; ValueError says what is wrong with it."""
    if text in gpu_models.KNOWN:
        return ModelRequest(text)
    shown = quoted(text[:_LONGEST_SHOWN])
    if len(text) > _LONGEST_SHOWN or not _MODEL_TEXT.fullmatch(text):
        raise ValueError(f"{shown} is not a model name")
    model = gpu_models.canonical(text, rules.known)
    if model is None:
        return _unknown_model(text, rules)
    if model.mig_profile or model.mig_invalid or model.vgpu_profile or model.shared:
        raise ValueError(f"{shown} is a part of a card; name the card and ask for the part as a resource")
    if (stray := _stray_words(text, model.name)) and not rules.allow_unknown_models:
        raise ValueError(f"{shown} has an unknown part {' '.join(stray)}, nearest known: {model.name}")
    if model.memory_mib and gpu_models.exceeds_every_card(model.name, model.memory_mib):
        raise ValueError(f"{shown} is more than the {gpu_models.largest_memory_mib(model.name)} MiB of {model.name}")
    return ModelRequest(model.name, model.memory_mib)


def _unknown_model(text: str, rules: Rules) -> ModelRequest:
    if rules.allow_unknown_models:
        return ModelRequest(re.sub(r"[ _-]+", "-", text).upper())
    near = ", ".join(gpu_models.nearest(text, rules.known))
    raise ValueError(f'"{text}" is not a known GPU model' + (f", nearest known: {near}" if near else ""))


def _stray_words(text: str, name: str) -> list[str]:
    """Return words that say nothing we know: in "A100-80BG" the user meant a size, and would not get it."""
    words = re.split(r"[-_ ]+", _APART_SIZE.sub("", text).upper())
    own = {*name.upper().split("-"), name.upper().replace("-", "")}
    return [word for word in words if word not in own and not _FORM_WORD.fullmatch(word)]


def _models(
    annotations: Mapping[str, str], rules: Rules, path: str
) -> tuple[tuple[ModelRequest, ...], tuple[Problem, ...]]:
    text = annotations.get(MODEL)
    if text is None:
        return (), ()
    where, names = f"{path}[{MODEL}]", [name.strip(" \t") for name in text.split(",")]
    if len(names) > MOST_MODELS:
        return (), (Problem(where, _short(text), f"must be at most {MOST_MODELS} models"),)
    found: list[ModelRequest] = []
    problems: list[Problem] = []
    for name in dict.fromkeys(names):
        try:
            found.append(parse_model(name, rules))
        except ValueError as error:
            problems.append(Problem(where, _short(text), f"must be {MODEL_FORM}: {error}"))
        if len(problems) == _MOST_REPORTED:
            break  # looking for near names costs time, and more would not be read
    return tuple(dict.fromkeys(found)), tuple(problems)


def _memory(
    annotations: Mapping[str, str], models: tuple[ModelRequest, ...], path: str
) -> tuple[int | None, tuple[Problem, ...]]:
    text = annotations.get(MEMORY)
    if text is None:
        return None, ()
    where = f"{path}[{MEMORY}]"
    try:
        mib = parse_memory_mib(text)
    except ValueError:
        return None, (Problem(where, _short(text), f"must be {MEMORY_FORM}"),)
    if models and all(gpu_models.exceeds_every_card(model.name, mib) for model in models):
        sizes = ", ".join(f"{model.name} {gpu_models.largest_memory_mib(model.name)} MiB" for model in models)
        return mib, (Problem(where, _short(text), f"must be at most what a listed model has: {sizes}"),)
    return mib, ()


def _fraction(annotations: Mapping[str, str], demand: Demand, path: str) -> tuple[float | None, tuple[Problem, ...]]:
    text = annotations.get(FRACTION)
    if text is None:
        return None, ()
    where = f"{path}[{FRACTION}]"
    try:
        share = parse_fraction(text)
    except ValueError:
        return None, (Problem(where, _short(text), f"must be {FRACTION_FORM}"),)
    if demand.gpus > 1:
        return share, (
            Problem(where, text, f"must stand with at most 1 nvidia.com/gpu, the pod asks for {demand.gpus}"),
        )
    return share, ()


def _without_gpu(annotations: Mapping[str, str], demand: Demand, path: str) -> tuple[Problem, ...]:
    if demand.asks_for_gpu or FRACTION in annotations:
        return ()
    keys = sorted((key for key in annotations if key.startswith(PREFIX)), key=lambda key: (key not in KEYS, key))
    return (Problem(f"{path}[{keys[0]}]", _short(annotations[keys[0]]), NO_GPU),)


def _is_unknown(key: str) -> bool:
    return key.startswith(PREFIX) and key not in KEYS


def _unknown_key(where: str, key: str) -> str:
    name, names = key.removeprefix(PREFIX)[:_LONGEST_SHOWN], [known.removeprefix(PREFIX) for known in KEYS]
    near = difflib.get_close_matches(name, names, n=1)
    return f"{where}: unknown key, " + (f"did you mean {PREFIX}{near[0]}?" if near else f"known are {', '.join(KEYS)}")


def _short(text: str) -> str:
    return text if len(text) <= _LONGEST_SHOWN else text[:_LONGEST_SHOWN] + "…"
