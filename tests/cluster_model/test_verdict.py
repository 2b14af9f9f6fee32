"""A problem reads as the API server's own."""

from typing import Any

import pytest

from cluster_model.verdict import BadRequest, Problem


@pytest.mark.parametrize(
    ("value", "shown"),
    [("a", '"a"'), ('a"b\\', r'"a\"b\\"'), ("1\n2\x1b", r'"1\n2\x1b"'), (3, "3"), (None, "None"), (["a"], "['a']")],
)
def test_text_is_quoted_so_that_nothing_in_it_can_be_taken_for_the_message(value: Any, shown: str) -> None:
    assert str(Problem("spec.x", value, "must be so")) == f"spec.x: Invalid value: {shown}: must be so"


def test_several_problems_are_one_sentence() -> None:
    assert str(BadRequest(Problem("a", 1, "is bad"), Problem("b", "", "too"))) == (
        'a: Invalid value: 1: is bad; b: Invalid value: "": too'
    )
