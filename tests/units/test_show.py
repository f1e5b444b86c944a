"""Numbers in words say what the numbers say."""

import re

import pytest
from assay.units import show
from hypothesis import given
from hypothesis import strategies as st

FACTORS = {
    "": 1.0, "k": 1e3, "M": 1e6, "G": 1e9, "ns": 1.0, "us": 1e3, "ms": 1e6, "s": 1e9,
    "B": 1.0, "B/s": 1.0, "kB/s": 1e3, "MB/s": 1e6, "GB/s": 1e9, "kB": 1e3, "MB": 1e6, "GB": 1e9, "TB": 1e12,
}  # fmt: skip


def number_of(text: str) -> float:
    """What a reader takes the words for."""
    match = re.fullmatch(r"(-?[\d\u00a0]+(?:\.\d+)?)(?: (\S+))?", text)
    assert match is not None, text
    return float(match[1].replace("\u00a0", "")) * FACTORS[match[2] or ""]


@given(st.floats(min_value=1e-3, max_value=1e14), st.sampled_from([show.rate, show.time, show.count, show.size]))
def test_words_are_within_half_a_percent_of_the_number(value: float, say: object) -> None:
    assert callable(say)
    assert number_of(say(value)) == pytest.approx(value, rel=5.1e-3)


@given(st.floats(min_value=1, max_value=1e12))
def test_no_words_have_a_thousand_of_a_unit_that_has_a_larger_one(value: float) -> None:
    for text in (show.rate(value), show.time(value)):
        found = re.match(r"[\d\u00a0.]+", text)
        assert found is not None
        if not text.endswith((" GB/s", " s")):
            assert float(found[0].replace("\u00a0", "")) < 1000


@pytest.mark.parametrize(
    ("said", "expected"),
    [
        (show.time(999.9), "1.00 us"),
        (show.time(81_234), "81.2 us"),
        (show.rate(2.5e9), "2.50 GB/s"),
        (show.block(16384), "16 KiB"),
        (show.block(500), "500 B"),
        (show.count(0), "0"),
        (show.count(12_048), "12\u00a0048"),
        (show.count(616_400), "616 k"),
        (show.duration(75), "1 min 15 s"),
        (show.duration(3600), "1 h"),
        (show.percent(0.567), "57 %"),
        (show.times(46.2), "46x"),
        (show.article("8 KiB"), "An 8 KiB"),
        (show.article("80 B"), "An 80 B"),
        (show.article("4 KiB"), "A 4 KiB"),
        (show.span(80e3, 84e3, "ns"), "80.0 to 84.0 us"),
        (show.span(990e3, 1.2e6, "ns"), "990 us to 1.20 ms"),
    ],
)
def test_words(said: str, expected: str) -> None:
    assert said == expected
