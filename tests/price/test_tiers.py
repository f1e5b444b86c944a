"""Two tiers, figure by figure: the five-minute rule with its host, Lomet's lines, curves of latency."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
from advise.folders import Bench, read
from assay.price.breakeven import Host, Pair, break_even
from assay.price.curve import DEPTHS, Curve, Point, of_file, of_records, of_twin, usable_iops
from assay.price.error import PriceError
from assay.price.history import CapacityPrice, Rule, _capacity, capacity, spoken
from assay.price.interval import interval_s
from assay.price.lomet import PricedStore, _grid, lomet
from assay.twin.predict import Point as Asked
from assay.twin.predict import predict

from price.shop import GIB, entry, ledger
from price.test_plan import close

# 100 dollars for 100 000 IOPS, and a page of 4 KiB at 2 dollars a GiB.
CLASSIC = 1e-3 / (4096 * 2 / GIB)


def tiers(host: Host | None = None, **more: Any) -> Any:
    return break_even(ledger(), Pair("dimm", "drive", 4096, **more, host=host), 2.0)


def test_the_classic_interval() -> None:
    found = tiers()
    assert found.figures == {
        "upper": "dimm", "lower": "drive", "page_bytes": 4096, "iops": 100e3, "latency_bound_s": None,
        "latency_s": None, "cycles_per_access": None, "interval_s": close(CLASSIC),
        "usd_per_access_per_s": {"device": close(1e-3)}, "usd_per_gib": 2.0, "band": found.figures["band"],
    }  # fmt: skip
    assert (found.figures["band"]["low"], found.figures["band"]["high"]) == (close(CLASSIC / 4), close(CLASSIC * 4))
    assert close(131.072) == CLASSIC
    assert found.lines[0].startswith("Keep a page of 4096 B in dimm when it is used more often than once in 2.18 min")
    assert len(found.lines) == 2
    assert found.formula.startswith("tau = (pages per MB")


def test_a_host_adds_its_share_of_a_core_and_of_bandwidth() -> None:
    found = tiers(Host("cpu", cycles=20_000, clock_hz=2e9))
    # A tenth of 1000 dollars does 100 000 accesses a second.
    assert found.figures["usd_per_access_per_s"] == {"device": close(1e-3), "core": close(1e-3), "bandwidth": 0.0}
    assert (found.figures["interval_s"], found.figures["classic_interval_s"]) == (close(2 * CLASSIC), close(CLASSIC))
    assert found.figures["cycles_per_access"] == 20_000
    assert found.lines[-1] == "What an access costs is: device 50%, core 50%."
    assert found.formula.startswith("tau = (device / IOPS")
    named = {one["name"]: one["value"] for one in found.ledger.inputs}
    assert (named["clock, Hz"], named["cycles per access"], named["cpu cores"]) == (2e9, 20_000, 10.0)
    wide = tiers(Host("cpu", 20_000, 2e9, cores=5, usd_per_gb_per_s=1000.0)).figures["usd_per_access_per_s"]
    assert wide == {"device": close(1e-3), "core": close(2e-3), "bandwidth": close(4.096e-3)}


@pytest.mark.parametrize(("cycles", "clock", "iops"), [(0, 1e9, None), (5, 0, None), (5, 1e9, 0)])
def test_nothing_is_done_by_nothing(cycles: float, clock: float, iops: float | None) -> None:
    with pytest.raises(PriceError):
        tiers(Host("cpu", cycles, clock), iops=iops)


def test_small_numbers_are_numbers() -> None:
    found = tiers(Host("cpu", 0.5, 0.5), iops=0.5).figures
    assert (found["iops"], found["cycles_per_access"]) == (0.5, 0.5)
    assert found["usd_per_access_per_s"] == {"device": 200.0, "core": 100.0, "bandwidth": 0.0}
    assert interval_s(0.5, 0.5, 0.25) == 4.0


CURVE = Curve((Point(50e3, 100e-6, 8000.0), Point(80e3, 200e-6, 4000.0), Point(90e3, 900e-6)), "modelled", "a twin")


def test_a_curve_gives_iops_cycles_and_a_sentence() -> None:
    found = tiers(Host("cpu", None, 2e9), curve=CURVE, bound_s=200e-6)
    assert (found.figures["iops"], found.figures["latency_s"]) == (80e3, 200e-6)
    assert found.figures["cycles_per_access"] == 4000.0
    assert found.lines[2] == "drive gives 8e+04 reads/s at 200 us, within the bound of 200 us."
    named = {one["name"]: (one["value"], one["provenance"], one["source"]) for one in found.ledger.inputs}
    assert named["IOPS within the latency bound"] == (80e3, "modelled", "a twin")
    assert named["cycles per access"] == (4000.0, "modelled", "a twin")
    free = tiers(curve=CURVE)
    assert free.lines[2] == "drive gives 9e+04 reads/s at 900 us; --latency-bound allows less."
    assert [one["name"] for one in free.ledger.inputs] == ["IOPS"]


@pytest.mark.parametrize("curve", [None, CURVE])
def test_cycles_that_nobody_counted_are_missing(curve: Curve | None) -> None:
    with pytest.raises(PriceError, match="cycles of an access are missing"):
        tiers(Host("cpu", None, 2e9), curve=curve)


def test_without_a_point_within_the_bound_the_lowest_latency_is_named() -> None:
    with pytest.raises(PriceError, match="within 99 us") as found:
        usable_iops(CURVE.points, 99e-6)
    assert "lowest latency of the curve is 100 us" in (found.value.hint or "")


def store(**changes: Any) -> PricedStore:
    numbers: dict[str, Any] = {"rops_mm": 1e6, "rops_ss": 1e5} | changes
    return PricedStore(10 * GIB, "dimm", "drive", "cpu", **numbers)


def test_the_lines_and_where_they_cross() -> None:
    found = lomet(ledger(), store(), 4096, 2.0)
    # 20 dollars of memory against a hundredth of the drive; a processor for 1e5 instead of 1e6, and the drive's IOPS.
    flash = 10 * GIB / 1e12 * 100
    crossing = (20 - flash) / (1000 / 1e5 + 100 / 1e5 - 1000 / 1e6)
    assert found.figures["crossing_ops_per_s"] == close(crossing)
    assert found.figures["interval_s"] == close(10 * GIB / 4096 / crossing)
    points = found.figures["points"]
    assert [one["ops_per_s"] for one in points] == [close(crossing * 10 ** (step / 2)) for step in range(-4, 5)]
    assert [one["memory_usd"] for one in points] == [close(20 + one["ops_per_s"] * 1e-3) for one in points]
    assert [one["device_usd"] for one in points] == [close(flash + one["ops_per_s"] * 11e-3) for one in points]
    assert [row[3] for row in found.table[1:5]] == ["device"] * 4
    assert [row[3] for row in found.table[6:]] == ["memory"] * 4
    assert {one["name"]: one["value"] for one in found.ledger.inputs} == {
        "drive read_iops": 100e3,
        "ROPS in memory": 1e6,
        "ROPS from the device": 1e5,
        "share of the device's price counted for IOPS": 1.0,
    }


def test_equal_costs_are_not_cheaper_in_memory() -> None:
    costs = [{"ops_per_s": 1.0, "memory_usd": usd, "device_usd": 2.0} for usd in (1.0, 2.0, 3.0)]
    assert [row[3] for row in _grid(costs)[1:]] == ["memory", "device", "device"]


def test_a_share_of_the_device_and_other_iops() -> None:
    found = lomet(ledger(), store(io_share=0.5, iops=0.5), 4096, 2.0).figures
    flash = 10 * GIB / 1e12 * 100
    assert found["crossing_ops_per_s"] == close((20 - flash) / (1000 / 1e5 + 50 / 0.5 - 1000 / 1e6))
    assert found["iops"] == 0.5


def test_a_band_in_which_the_lines_cross_no_more_ends_at_nothing() -> None:
    assert lomet(ledger(), store(), 4096, 100.0).figures["band"]["low"] == 0.0


def test_memory_that_costs_less_than_the_device_is_always_cheaper() -> None:
    found = lomet(ledger(entry("dimm", 0.32)), store(), 4096, 2.0)
    assert found.lines == ["The lines do not cross: memory is always cheaper."]
    assert (found.figures["always_cheaper"], found.figures["crossing_ops_per_s"]) == ("memory", None)
    assert found.figures["points"][4]["ops_per_s"] == close(100e3)
    assert all(one["memory_usd"] < one["device_usd"] for one in found.figures["points"])


@pytest.mark.parametrize("name", ["size_bytes", "rops_mm", "rops_ss", "io_share"])
def test_stores_of_nothing_are_refused(name: str) -> None:
    numbers = {"size_bytes": 1.0, "rops_mm": 0.5, "rops_ss": 0.5, "io_share": 0.5}
    PricedStore(memory="m", device="d", cpu="c", **numbers).check()
    with pytest.raises(PriceError, match=f"{name} of 0 cannot be"):
        PricedStore(memory="m", device="d", cpu="c", **(numbers | {name: 0.0})).check()
    with pytest.raises(PriceError, match="serve nobody"):
        lomet(ledger(), store(iops=0.0), 4096, 2.0)


def test_a_file_of_a_curve(tmp_path: Path) -> None:
    path = tmp_path / "curve.csv"
    path.write_text("latency_us,iops\n90,1000\n150.5,2000\n")
    assert of_file(path) == Curve((Point(1000.0, close(90e-6)), Point(2000.0, close(150.5e-6))), "assumed", str(path))


def test_depths_double_and_from_eight_on_have_one_between() -> None:
    assert list(DEPTHS) == sorted([2**step for step in range(9)] + [3 * 2**step for step in range(2, 7)])


def test_a_twin_gives_a_point_for_each_depth(assayer: Path) -> None:
    assert assayer.is_file()
    found = of_twin("p4800x", 4096)
    assert len(found.points) == len(DEPTHS)
    for place in (0, 4):
        one = predict(Asked("twin:p4800x", depth=DEPTHS[place]))
        assert found.points[place].iops == pytest.approx(one["iops"], rel=1e-6)
        assert found.points[place].latency_s == pytest.approx(one["latency_ns"]["mean"] / 1e9, rel=1e-6)
    with pytest.raises(PriceError, match="is memory"):
        of_twin("ddr4-3200-32g", 4096)


def test_records_without_a_latency_and_invalid_ones_are_no_points(tmp_path: Path) -> None:
    bench = Bench(tmp_path)
    bench.add(read(10_000.0), "raw")
    bench.add(read(20_000.0), "raw", status="invalid")
    silent = tmp_path / "records" / f"{bench.add(read(30_000.0), 'raw')}.json"
    record = json.loads(silent.read_text())
    del record["classes"][0]["service"]
    silent.write_text(json.dumps(record))
    found = of_records(bench.done(), 4096)
    (point,) = found.points
    # One at a time, ten thousand a second: a tenth of a millisecond each.
    assert point.latency_s == pytest.approx(100e-6, rel=0.3)
    assert found.source == f"1 records of {tmp_path}"


@pytest.mark.parametrize(
    ("seconds", "words"),
    [
        (119, "119 s"), (120, "2 min"), (5400, "90 min"), (7199, "120 min"), (7200, "2 h"), (86_399, "24 h"),
        (86_400, "1 d"), (172_800, "2 d"),
    ],
)  # fmt: skip
def test_a_unit_is_taken_from_twice_its_length_and_a_day_from_one(seconds: float, words: str) -> None:
    assert spoken(seconds) == words


def test_capacity_per_dollar_of_the_book() -> None:
    rows = {row["item"]: row for row in capacity(ledger()).figures["rows"] if row["item"]}
    assert sorted(rows) == ["dimm", "drive", "module", "other"], "no processor, and nothing without a capacity"
    assert rows["drive"] == {
        "technology": "ssd", "item": "drive", "money": "dollars of the day", "date": "2026-01",
        "gb_per_usd": 10.0, "provenance": "published", "source": "the shop",
        "band": {"factor": 2.0, "low": 5.0, "high": 20.0, "by_price": {"price": {"low": 5.0, "high": 20.0}}},
    }  # fmt: skip
    table = capacity(ledger()).table
    assert ["ssd", "2026-01", "10", "dollars of the day", "drive"] in table


@pytest.mark.parametrize(
    ("inputs", "seconds"),
    [
        # Two dollars a MB of a million bytes: a page of 1000 B costs 0.002.
        ({"usd_per_access_per_s": 4.0}, 2000.0),
        ({"device_usd": 30.0, "device_iops": 5.0}, 3000.0),
        ({"usd_per_access_per_s": 4.0, "device_usd": 30.0, "device_iops": 5.0}, 2000.0),
        ({"device_usd": 30.0}, None),
        ({"device_iops": 5.0}, None),
        ({}, None),
        ({"usd_per_access_per_s": 4.0, "usd_per_mb": None}, None),
        ({"usd_per_access_per_s": 4.0, "mb_bytes": None}, None),
    ],
)
def test_an_interval_is_computed_where_its_inputs_are_known(inputs: dict[str, Any], seconds: float | None) -> None:
    known = {
        "year": 1987,
        "upper": "a",
        "lower": "b",
        "page_bytes": 1000,
        "interval_s": 1,
        "source": "s",
        "date": "1987",
    }
    found = Rule.model_validate(known | {"usd_per_mb": 2.0, "mb_bytes": 1e6} | inputs).computed_s()
    assert found == (None if seconds is None else close(seconds))


def test_capacity_per_dollar_of_a_year() -> None:
    one = CapacityPrice.model_validate(
        {"year": 2000, "dram_usd_per_mb": 2, "disk_usd_per_mb": 0.5, "kind": "list", "source": "s", "date": "2000"}
    )
    found = {row["technology"]: row["gb_per_usd"] for row in _capacity(one)}
    assert found == {"dram": close(5e-4), "disk": close(2e-3)}
