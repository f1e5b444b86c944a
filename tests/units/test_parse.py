"""Sizes, durations and rates."""

from __future__ import annotations

import contextlib

import pytest
from assay.error import AssayError
from assay.units.parse import (
    BYTE_UNITS,
    Rate,
    UnitError,
    exact_size,
    format_bytes,
    format_ns,
    format_rate,
    format_seconds,
    number_of,
    parse_bytes,
    parse_rate,
    parse_seconds,
)
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


UNITS = {
    "B": 1, "kB": 1_000, "KB": 1_000, "MB": 1_000_000, "GB": 1_000_000_000, "TB": 1_000_000_000_000,
    "PB": 1_000_000_000_000_000, "KiB": 1_024, "MiB": 1_048_576, "GiB": 1_073_741_824, "TiB": 1_099_511_627_776,
    "PiB": 1_125_899_906_842_624,
}  # fmt: skip


def test_units_of_size_are_what_the_standards_say() -> None:
    assert UNITS == BYTE_UNITS
    assert [parse_seconds(f"1{unit}") for unit in ("ns", "us", "ms", "s", "min", "h")] == [
        1e-9, 1e-6, 1e-3, 1, 60, 3600,
    ]  # fmt: skip


@pytest.mark.parametrize("text", ["9223372036854775807", "0", "0B", "1" + "0" * 18])
def test_sizes_at_the_edge_are_read(text: str) -> None:
    assert str(parse_bytes(text)) == text.removesuffix("B")


@pytest.mark.parametrize(
    ("value", "says"),
    [
        ("9223372036854775808", "between 0 and 8 EiB"),
        (-0.5, "between 0 and 8 EiB"),
        (float("inf"), "between 0 and 8 EiB"),
        ("1" + "0" * 30, "between 0 and 8 EiB"),
        ("1" + "0" * 31, "too large"),
        ("0.5B", "no whole number|not a whole number"),
    ],
)
def test_sizes_beyond_the_edge_are_refused_by_what_is_wrong(value: str | float, says: str) -> None:
    with pytest.raises(UnitError, match=says):
        parse_bytes(value)


@pytest.mark.parametrize("value", [-1, -0.001, float("nan"), float("inf"), "1 hour", "x"])
def test_what_is_no_duration_is_refused(value: str | float) -> None:
    with pytest.raises(UnitError):
        parse_seconds(value)


def test_no_time_is_a_duration_and_a_second_needs_no_unit() -> None:
    assert (parse_seconds(0), parse_seconds("0"), parse_seconds(0.5), parse_seconds("0.5")) == (0, 0, 0.5, 0.5)


@pytest.mark.parametrize(
    ("value", "bytes_per_s", "ops_per_s"),
    [
        ("250MB/s", 250e6, None),
        ("1/s", None, 1),
        ("0.5/s", None, 0.5),
        (0.5, None, 0.5),
        ("7", None, 7),
        ("7 ops/s", None, 7),
        (" 1KiB/s ", 1024, None),
    ],
)
def test_a_rate_is_of_bytes_or_of_operations(
    value: str | float, bytes_per_s: float | None, ops_per_s: float | None
) -> None:
    assert parse_rate(value) == Rate(bytes_per_s, ops_per_s)


def test_a_rate_of_nothing_makes_no_operations() -> None:
    assert Rate().operations(4096) == 0
    assert Rate(bytes_per_s=8192.0).operations(4096) == 2
    assert Rate(ops_per_s=3.0).operations(4096) == 3


@pytest.mark.parametrize("value", [0, -1, float("nan"), float("inf"), "0", "0MB/s"])
def test_a_rate_is_above_zero(value: str | float) -> None:
    with pytest.raises(UnitError):
        parse_rate(value)


@pytest.mark.parametrize(
    ("value", "wanted"),
    [("4KiB", 4096), ("100ms", 0.1), ("250MB/s", 250e6), ("9/s", 9.0), ("12", 12), ("1.5", 1.5), (3, 3), (2.5, 2.5)],
)
def test_a_quantity_stands_for_a_number(value: object, wanted: float) -> None:
    assert number_of(value) == wanted
    assert isinstance(number_of("12"), int)
    assert isinstance(number_of("1.5"), float)


@pytest.mark.parametrize("value", [True, False, None, [1], "3 parsec"])
def test_what_stands_for_no_number_is_refused(value: object) -> None:
    with pytest.raises(UnitError):
        number_of(value)


@pytest.mark.parametrize(
    ("said", "expected"),
    [
        (format_bytes(0), "0 B"),
        (format_bytes(1023), "1023 B"),
        (format_bytes(1024), "1 KiB"),
        (format_bytes(1.5 * 2**30), "1.5 GiB"),
        (format_bytes(999 * 2**20), "999 MiB"),
        (format_bytes(1000 * 2**20), "1000 MiB"),
        (format_bytes(1023 * 2**20), "1023 MiB"),
        (format_bytes(2**20), "1 MiB"),
        (format_bytes(2**40), "1 TiB"),
        (format_bytes(999.5 * 2**20), "1e+03 MiB"),
        (exact_size(0), "0B"),
        (exact_size(1536 << 20), "1536MiB"),
        (exact_size(1 << 40), "1TiB"),
        (exact_size(1 << 30), "1GiB"),
        (exact_size(1 << 10), "1KiB"),
        (exact_size(1025), "1025B"),
        (format_seconds(7500), "2h 5min"),
        (format_seconds(3600), "1h 0min"),
        (format_seconds(3599), "59min 59s"),
        (format_seconds(200), "3min 20s"),
        (format_seconds(60), "1min 0s"),
        (format_seconds(59.4), "59s"),
        (format_seconds(10), "10s"),
        (format_seconds(9.94), "9.9s"),
        (format_rate(512e6), "512 MB/s"),
        (format_rate(1e9), "1 GB/s"),
        (format_rate(1e6), "1 MB/s"),
        (format_rate(1e3), "1 kB/s"),
        (format_rate(999), "999 B/s"),
        (format_ns(999), "999 ns"),
        (format_ns(1e3), "1 us"),
        (format_ns(85e3), "85 us"),
        (format_ns(1e6), "1 ms"),
        (format_ns(1.2e6), "1.2 ms"),
        (format_ns(1e9), "1 s"),
        (format_ns(2.5e9), "2.5 s"),
    ],
)
def test_quantities_in_words(said: str, expected: str) -> None:
    assert said == expected


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
