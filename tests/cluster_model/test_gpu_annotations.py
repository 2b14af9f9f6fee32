"""The grammar of the GPU annotations: what is accepted, what it means, and how a refusal reads."""

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from cluster_model import gpu_annotations as grammar
from cluster_model import gpu_models
from cluster_model.gpu_annotations import FRACTION, MEMORY, MODEL, Demand, ModelRequest, Reading, Rules
from cluster_model.gpu_models import KnownModels

ONE_GPU = Demand(1, True)
LENIENT = Rules(allow_unknown_models=True)


def read(demand: Demand = ONE_GPU, rules: Rules = grammar.DEFAULT_RULES, **values: str) -> Reading:
    keys = {"model": MODEL, "memory": MEMORY, "fraction": FRACTION}
    return grammar.read({keys.get(name, name): value for name, value in values.items()}, demand, rules)


def shown(text: str) -> str:
    """As a message quotes it."""
    return '"' + text.replace("\n", r"\n") + '"'


def said(**given: Any) -> list[str]:
    return [str(problem) for problem in read(**given).problems]


@pytest.mark.parametrize(
    ("text", "mib"),
    [
        ("40960", 40960),
        ("1", 1),
        ("007", 7),
        ("40Gi", 40960),
        ("40G", 38147),
        ("1.5Gi", 1536),
        ("1k", 1),
        ("1048577k", 1001),
        ("0.5Mi", 1),
        ("80Gi", 81920),
        ("1Ti", 2**20),
        ("9" * 5000, 2**63 - 1),
    ],
)
def test_memory_is_mib_in_digits_or_bytes_with_a_suffix(text: str, mib: int) -> None:
    assert grammar.parse_memory_mib(text) == mib


@pytest.mark.parametrize(
    "text",
    [
        *(
            "",
            "0",
            "000",
            "0Gi",
            "0.0Gi",
            "-5",
            "+5",
            "-40Gi",
            "1.5",
            "40.0",
            "1e3",
            "1E3",
            "1e3Gi",
            "40960m",
            "5n",
            "5u",
        ),
        *(
            "40GB",
            "40GiB",
            "40gi",
            "40 Gi",
            " 40",
            "40\n",
            "40960Mi ",
            "٤٠",
            "4_0",
            ".5Gi",
            "5.Gi",
            "NaN",
            "Gi",
            "40,960",
        ),
    ],
)
def test_other_forms_of_memory_are_refused_with_the_accepted_one(text: str) -> None:
    assert said(memory=text) == [
        f"metadata.annotations[{MEMORY}]: Invalid value: {shown(text)}: must be {grammar.MEMORY_FORM}"
    ]


@pytest.mark.parametrize(
    ("text", "share"),
    [
        ("0.01", 0.01),
        ("0.5", 0.5),
        ("0.50", 0.5),
        ("1", 1.0),
        ("1.0", 1.0),
        ("1.000", 1.0),
        ("0.999", 0.999),
        ("0.0100", 0.01),
    ],
)
def test_a_fraction_is_a_plain_decimal_from_one_hundredth_to_one(text: str, share: float) -> None:
    assert read(fraction=text).fraction == share


@pytest.mark.parametrize(
    "text",
    [
        *(
            "0",
            "0.0",
            "0.001",
            "0.009999",
            "1.01",
            "1.0000001",
            "2",
            "-0.5",
            "+0.5",
            ".5",
            "1.",
            "0.",
            "5e-1",
            "NaN",
            "inf",
        ),
        *("", " 0.5", "0.5 ", "0.5\n", "0,5", "00.5", "٠.٥", "0.5٥", "1/2", "50%", "0." + "5" * 300),
    ],
)
def test_other_fractions_are_refused_in_the_api_servers_form(text: str) -> None:
    (problem,) = said(fraction=text)
    assert problem.startswith(f"metadata.annotations[{FRACTION}]: Invalid value: {shown(text[:253])[:-1]}")
    assert problem.endswith('": must be 0.01 to 1')


@given(st.floats(min_value=0.01, max_value=1, allow_nan=False))
def test_every_fraction_in_range_is_accepted_as_python_writes_it(share: float) -> None:
    assert read(fraction=repr(share)).fraction == share


