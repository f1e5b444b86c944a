"""The five-minute rule against its own history, with host and bound; Lomet's curves; bands."""

from __future__ import annotations

import math
from decimal import Decimal
from pathlib import Path

import pytest
from assay.price.band import check_factor, swing
from assay.price.book import open_book
from assay.price.breakeven import BreakEven, Host, Pair, break_even
from assay.price.curve import Curve, Point, of_file, usable_iops
from assay.price.error import PriceError
from assay.price.history import Rule, history, spoken
from assay.price.interval import interval_s
from assay.price.ledger import Ledger
from assay.price.lomet import PricedStore, lomet
from hypothesis import assume, given
from hypothesis import strategies as some

PAIR = Pair("ddr4-32g", "p4800x-375g", 4096)
amounts = some.floats(1e-6, 1e6)


def named(rule: Rule) -> str:
    return f"{rule.year}-{rule.upper}-{rule.lower}-{rule.page_bytes:g}"


@pytest.mark.parametrize("rule", history().rule, ids=named)
def test_the_rule_through_the_years(rule: Rule) -> None:
    computed = rule.computed_s()
    if computed is None:
        assert rule.tolerance is None
        assert rule.interval_s > 0
    else:
        assert computed == pytest.approx(rule.interval_s, rel=rule.tolerance)


def test_the_history_holds_what_the_publications_say() -> None:
    found = {(rule.year, rule.upper, rule.lower, int(rule.page_bytes)): rule.interval_s for rule in history().rule}
    assert found[1987, "DRAM", "disk", 1000] == 400
    assert found[2007, "DRAM", "SSD", 4096] == 15 * 60
    assert found[2018, "DRAM", "SSD", 4096] == 5 * 60
    assert found[2007, "DRAM", "disk", 4096] == 1.5 * 3600
    assert found[2018, "DRAM", "disk", 4096] == 4 * 3600
    assert found[2007, "SSD", "disk", 4096] == 2.25 * 3600
    assert found[2018, "SSD", "disk", 4096] == 1.5 * 86400
    assert sum(rule.computed_s() is not None for rule in history().rule) >= 6


def test_the_parts_of_the_studies(ledger: Ledger) -> None:
    # Pages of 4 KiB: 79 s between six modules of memory and the Optane SSD, both priced in 2022.
    assert break_even(ledger, PAIR, 2.0).figures["interval_s"] == pytest.approx(79, abs=0.5)


@given(access=amounts, page=amounts, memory=amounts, factor=some.floats(1.01, 100))
def test_dearer_accesses_and_cheaper_memory_keep_pages_longer(
    access: float, page: float, memory: float, factor: float
) -> None:
    base = interval_s(access, page, memory)
    assert interval_s(access * factor, page, memory) > base
    assert interval_s(access, page, memory * factor) < base
    assert interval_s(access, page * factor, memory) < base


@pytest.mark.parametrize("wrong", [0, -1, math.nan, math.inf])
def test_a_break_even_without_numbers_is_refused(wrong: float) -> None:
    for position in range(3):
        numbers = [1.0, 1.0, 1.0]
        numbers[position] = wrong
        with pytest.raises(PriceError, match="above zero"):
            interval_s(*numbers)


def test_the_host_makes_an_access_dearer(ledger: Ledger) -> None:
    host = Host("xeon-6242r", cycles=20_000, clock_hz=3e9, usd_per_gb_per_s=1.0)
    found = break_even(ledger, Pair("ddr4-32g", "p4800x-375g", 4096, host=host), 2.0).figures
    core = 2517 / 20 * 20_000 / 3e9
    expected = {"device": 999 / 550_000, "core": core, "bandwidth": 4.096e-6}
    assert found["usd_per_access_per_s"] == pytest.approx(expected)
    assert found["interval_s"] > found["classic_interval_s"]


CURVE = [Point(10e3, 90e-6), Point(200e3, 150e-6), Point(500e3, 900e-6)]


def test_iops_are_those_within_the_bound() -> None:
    assert usable_iops(CURVE, 200e-6).iops == 200e3
    assert usable_iops(CURVE, 1.0).iops == 500e3
    with pytest.raises(PriceError, match="no point of the curve is within 50 us") as found:
        usable_iops(CURVE, 50e-6)
    assert "90 us" in found.value.hint


@given(some.lists(some.tuples(some.floats(1, 1e6), some.floats(1e-6, 1)), min_size=1), some.floats(1e-6, 1))
def test_a_wider_bound_never_gives_less(points: list[tuple[float, float]], bound: float) -> None:
    curve = [Point(*point) for point in points]
    assume(any(point.latency_s <= bound for point in curve))
    assert usable_iops(curve, bound).iops <= usable_iops(curve, bound * 2).iops


