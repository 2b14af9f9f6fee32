"""What is printed looks as kubectl's own."""

import pytest

from cli.kubectl_gpu import printing


@pytest.mark.parametrize(
    ("seconds", "shown"),
    [
        (-2, "<invalid>"),
        (-1, "0s"),
        (0, "0s"),
        (119, "119s"),
        (120, "2m"),
        (599, "9m59s"),
        (600, "10m"),
        (10799, "179m"),
        (10800, "3h"),
        (18060, "5h1m"),
        (28800, "8h"),
        (172799, "47h"),
        (172800, "2d"),
        (176400, "2d1h"),
        (691200, "8d"),
        (63071999, "729d"),
        (63072000, "2y"),
        (63158400, "2y1d"),
        (252288000, "8y"),
    ],
)
def test_ages_are_shortened_as_kubectl_does(seconds: int, shown: str) -> None:
    assert printing.age(seconds) == shown


def test_columns_stand_three_blanks_apart_and_lines_end_without_any() -> None:
    lines = [("a", "longer"), ("longest", "b")]

    assert printing.table(("NAME", "X"), lines, True) == "NAME      X\na         longer\nlongest   b\n"
    assert printing.table(("NAME", "X"), lines, False) == "a         longer\nlongest   b\n"