@pytest.mark.parametrize(
    ("text", "models"),
    [
        ("A100", [ModelRequest("A100")]),
        ("A100,H100", [ModelRequest("A100"), ModelRequest("H100")]),
        (" A100 ,\tH100 ", [ModelRequest("A100"), ModelRequest("H100")]),
        ("A100-80GB", [ModelRequest("A100", 81920)]),
        ("A100-80G,T4", [ModelRequest("A100", 81920), ModelRequest("T4")]),
        ("A100 80 GB", [ModelRequest("A100", 81920)]),
        ("a100_pcie_40gb", [ModelRequest("A100", 40960)]),
        ("NVIDIA-H100-80GB-HBM3", [ModelRequest("H100", 81920)]),
        ("H100_NVLINK_80GB", [ModelRequest("H100", 81920)]),
        ("Tesla T4,Tesla-T4", [ModelRequest("T4")]),
        ("RTX-A6000,RTXA6000,A6000", [ModelRequest("RTX-A6000")]),
        ("NVIDIA-RTX-PRO-6000-Blackwell-Server-Edition", [ModelRequest("RTX-PRO-6000")]),
    ],
)
def test_models_are_one_name_or_a_list_in_any_vocabulary(text: str, models: list[ModelRequest]) -> None:
    assert (read(model=text).models, said(model=text)) == (tuple(models), [])


@pytest.mark.parametrize(
    ("text", "complaint"),
    [
        ("", '"" is not a model name'),
        ("A100,", '"" is not a model name'),
        ("A100;H100", '"A100;H100" is not a model name'),
        ("-A100", '"-A100" is not a model name'),
        ("A100\nH100", '"A100\\nH100" is not a model name'),
        ("А100", '"А100" is not a model name'),  # a Cyrillic letter
        ("A999", '"A999" is not a known GPU model'),
        ("A100-80BG", '"A100-80BG" has an unknown part 80BG, nearest known: A100'),
        ("not-A100", '"not-A100" has an unknown part NOT, nearest known: A100'),
        ("A100-80", '"A100-80" has an unknown part 80, nearest known: A100'),
        ("A100 or H100", '"A100 or H100" is not a known GPU model'),
        ("A100-160GB", '"A100-160GB" is more than the 81920 MiB of A100'),
        ("A100-MIG-1g.5gb", '"A100-MIG-1g.5gb" is a part of a card; name the card and ask for the part as a resource'),
        ("Tesla-T4-SHARED", '"Tesla-T4-SHARED" is a part of a card'),
        ("GRID-A100-40C", '"GRID-A100-40C" is a part of a card'),
    ],
)
def test_what_is_wrong_with_a_model_is_said_beside_the_accepted_form(text: str, complaint: str) -> None:
    (problem,) = said(model=text)
    start = f"metadata.annotations[{MODEL}]: Invalid value: {shown(text)}: must be {grammar.MODEL_FORM}: {complaint}"
    assert problem.startswith(start)


def test_a_typing_error_is_answered_with_the_model_that_was_meant() -> None:
    assert "A100" in said(model="A1O0")[0].split("nearest known: ")[1].split(", ")


def test_each_unknown_model_of_a_list_is_reported_and_the_known_ones_still_count() -> None:
    reading = read(model="A100,X1,X2,X1")
    assert (len(reading.problems), reading.models) == (2, (ModelRequest("A100"),))


def test_of_many_unknown_models_the_first_five_are_reported() -> None:
    assert len(said(model=",".join(f"X{n}" for n in range(60)))) == 5


def test_unknown_models_pass_where_the_configuration_allows_them_in_one_spelling() -> None:
    reading = read(rules=LENIENT, model="Vendor_X 900,A100")
    assert (reading.problems, reading.models) == ((), (ModelRequest("VENDOR-X-900"), ModelRequest("A100")))


def test_allowing_unknown_models_does_not_allow_malformed_ones() -> None:
    assert len(said(rules=LENIENT, model="A100;B")) == 1


@pytest.mark.parametrize("name", sorted(gpu_models.KNOWN))
def test_every_known_name_stands_for_itself_and_no_size(name: str) -> None:
    assert read(model=name).models == read(model=f"{name.lower()} ").models == (ModelRequest(name),)


def test_a_configured_model_is_known() -> None:
    rules = Rules(KnownModels.extended(["Vendor-X900"]))
    assert read(rules=rules, model="vendor_x900").models == (ModelRequest("Vendor-X900"),)


