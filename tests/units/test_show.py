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
        (show.rate(1e9), "1.00 GB/s"),
        (show.rate(1e6), "1.00 MB/s"),
        (show.rate(999.5e3), "1.00 MB/s"),
        (show.rate(1e3), "1.00 kB/s"),
        (show.rate(999.4), "999 B/s"),
        (show.rate(0.5), "0.500 B/s"),
        (show.rate(-2e6), "-2.00 MB/s"),
        (show.time(1e9), "1.00 s"),
        (show.time(1e6), "1.00 ms"),
        (show.time(1e3), "1.00 us"),
        (show.time(1.0), "1.00 ns"),
        (show.time(0.25), "0.250 ns"),
        (show.time(0), "0 ns"),
        (show.significant(float("nan")), "not a number"),
        (show.significant(float("inf")), "not a number"),
        (show.size(1e12), "1.00 TB"),
        (show.size(1e9), "1.00 GB"),
        (show.size(1e6), "1.00 MB"),
        (show.size(1e3), "1.00 kB"),
        (show.size(1.0), "1.00 B"),
        (show.size(0.5), "0.500 B"),
        (show.count(1e9), "1.00 G"),
        (show.count(1e6), "1.00 M"),
        (show.count(999.5e3), "1.00 M"),
        (show.count(1e5), "100 k"),
        (show.count(99.95e3), "100 k"),
        (show.count(99_949), "99\u00a0949"),
        (show.count(-616_400), "-616 k"),
        (show.significant(1.0), "1.00"),
        (show.significant(0.9995), "1.00"),
        (show.significant(0.0123456), "0.0123"),
        (show.significant(1.2345, 4), "1.234"),
        (show.significant(-1.2345), "-1.23"),
        (show.block(1 << 40), "1 TiB"),
        (show.block(1 << 30), "1 GiB"),
        (show.block(1 << 20), "1 MiB"),
        (show.block(1 << 10), "1 KiB"),
        (show.block(1023), "1023 B"),
        (show.block(1536), "1.5 KiB"),
        (show.duration(9.94), "9.9 s"),
        (show.duration(10), "10 s"),
        (show.duration(59.4), "59 s"),
        (show.duration(60), "1 min"),
        (show.duration(3599), "59 min 59 s"),
        (show.duration(3661), "1 h 1 min"),
        (show.duration(7322), "2 h 2 min"),
        (show.duration(61), "1 min 1 s"),
        (show.percent(1), "100 %"),
        (show.percent(0.0123), "1.2 %"),
        (show.times(1), "1.0x"),
        (show.article("11 KiB"), "An 11 KiB"),
        (show.article("18 KiB"), "An 18 KiB"),
        (show.article("16 KiB"), "A 16 KiB"),
        (show.article("111 B"), "A 111 B"),
        (show.figure(2e6, "bytes/s"), "2.00 MB/s"),
        (show.figure(2e6, "ns"), "2.00 ms"),
        (show.figure(2e6, "bytes"), "2.00 MB"),
        (show.figure(2e6, "ratio"), "2\u00a0000\u00a0000"),
        (show.figure(999.9, "cycles/op"), "1\u00a0000 cycles/op"),
        (show.figure(1000, "ops/s"), "1\u00a0000 ops/s"),
        (show.figure(123_456, "ops/s"), "123 k ops/s"),
        (show.figure(-123_456, "ops/s"), "-123 k ops/s"),
        (show.figure(2.6e9, "Hz"), "2.60 GHz"),
        (show.figure(2.6, "Hz"), "2.60 Hz"),
        (show.figure(2.6e6, "instructions/op"), "2.60 M instr/op"),
        (show.figure(1.5, "nothing known"), "1.50"),
        (show.article("8 KiB"), "An 8 KiB"),
        (show.article("80 B"), "An 80 B"),
        (show.article("4 KiB"), "A 4 KiB"),
        (show.span(80e3, 84e3, "ns"), "80.0 to 84.0 us"),
        (show.span(990e3, 1.2e6, "ns"), "990 us to 1.20 ms"),
        (show.span(1.5, 2.5, "nothing known"), "1.50 to 2.50"),
        (show.span(99e3, 120e3, "ops/s"), "99\u00a0000 ops/s to 120 k ops/s"),
        (show.span(110e3, 120e3, "ops/s"), "110 to 120 k ops/s"),
    ],
)
def test_words(said: str, expected: str) -> None:
    assert said == expected
