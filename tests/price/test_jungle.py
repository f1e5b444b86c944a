"""R and its table, to the cent; utilisation is never guessed."""

from __future__ import annotations

import json
from decimal import Decimal
from pathlib import Path
from typing import Any

import pytest
from assay.price.error import PriceError
from assay.price.holding import Holding, parse
from assay.price.jungle import cents, hardware_usd, table1
from assay.price.ledger import Ledger
from assay.price.ratio import Load, PricedMachine, ratio
from assay.price.record import load_of
from hypothesis import given
from hypothesis import strategies as some

# Huang et al., CIDR 2022, table 1: storage, without CPU, full CPU, 1, 5 and 10 threads.
BASES = ("storage", "without cpu", "full cpu", "1 thread", "5 threads", "10 threads")
PRINTED = {
    "pm1": (4.27, 13.32, 32.98, 13.81, 15.78, 18.23),
    "pm6": (4.27, 5.78, 9.06, 5.86, 6.19, 6.60),
    "p4800x": (2.66, 5.75, 12.46, 5.92, 6.59, 7.43),
}
MACHINE = PricedMachine([Holding("pmem100-128g", 6)], [Holding("ddr4-32g", 6)], "xeon-6242r")
money = some.decimals(min_value="0.01", max_value="1e6", places=2)


def test_table1_to_the_cent(ledger: Ledger) -> None:
    rows = table1(ledger, 2.0).document()["rows"]
    found = {(row["configuration"], row["basis"]): row["usd_per_gb"] for row in rows}
    assert found == {(name, BASES[i]): usd for name, line in PRINTED.items() for i, usd in enumerate(line)}


def test_every_row_has_a_band_around_it(ledger: Ledger) -> None:
    for row in table1(ledger, 2.0).document()["rows"]:
        assert row["low"] == pytest.approx(row["usd_per_gb_exact"] / 2)
        assert row["high"] == pytest.approx(row["usd_per_gb_exact"] * 2)


def test_the_table_says_where_each_ingredient_comes_from(ledger: Ledger) -> None:
    found = table1(ledger, 2.0).document()
    assert {price["item"]: price["usd"] for price in found["prices"]} == {
        "pmem100-128g": 546.75,
        "p4800x-375g": 999.0,
        "ddr4-32g": 192.99,
        "xeon-6242r": 2517.0,
    }
    assert all("CIDR 2022" in price["source"] for price in found["prices"])
    assert all(fact["source"] and fact["provenance"] for fact in found["inputs"])


@pytest.mark.parametrize(("amount", "rounded"), [("1.005", "1.01"), ("1.004", "1.00"), ("2.675", "2.68")])
def test_half_a_cent_is_rounded_up(amount: str, rounded: str) -> None:
    assert cents(Decimal(amount)) == Decimal(rounded)


@given(storage=money, dram=money, cpu=money, used=some.decimals(0, 40, places=2))
def test_hardware_costs_between_none_and_all_of_the_processor(
    storage: Decimal, dram: Decimal, cpu: Decimal, used: Decimal
) -> None:
    found = hardware_usd(storage, dram, cpu, used, Decimal(40))
    assert storage + dram <= found <= storage + dram + cpu


def test_r_is_what_the_formula_says(ledger: Ledger) -> None:
    found = ratio(ledger, MACHINE, Load(1e6, "operations/s", 20, 0.8), 2.0).document()
    assert found["r"] == pytest.approx(1e6 / (3280.5 + 1157.94 + 20 * 0.8 * 2517 / 40))
    assert found["cpu_usd"] == pytest.approx(1006.8)


@given(some.floats(0, 1), some.floats(1, 40))
def test_r_falls_as_more_of_the_processor_is_used(utilisation: float, threads: float) -> None:
    from assay.price.book import open_book

    book = open_book()
    idle = ratio(Ledger(book), MACHINE, Load(1e6, "operations/s", threads, 0.0), 2.0).figures["r"]
    busy = ratio(Ledger(book), MACHINE, Load(1e6, "operations/s", threads, utilisation), 2.0).figures["r"]
    assert busy <= idle


@pytest.mark.parametrize(
    "load",
    [
        Load(1e6, "x", 20, 1.1),
        Load(1e6, "x", 20, -0.1),
        Load(1e6, "x", 20, float("nan")),
        Load(0, "x", 20, 0.5),
        Load(1e6, "x", 0, 0.5),
    ],
)
def test_a_load_that_cannot_be_is_refused(ledger: Ledger, load: Load) -> None:
    with pytest.raises(PriceError):
        ratio(ledger, MACHINE, load, 2.0)


@pytest.mark.parametrize("text", ["", "*3", "x*", "x*0", "x*-1", "x*1.5"])
def test_a_number_of_parts_that_cannot_be_is_refused(text: str) -> None:
    with pytest.raises(PriceError):
        parse(text)


def figure(value: float) -> dict[str, Any]:
    return {"value": value, "unit": "s", "provenance": "measured", "method": "rusage"}


def record(**changes: Any) -> dict[str, Any]:
    cpu = {"user_s": figure(3.0), "kernel_s": figure(4.0), "helper_s": figure(2.0), "wait_s": figure(1.0)}
    result = {"name": "scan", "ops_rate": figure(5000.0), "bandwidth": figure(2e7), "cpu": cpu}
    return {
        "version": 1,
        "run": {"id": "r1"},
        "job": {"classes": [{"name": "scan", "threads": 4}]},
        "classes": [result],
        "window": {"measured_s": 10.0},
        "verdict": {"status": "valid", "reasons": []},
    } | changes


def stored(folder: Path, document: Any) -> Path:
    (folder / "records").mkdir()
    (folder / "records" / "c-r1.json").write_text(json.dumps(document))
    return folder


def test_a_record_gives_throughput_threads_and_utilisation(tmp_path: Path) -> None:
    load = load_of(stored(tmp_path, record()), "c-r1", "ops")
    assert (load.throughput, load.threads, load.provenance) == (5000.0, 4, "measured")
    assert load.utilisation == pytest.approx((3 + 4 + 2 - 1) / (10 * 4))


def test_a_record_without_cpu_is_refused_because_u_is_missing(tmp_path: Path) -> None:
    broken = record()
    broken["classes"][0]["cpu"] = {}
    with pytest.raises(PriceError, match="utilisation U of the worker threads is missing"):
        load_of(stored(tmp_path, broken), "c-r1", "ops")


@pytest.mark.parametrize(
    ("document", "sentence"),
    [
        (record(version=7), "has version 7, this is 1"),
        (record(verdict={"status": "invalid", "reasons": [{"code": "page-cache-served"}]}), "page-cache-served"),
        ({"version": 1}, "is no whole record"),
        ([], "is no whole record"),
    ],
)
def test_a_record_that_no_price_can_stand_on_is_a_sentence(tmp_path: Path, document: Any, sentence: str) -> None:
    with pytest.raises(PriceError, match=sentence):
        load_of(stored(tmp_path, document), "c-r1", "ops")


def test_a_folder_that_was_cut_short_is_a_sentence(tmp_path: Path) -> None:
    with pytest.raises(PriceError, match="holds no records") as found:
        load_of(tmp_path, "c-r1", "ops")
    assert "--resume" in found.value.hint


def test_a_suspect_record_warns(tmp_path: Path) -> None:
    load = load_of(stored(tmp_path, record(verdict={"status": "suspect", "reasons": []})), "c-r1", "ops")
    assert "suspect" in load.warnings[0]
