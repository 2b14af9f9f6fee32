"""What a pod's answer means, and what makes it unusable."""

import json
import math

import pytest
from hypothesis import given
from hypothesis import strategies as st

from deletion_cost.sample import Sample
from deletion_cost.sources import reading
from deletion_cost.sources.reading import Unusable

FULL = Sample(active_requests=3, connections=7, cache_hit_rate=0.5, mean_response_ms=80, served=1e6)
TEXT = b"""# HELP active_requests now
# TYPE active_requests gauge
active_requests{route="/a}b\\"",code="200"} 1 1700000000000
active_requests{route="/c"} 2
deletion_cost_connections 7
cache_hit_rate 0.5
mean_response_ms 80 # {trace_id="x"} 3
served_total 1e6
active_requests_created 5
my_connections 9
"""


@pytest.mark.parametrize(
    ("body", "expected"),
    [
        (
            b'{"active_requests":3,"connections":7,"cache_hit_rate":0.5,"mean_response_ms":80,"served":1000000}',
            FULL,
        ),
        (b' \n{"active_requests": 0, "version": {"a": [1]}}', Sample(active_requests=0)),
        (b'{"connections": 2, "active_requests": null}', Sample(connections=2)),
        (TEXT, FULL),
        (TEXT.replace(b"\n", b"\r\n"), FULL),
        (b"connections 4", Sample(connections=4)),
    ],
)
def test_both_forms_are_read(body: bytes, expected: Sample) -> None:
    """JSON with any of the keys, or text whose series of one name add up; everything else is left alone."""
    assert reading.read(body) == expected


@pytest.mark.parametrize(
    ("body", "why"),
    [
        (b"", "type"),
        (b"{}", "type"),
        (b"[1]", "type"),
        (b'{"active_requests": true}', "type"),
        (b'{"active_requests": "3"}', "type"),
        (b'{"active_requests": [3]}', "type"),
        (b'{"active_requests": 3', "type"),
        (b'{"active_requests": 3}}', "type"),
        (b'{"x": ' + b"[" * 60_000 + b"]" * 2, "type"),
        (b"<html>active_requests 3</html>", "type"),
        (b"active_requests 0x1g", "type"),
        (b'{"active_requests": NaN}', "nan"),
        (b'{"active_requests": -Infinity}', "nan"),
        (b"active_requests NaN", "nan"),
        (b"active_requests +Inf", "nan"),
        (b"active_requests 1e308\nactive_requests 1e308", "nan"),
        (b'{"active_requests": -1}', "negative"),
        (b'{"active_requests": 5, "connections": -0.1}', "negative"),
        (b'active_requests{a="1"} -1\nactive_requests{a="2"} 5', "negative"),
        (b'{"cache_hit_rate": 1.01}', "range"),
        (b"cache_hit_rate 50", "range"),
        (b'mean_response_ms{a="1"} 5\nmean_response_ms{a="2"} 50', "duplicate"),
    ],
)
def test_unusable_answers_say_why(body: bytes, why: str) -> None:
    """No answer is half used: one bad number drops the sample."""
    assert reading.read(body) == Unusable(why)


@given(st.binary(max_size=300) | st.builds(lambda rest: b'{"active_requests": ' + rest, st.binary(max_size=60)))
def test_any_bytes_give_a_sample_or_a_reason(body: bytes) -> None:
    """Nothing that a pod sends raises, and a sample never holds what a load cannot be."""
    found = reading.read(body)

    if isinstance(found, Sample):
        told = [getattr(found, name) for name in reading.FIELDS if getattr(found, name) is not None]
        assert told
        assert all(math.isfinite(value) and value >= 0 for value in told)


numbers = st.none() | st.floats(0, 1e12)


@given(st.builds(Sample, numbers, numbers, st.none() | st.floats(0, 1), numbers, st.none(), numbers))
def test_what_a_pod_knows_arrives_in_either_form(sample: Sample) -> None:
    """A sample written as JSON or as text reads as itself."""
    told = {name: getattr(sample, name) for name in reading.FIELDS if getattr(sample, name) is not None}
    expected = sample if told else Unusable("type")

    assert reading.read(json.dumps(told).encode()) == expected
    assert reading.read("".join(f"{name} {value!r}\n" for name, value in told.items()).encode()) == expected
