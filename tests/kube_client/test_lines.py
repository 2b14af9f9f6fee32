from hypothesis import given
from hypothesis import strategies as st

from kube_client.lines import LineSplitter


@given(st.lists(st.binary(max_size=8).map(lambda line: line.replace(b"\n", b"x")), max_size=8), st.data())
def test_any_chunking_gives_the_same_lines(lines: list[bytes], data: st.DataObject) -> None:
    stream, splitter, found = b"".join(line + b"\n" for line in lines), LineSplitter(), []
    while stream:
        size = data.draw(st.integers(1, len(stream)))
        found += splitter.feed(stream[:size])
        stream = stream[size:]
    assert found == [line for line in lines if line.strip()]


def test_an_unfinished_line_is_never_given() -> None:
    splitter = LineSplitter()
    assert splitter.feed(b'{"a":1}\n{"b"') == [b'{"a":1}']
    assert splitter.feed(b"") == []


def test_a_huge_line_in_small_chunks_is_joined_once() -> None:
    splitter = LineSplitter()
    for _ in range(10_000):
        assert splitter.feed(b"x" * 1_000) == []
    assert splitter.feed(b"\n") == [b"x" * 10_000_000]
