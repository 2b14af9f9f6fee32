"""Quantities are read as Kubernetes reads them: against a table of its own answers, and against a slow exact twin."""

import json
import re
from fractions import Fraction
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from cluster_model import quantity
from cluster_model.quantity import MAX_INT64, Nanos
from tests.cluster_model import quantity_oracle as oracle

TABLE = Path(__file__).parents[1] / "data" / "golden" / "quantities.jsonl"
ROWS: list[dict[str, Any]] = [json.loads(line) for line in TABLE.read_text().splitlines()]
ACCEPTED = [row for row in ROWS if row["error"] is None]
REFUSED = [row["text"] for row in ROWS if row["error"] is not None]

wholes = st.text("0123456789", max_size=12)  # longer ones are held at a ceiling, which the twin does not know
decimals = st.text("0123456789", max_size=30)
suffixes = st.sampled_from([*oracle.POWERS, *oracle.BINARY, "e3", "E-3", "e+12", "E0"])
written = st.builds(
    lambda sign, whole, point, decimals, suffix: sign + whole + ("." + decimals if point else "") + suffix,
    st.sampled_from(["", "+", "-"]),
    wholes,
    st.booleans(),
    decimals,
    suffixes,
).filter(lambda text: any(letter.isdigit() for letter in re.split("[eE]", text)[0]))


@pytest.mark.parametrize("row", ACCEPTED, ids=lambda row: repr(row["text"]))
def test_every_text_that_kubernetes_accepts_has_the_same_exact_amount(row: dict[str, Any]) -> None:
    assert Fraction(quantity.parse(row["text"]), 10**9) == Fraction(row["exact"])


@pytest.mark.parametrize("text", REFUSED, ids=repr)
def test_every_text_that_kubernetes_refuses_is_refused(text: str) -> None:
    with pytest.raises(ValueError, match=r"not a quantity|out of range"):
        quantity.parse(text)


@pytest.mark.parametrize("row", ACCEPTED, ids=lambda row: repr(row["text"]))
def test_whole_and_milli_units_are_those_of_kubernetes_wherever_it_does_not_overflow(row: dict[str, Any]) -> None:
    """Kubernetes overflows to 0 or wraps; its rounding of negative decimals depends on how they are stored."""
    amount = quantity.parse(row["text"])
    for ours, theirs in ((quantity.value(amount), row["value"]), (quantity.milli(amount), row["milli"])):
        assert abs(ours) == MAX_INT64 or row["text"].startswith("-") or ours == int(theirs)


@given(written)
def test_parse_agrees_with_the_exact_twin(text: str) -> None:
    assert Fraction(quantity.parse(text), 10**9) == oracle.parse(text)


@given(written)
def test_rounding_agrees_with_the_exact_twin_up_to_int64(text: str) -> None:
    amount, exact = quantity.parse(text), oracle.parse(text)
    limited = [max(-MAX_INT64, min(oracle.rounded_up(exact, per_unit), MAX_INT64)) for per_unit in (1, 1000)]
    assert [quantity.value(amount), quantity.milli(amount)] == limited


@given(st.text())
def test_any_text_gives_an_amount_or_a_value_error(text: str) -> None:
    try:
        amount = quantity.parse(text)
    except ValueError:
        return
    assert abs(amount) <= 10**40


@pytest.mark.parametrize(
    "text", ["1" + "0" * 9000, "9" * 5000 + "Gi", "0." + "0" * 6000 + "1", "1e2000000000", "1" * 50]
)
def test_numbers_of_any_length_are_read_without_being_written_out(text: str) -> None:
    assert quantity.value(quantity.parse(text)) in (1, MAX_INT64)


def test_an_amount_beyond_int64_is_held_there_so_that_it_never_fits() -> None:
    assert quantity.value(quantity.parse("1e30")) == MAX_INT64
    assert quantity.milli(quantity.parse("1E")) == MAX_INT64
    assert quantity.value(quantity.parse("-9e30")) == -MAX_INT64


def test_the_smallest_decimal_is_kept_even_behind_many_zeros_of_a_binary_amount() -> None:
    assert quantity.parse("1." + "0" * 200 + "1Gi") == 2**30 * 10**9 + 1


@pytest.mark.parametrize(
    ("number", "units"),
    [(1, 1), (0.5, 1), (2.0, 2), (0, 0), (-3, -3), (1e22, MAX_INT64), (10**40, MAX_INT64), (-(10**400), -MAX_INT64)],
)
def test_numbers_of_json_are_amounts_too(number: float, units: int) -> None:
    assert quantity.value(quantity.parse(number)) == units


@pytest.mark.parametrize("other", [True, False, float("nan"), float("inf"), None, [], {}, b"1"])
def test_what_is_neither_text_nor_a_finite_number_is_refused(other: Any) -> None:
    with pytest.raises(ValueError, match="not a quantity"):
        quantity.parse(other)


@pytest.mark.parametrize(("text", "whole"), [("2", True), ("2000m", True), ("0.5", False), ("1n", False), ("0", True)])
def test_is_whole_tells_units_from_parts(text: str, whole: bool) -> None:
    assert quantity.is_whole(quantity.parse(text)) is whole


def test_rounding_goes_away_from_zero_on_both_sides() -> None:
    assert [quantity.value(Nanos(n)) for n in (1, -1, 10**9 + 1, 0)] == [1, -1, 2, 0]
