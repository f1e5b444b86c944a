"""Sizes, durations and rates."""

from __future__ import annotations

import contextlib

import pytest
from assay.error import AssayError
from assay.units.parse import BYTE_UNITS, exact_size, format_bytes, number_of, parse_bytes, parse_rate, parse_seconds
from hypothesis import assume, given
from hypothesis import strategies as st


@pytest.mark.parametrize(
    ("text", "wanted"),
    [("4KiB", 4096), ("5GB", 5_000_000_000), ("1.5MiB", 1_572_864), (" 8 KiB ", 8192), ("512", 512), (7, 7), (7.9, 7)],
)
def test_sizes_are_read(text: str | float, wanted: int) -> None:
    assert parse_bytes(text) == wanted


@pytest.mark.parametrize(
    "text", ["", "4k", "KiB", "4 KiB KiB", "-1KiB", "0.5B", "1e300TiB", "4KIB", "nan", "\u0664KiB"]
)
def test_what_is_no_size_is_refused_with_a_hint(text: str) -> None:
    with pytest.raises(AssayError) as caught:
        parse_bytes(text)
    assert caught.value.code == 2
    assert caught.value.hint


def test_powers_of_1000_and_1024_are_never_mixed_up() -> None:
    assert parse_bytes("1MB") * 1.048576 == parse_bytes("1MiB")


@given(st.integers(0, 2**60))
def test_an_exact_size_reads_back_unchanged(count: int) -> None:
    assert parse_bytes(exact_size(count)) == count


@given(st.integers(1, 10**6), st.sampled_from(sorted(BYTE_UNITS)))
def test_number_and_unit_multiply(number: int, unit: str) -> None:
    assume(number * BYTE_UNITS[unit] < 2**63)
    assert parse_bytes(f"{number}{unit}") == number * BYTE_UNITS[unit]


@given(st.text(max_size=20))
def test_any_text_gives_a_quantity_or_a_sentence(text: str) -> None:
    for parse in (parse_bytes, parse_seconds, parse_rate, number_of):
        with contextlib.suppress(AssayError):
            parse(text)


@given(st.floats(allow_nan=True, allow_infinity=True))
def test_any_number_gives_a_quantity_or_a_sentence(number: float) -> None:
    for parse in (parse_bytes, parse_seconds, parse_rate):
        with contextlib.suppress(AssayError):
            parse(number)


@pytest.mark.parametrize(("text", "wanted"), [("100ms", 0.1), ("2h", 7200), ("5min", 300), (3, 3), ("250us", 0.00025)])
def test_durations_are_read(text: str | float, wanted: float) -> None:
    assert parse_seconds(text) == pytest.approx(wanted)


def test_a_rate_of_bytes_becomes_operations_by_their_size() -> None:
    assert parse_rate("250MB/s").operations(16384) == pytest.approx(15258.789)
    assert parse_rate("1000/s").operations(16384) == 1000
    assert parse_rate("1000 ops/s").operations(1) == 1000


@pytest.mark.parametrize("text", ["0/s", "250MB", "fast", "-1/s", "/s", "MB/s"])
def test_what_is_no_rate_is_refused(text: str) -> None:
    with pytest.raises(AssayError):
        parse_rate(text)


@given(st.floats(0, 1e18))
def test_sizes_for_people_are_short(count: float) -> None:
    assert len(format_bytes(count)) <= 12
