"""What records say that a system does, as an order and as R."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
from advise.folders import Bench, append, read
from assay.cli.cost.session import order_of
from assay.error import AssayError
from assay.price.curve import of_records, usable_iops
from assay.price.error import PriceError
from assay.price.ledger import Ledger
from assay.price.ownership import total
from assay.price.record import load_of
from assay.price.seen import seen

PARTS = ["p4800x-375g*2"]


def bench(tmp_path: Path, **more: Any) -> tuple[Path, str]:
    """A folder with one work record that wrote 3 GB in two seconds."""
    made = Bench(tmp_path)
    name = made.work("database", "postgres", "tpcc", 500.0, **more).removeprefix("work-")
    path = tmp_path / "work" / f"{name}.json"
    record = json.loads(path.read_text())
    record["devices"] = [{"device": "sda", "written_bytes": {"value": 3e9, "unit": "bytes"}}]
    path.write_text(json.dumps(record))
    return made.done(), name


def test_a_work_record_says_transactions_and_wear(ledger: Ledger, tmp_path: Path) -> None:
    directory, name = bench(tmp_path)
    found = seen(directory, name)
    settings = ["months=12", "endurance.write_amplification=2", "endurance.hours_per_day=6"]
    order = order_of(None, PARTS, settings, found.order())
    figures = total(ledger, order, 2.0, found).figures
    assert figures["record"]["transactions_per_s"] == 500.0
    assert figures["usd_per_transaction"] == pytest.approx(figures["usd"] / (500 * 730 * 3600 * 12))
    per_day = 1.5e9 * 86400 / 4 * 2
    assert figures["endurance"][0]["wear_months"] == pytest.approx(2 * 2.053125e16 / (per_day * 730 / 24))
    assert not any("write amplification" in warning for warning in ledger.warnings)


def test_what_a_record_does_not_know_is_said(ledger: Ledger, tmp_path: Path) -> None:
    directory, name = bench(tmp_path, medium="memory", status="suspect")
    found = seen(directory, name)
    total(ledger, order_of(None, PARTS, [], found.order()), 2.0, found)
    said = " ".join(ledger.warnings)
    for words in ("is suspect", "not taken on a drive", "write amplification 1 is taken", "all day"):
        assert words in said
    assert ledger.document()["inputs"][0]["provenance"] == "emulated"


def test_what_the_user_gives_wins_over_the_record(tmp_path: Path) -> None:
    directory, name = bench(tmp_path)
    order = order_of(None, PARTS, ["work.transactions_per_s=9"], seen(directory, name).order())
    assert order.work.transactions_per_s == 9
    assert order.endurance is not None
    assert order.endurance.written_per_day == pytest.approx(1.5e9 * 86400)


def test_r_of_a_work_record(tmp_path: Path) -> None:
    directory, name = bench(tmp_path)
    load = load_of(directory, name, "ops")
    cpus = json.loads((directory / "work" / f"{name}.json").read_text())["environment"]["cpu"]["usable"]
    assert (load.throughput, load.unit, load.threads) == (500.0, "transactions/s", cpus)
    assert load.utilisation == pytest.approx(min(1.0, 1.5 / (2.0 * cpus)))
    with pytest.raises(PriceError, match="is a record of work"):
        load_of(directory, name, "bandwidth")


def test_a_cell_says_rates_too(tmp_path: Path) -> None:
    made = Bench(tmp_path)
    cell = made.add(append(2000.0), "log")
    found = seen(made.done(), cell)
    assert found.rates["iops"] == pytest.approx(2000, rel=0.1)
    assert found.rates["bandwidth"] == pytest.approx(2000 * 8192, rel=0.1)


@pytest.mark.parametrize(
    ("change", "sentence"),
    [
        ({"status": "invalid"}, "is invalid"),
        ({"version": 9}, "has version 9"),
        ({"parts": None}, "no valid parts"),
        ({"figures": {}}, "has no rate"),
    ],
)
def test_a_record_that_cannot_be_priced_is_a_sentence(tmp_path: Path, change: dict[str, Any], sentence: str) -> None:
    directory, name = bench(tmp_path, **{key: change[key] for key in change if key == "status"})
    path = directory / "work" / f"{name}.json"
    path.write_text(json.dumps(json.loads(path.read_text()) | {k: v for k, v in change.items() if k != "status"}))
    with pytest.raises(PriceError, match=sentence):
        seen(directory, name)


def test_a_record_that_was_cut_short_and_one_that_is_not_there(tmp_path: Path) -> None:
    directory, name = bench(tmp_path)
    (directory / "work" / f"{name}.json").write_text('{"version": 1, "kind"')
    with pytest.raises(AssayError, match="cannot be read"):
        seen(directory, name)
    with pytest.raises(PriceError, match="there is no record of `nope`") as found:
        seen(directory, "nope")
    assert name in (found.value.hint or "")


def test_random_reads_of_a_folder_are_a_curve(tmp_path: Path) -> None:
    made = Bench(tmp_path)
    for depth, rate in ((1, 10_000.0), (16, 80_000.0), (64, 100_000.0)):
        made.add(read(rate, depth=depth), "raw-depth")
    made.add(read(900_000.0, size=512), "raw-depth")
    curve = of_records(made.done(), 4096)
    assert curve.provenance == "measured"
    assert sorted(round(point.iops, -3) for point in curve.points) == pytest.approx([10e3, 80e3, 100e3], rel=0.1)
    assert usable_iops(curve.points, 300e-6).iops == pytest.approx(80e3, rel=0.1)
    with pytest.raises(PriceError, match="has no random reads of 65536 B"):
        of_records(tmp_path, 65536)


def test_settings_reach_into_tables_of_the_file(tmp_path: Path) -> None:
    file = tmp_path / "o.toml"
    file.write_text('months = 12\n[[parts]]\nitem = "p4800x-375g"\n[work]\niops = 5\nbandwidth = "1GB"\n')
    order = order_of(file, ["ddr4-32g*6"], ["work.iops=7"])
    assert (order.work.iops, order.work.bandwidth, len(order.parts)) == (7, 1e9, 2)
    file.write_text(file.read_text().replace("iops = 5", 'iops = "x"'))
    with pytest.raises(PriceError, match=r"line 5, work\.iops"):
        order_of(file, [], [])