def test_a_list_of_too_many_models_is_refused_before_it_costs_time() -> None:
    assert said(model=",".join(["X"] * 65)) == [
        f'metadata.annotations[{MODEL}]: Invalid value: "{("X," * 65)[:-1]}": must be at most 64 models'
    ]


@pytest.mark.parametrize(
    ("model", "memory", "refused"),
    [
        ("T4", "16384", False),
        ("T4", "18000", True),
        ("H100", "81920", False),
        ("A100", "80Gi", False),
        ("A100", "90Gi", True),
        ("T4,A100", "80Gi", False),
        ("T4,L4", "80Gi", True),
        ("A100-40GB", "80Gi", False),
    ],
)
def test_memory_is_refused_only_when_no_listed_model_has_that_much_even_with_slack(
    model: str, memory: str, refused: bool
) -> None:
    assert bool(said(model=model, memory=memory)) is refused


def test_the_refusal_says_what_the_listed_models_have() -> None:
    assert said(model="T4,P4", memory="80Gi") == [
        f'metadata.annotations[{MEMORY}]: Invalid value: "80Gi": '
        "must be at most what a listed model has: T4 16384 MiB, P4 8192 MiB"
    ]


def test_a_model_of_unknown_size_never_refuses_memory() -> None:
    assert said(rules=LENIENT, model="T4,VENDOR-X", memory="900Gi") == []


def test_memory_without_a_model_is_only_checked_for_its_form() -> None:
    assert said(memory="900Gi") == []


@pytest.mark.parametrize(("gpus", "refused"), [(0, False), (1, False), (2, True), (8, True)])
def test_a_fraction_stands_with_at_most_one_gpu(gpus: int, refused: bool) -> None:
    problems = said(demand=Demand(gpus, gpus > 0), fraction="0.5")
    assert (
        problems
        == [
            f'metadata.annotations[{FRACTION}]: Invalid value: "0.5": '
            f"must stand with at most 1 nvidia.com/gpu, the pod asks for {gpus}"
        ]
        * refused
    )


def test_an_annotation_on_a_pod_that_asks_for_no_gpu_is_refused_once() -> None:
    assert said(demand=Demand(0, False), model="A100", memory="40Gi") == [
        f'metadata.annotations[{MEMORY}]: Invalid value: "40Gi": {grammar.NO_GPU}'
    ]


def test_a_fraction_is_itself_a_way_to_ask_for_a_gpu() -> None:
    assert said(demand=Demand(0, False), model="A100", fraction="0.5") == []


def test_an_unknown_key_warns_with_the_nearest_known_one() -> None:
    reading = grammar.read({"gpu.nvidia.com/memmory": "1", "gpu.nvidia.com/zzz": "1"}, ONE_GPU)
    assert reading.problems == ()
    assert reading.warnings == (
        "metadata.annotations[gpu.nvidia.com/memmory]: unknown key, did you mean gpu.nvidia.com/memory?",
        f"metadata.annotations[gpu.nvidia.com/zzz]: unknown key, known are {MODEL}, {MEMORY}, {FRACTION}",
    )


def test_a_pod_is_annotated_by_any_key_with_the_prefix_and_by_no_other() -> None:
    assert grammar.read({"gpu.nvidia.com/whatever": ""}, ONE_GPU).annotated
    assert grammar.read({"nvidia.com/gpu": "1", "xgpu.nvidia.com/model": "A100"}, ONE_GPU) == grammar.NOTHING


def test_a_template_reports_paths_under_its_own_place() -> None:
    reading = grammar.read({MEMORY: "0"}, ONE_GPU, at="spec.template.metadata")
    assert reading.problems[0].path == f"spec.template.metadata.annotations[{MEMORY}]"


def test_a_value_of_any_length_is_quoted_shortened() -> None:
    assert all(len(problem) < 700 for problem in said(model="x" * 90000, memory="y" * 90000, fraction="z" * 90000))


@given(
    st.dictionaries(st.sampled_from([*grammar.KEYS, "gpu.nvidia.com/x"]), st.text()), st.integers(0, 9), st.booleans()
)
def test_no_content_raises(annotations: dict[str, str], gpus: int, allow: bool) -> None:
    reading = grammar.read(annotations, Demand(gpus, gpus > 0), Rules(allow_unknown_models=allow))
    assert all(str(problem) for problem in reading.problems)