def test_a_curve_gives_the_cycles_that_nobody_else_gave(ledger: Ledger) -> None:
    curve = Curve((Point(200e3, 150e-6, 9000.0), Point(300e3, 400e-6)), "modelled", "a twin")
    host = Host("xeon-6242r", cycles=None, clock_hz=3e9)
    found = break_even(ledger, Pair("ddr4-32g", "p4800x-375g", 4096, None, 200e-6, curve, host), 2.0).figures
    assert (found["iops"], found["latency_s"], found["cycles_per_access"]) == (200e3, 150e-6, 9000.0)
    assert found["usd_per_access_per_s"]["core"] == pytest.approx(2517 / 20 * 9000 / 3e9)
    with pytest.raises(PriceError, match="cycles of an access are missing"):
        break_even(ledger, Pair("ddr4-32g", "p4800x-375g", 4096, None, None, curve, host), 2.0)


def test_a_bound_needs_a_curve(ledger: Ledger) -> None:
    with pytest.raises(PriceError, match="a latency bound needs a curve"):
        BreakEven(ledger, Pair("ddr4-32g", "p4800x-375g", 4096, bound_s=1e-3))


@pytest.mark.parametrize("text", ["", "iops\n1\n", "iops,latency_us\nx,2\n"])
def test_a_file_that_is_no_curve_is_a_sentence(tmp_path: Path, text: str) -> None:
    path = tmp_path / "curve.csv"
    path.write_text(text)
    if text:
        with pytest.raises(PriceError, match="is no curve of latency over load"):
            of_file(path)
    else:
        assert of_file(path).points == ()


@given(some.dictionaries(some.sampled_from("abcd"), some.decimals("0.01", "1e6", places=2), min_size=1))
def test_a_sum_moves_with_its_prices(prices: dict[str, Decimal]) -> None:
    band = swing(lambda moved: float(sum(moved.values())), prices, 2.0)
    whole = float(sum(prices.values()))
    assert (band["low"], band["high"]) == pytest.approx((whole / 2, whole * 2))


@given(some.decimals("0.01", "1e6", places=2), some.decimals("0.01", "1e6", places=2), some.floats(1, 10))
def test_a_ratio_of_two_prices_moves_by_the_square(top: Decimal, bottom: Decimal, factor: float) -> None:
    band = swing(lambda moved: float(moved["top"] / moved["bottom"]), {"top": top, "bottom": bottom}, factor)
    middle = float(top / bottom)
    assert (band["low"], band["high"]) == pytest.approx((middle / factor**2, middle * factor**2))
    assert band["by_price"]["top"]["high"] == pytest.approx(middle * factor)


@pytest.mark.parametrize("factor", [0.5, 0, -2, math.nan, math.inf])
def test_a_band_below_one_is_refused(factor: float) -> None:
    with pytest.raises(PriceError, match="is no band"):
        check_factor(factor)


def store(**changes: float) -> PricedStore:
    numbers = {"rops_mm": 4e6, "rops_ss": 7e5} | changes
    return PricedStore(100 * 2**30, "ddr4-32g", "p4800x-375g", "xeon-6242r", **numbers)


def test_the_lines_cross_where_both_cost_the_same(ledger: Ledger) -> None:
    found = lomet(ledger, store(), 4096, 2.0).figures
    memory = 100 * 192.99 / 32
    flash = 100 * 2**30 / 375e9 * 999
    slope = 2517 / 7e5 + 999 / 550e3 - 2517 / 4e6
    assert found["crossing_ops_per_s"] == pytest.approx((memory - flash) / slope)
    assert found["interval_s"] == pytest.approx(100 * 2**30 / 4096 / found["crossing_ops_per_s"])
    at = found["points"][len(found["points"]) // 2]
    assert at["memory_usd"] == pytest.approx(at["device_usd"])


@given(rops=some.floats(1e3, 3.9e6), share=some.floats(0.01, 1))
def test_below_the_crossing_the_device_is_cheaper(rops: float, share: float) -> None:
    found = lomet(Ledger(open_book()), store(rops_ss=rops, io_share=share), 4096, 2.0).figures
    points = found["points"]
    assert points[0]["device_usd"] < points[0]["memory_usd"]
    assert points[-1]["device_usd"] > points[-1]["memory_usd"]


def test_without_a_cpu_cost_lomet_is_the_five_minute_rule_but_for_the_price_of_flash(ledger: Ledger) -> None:
    # Equal ROPS take the processor out; what is left differs from the classic rule by the flash that holds the data.
    found = lomet(ledger, store(rops_ss=4e6), 4096, 2.0).figures
    classic = break_even(ledger, PAIR, 2.0).figures["interval_s"]
    dearer = 1 - (999 / 375e9) / (192.99 / 32 / 2**30)
    assert found["interval_s"] == pytest.approx(classic / dearer)


def test_operations_with_io_are_never_cheaper() -> None:
    with pytest.raises(PriceError, match="cannot be cheaper"):
        store(rops_ss=5e6).check()


@pytest.mark.parametrize(("seconds", "words"), [(45, "45 s"), (300, "5 min"), (14400, "4 h"), (129600, "1.5 d")])
def test_intervals_are_spoken(seconds: float, words: str) -> None:
    assert spoken(seconds) == words
