"""Text in messages looks as Go prints it."""

import pytest

from cluster_model import go_text


@pytest.mark.parametrize(
    ("text", "shown"),
    [
        ("", '""'),
        ("A100 é 中 😀", '"A100 é 中 😀"'),
        ('say "no" \\ yes', r'"say \"no\" \\ yes"'),
        ("a\nb\tc\rd\ae\bf\fg\v", r'"a\nb\tc\rd\ae\bf\fg\v"'),
        ("\x00\x1b\x7f", r'"\x00\x1b\x7f"'),
        ("\x85\u00a0\u200b\u2028\ufeff", r'"\u0085\u00a0\u200b\u2028\ufeff"'),
        ("\U000e0001", r'"\U000e0001"'),
    ],
)
def test_quoted_text(text: str, shown: str) -> None:
    """As strconv.Quote does: what is not printable is escaped, letters of all scripts stay."""
    assert go_text.quoted(text) == shown


@pytest.mark.parametrize(
    ("texts", "shown"),
    [((), "null"), (("a",), '["a"]'), (('<&>"\u2028', "é\n"), r'["\u003c\u0026\u003e\"\u2028","é\n"]')],
)
def test_lists_as_json(texts: tuple[str, ...], shown: str) -> None:
    assert go_text.json_texts(texts) == shown
