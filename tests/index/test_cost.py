"""Performance per dollar of index runs, and node sizes."""

from __future__ import annotations

import json
import re
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from assay.error import AssayError
from assay.index.cost import STUDIED, cost, measured, predicted
from assay.index.nodes import SIZES, Tree, best, on_twin
from assay.index.seen import PointFigures, seen, with_pool
from assay.price.book import open_book
from assay.price.ledger import Ledger


def _record(
    index: str, run: str, rate: float, figures: dict[str, float] | None = None, settings: dict[str, Any] | None = None
) -> dict[str, Any]:
    usual = {
        "ops_per_s": rate,
        "cpu_utilisation": 0.5,
        "cpu_ns_per_op": 200.0,
        "blocks_read_per_op": 2.0,
        "blocks_written_per_op": 0.0,
    }
    return {
        "version": 1,
        "kind": "index",
        "run": {"id": run, "started_at": "2026-01-01T00:00:00Z"},
        "subject": {"name": index, "settings": settings or {}},
        "workload": {"name": "lookup", "parameters": {"threads": 2}},
        "targets": [{"role": "data", "target": "/dev/shm", "emulated": True}],
        "verdict": {"status": "valid", "reasons": []},
        "figures": {name: {"value": value} for name, value in (figures or usual).items()},
    }


def _folder(tmp_path: Path, *records: dict[str, Any]) -> Path:
    (tmp_path / "work").mkdir()
    for record in records:
        (tmp_path / "work" / f"{record['run']['id']}.json").write_text(json.dumps(record))
    return tmp_path


def _ledger() -> Ledger:
    return Ledger(open_book(None, "2026-01-01"))


def test_r_is_the_equation_of_the_study(tmp_path: Path) -> None:
    directory = _folder(tmp_path, _record("dash-eh", "a", 1e6))
    rows = cost(_ledger(), [directory], [6], 2.0).figures["rows"]
    one = next(row for row in rows if row["provenance"] == "emulated" and row["storage"] == "pmem100-128g")
    assert one["usd"] == pytest.approx(546.75 + 1157.94 + 2 * 0.5 * 2517 / 40, abs=0.01)
    assert one["r"] == pytest.approx(1e6 / one["usd"])
    assert one["price_band"]["low"] < one["r"] < one["price_band"]["high"]


def test_repeats_span_and_single_runs_are_never_ahead(tmp_path: Path) -> None:
    directory = _folder(
        tmp_path, _record("dash-eh", "a", 1e6), _record("dash-eh", "b", 1.2e6), _record("fptree", "c", 1e5)
    )
    runs = {run.index: run for run in seen(directory)}
    assert (measured(runs["dash-eh"]).low, measured(runs["dash-eh"]).high) == (1e6, 1.2e6)
    lines = cost(_ledger(), [directory], [6], 2.0).lines
    assert any("dash-eh" in line and "not shown to be ahead of fptree" in line for line in lines)


def test_runs_that_differ_in_more_than_chance_are_no_repeats(tmp_path: Path) -> None:
    """Lookups of uniform and of skewed keys were once taken for repeats of each other, and averaged."""
    records = []
    asked: dict[str, dict[str, Any]] = {
        "uniform": {"distribution": "uniform"},
        "skewed": {"distribution": "zipf 0.99"},
        "more": {"distribution": "uniform", "keys": 5000},
        "long": {"distribution": "uniform", "key_bytes": [8, 64]},
    }
    for name, given in asked.items():
        record = _record("dash-eh", name, 1e6)
        record["workload"]["parameters"] |= {"keys": 1000, "key_bytes": [8, 8]} | given
        records.append(record)
    records.append(_record("dash-eh", "delayed", 5e5, None, {"as_if": {"twin": "twin:pmem100-128g"}}))
    records[-1]["workload"]["parameters"] |= {"keys": 1000, "key_bytes": [8, 8], "distribution": "uniform"}
    found = {run.workload: run for run in seen(_folder(tmp_path, *records))}
    assert all(len(run.rates) == 1 for run in found.values())
    assert set(found) == {
        "lookup uniform, keys 1000, key bytes 8, as if on this machine",
        "lookup zipf 0.99, keys 1000, key bytes 8, as if on this machine",
        "lookup uniform, keys 5000, key bytes 8, as if on this machine",
        "lookup uniform, keys 1000, key bytes 8-64, as if on this machine",
        "lookup uniform, keys 1000, key bytes 8, as if on twin:pmem100-128g",
    }
    (tmp_path / "alike").mkdir()
    (alike,) = seen(_folder(tmp_path / "alike", records[0]))
    assert alike.workload == "lookup uniform", "what all runs have in common is not said"


def test_the_answer_names_the_winner_its_sizes_of_dram_and_its_spread(tmp_path: Path) -> None:
    usual = {"cpu_utilisation": 1.0, "blocks_read_per_op": 2.0, "blocks_written_per_op": 0.0}
    records = [
        _record(index, f"{index}-{turn}", rate, {**usual, "ops_per_s": rate, "cpu_ns_per_op": 2e9 / rate})
        for index, rates in (("dash-eh", (4e6, 4.2e6)), ("fptree", (1e6, 1.1e6)))
        for turn, rate in enumerate(rates)
    ]
    answer = cost(_ledger(), [_folder(tmp_path, *records)], [1, 6], 2.0)
    emulated = [line for line in answer.lines if "(emulated)" in line]
    assert len(emulated) == 1, "one winner at both sizes: one sentence"
    assert "2 threads (emulated), with 32 and 192 GB of DRAM: dash-eh on pmem100-128g has most" in emulated[0]
    row = next(row for row in answer.figures["rows"] if row["dram_gb"] == 32 and row["provenance"] == "emulated")
    said = f"{row['r']:,.0f} ({row['r_low']:,.0f} to {row['r_high']:,.0f}) ops/s per USD at 32 GB, ahead of fptree"
    assert said in emulated[0]
    assert not any("once" in line or "other work" in line for line in answer.lines)
    tabled = [line for line in answer.table[1:] if line[2] == "emulated"]
    assert len(tabled) == 4, "each index where it gives most, for each size"


def test_what_keeps_the_answer_from_being_better_is_said(tmp_path: Path) -> None:
    lines = cost(_ledger(), [_folder(tmp_path, _record("dash-eh", "a", 1e6))], [6], 2.0).lines
    assert any("--seed 2" in line for line in lines)
    assert any("1 of 1 runs had less than 90% of their CPUs" in line for line in lines)


def test_repeats_widen_what_is_modelled(tmp_path: Path) -> None:
    usual = {"ops_per_s": 1e6, "cpu_utilisation": 1.0, "blocks_read_per_op": 0.0, "blocks_written_per_op": 0.0}
    records = [_record("dash-eh", str(cpu), 1e6, {**usual, "cpu_ns_per_op": cpu}) for cpu in (200.0, 300.0)]
    (run,) = seen(_folder(tmp_path, *records))
    reached = predicted(run, "twin:pmem100-128g")
    assert (reached.low, reached.rate, reached.high) == pytest.approx((2e9 / 300, 2e9 / 250, 2e9 / 200))


def test_slower_modules_take_longer_and_the_wait_is_cpu_time(tmp_path: Path) -> None:
    (run,) = seen(_folder(tmp_path, _record("dash-eh", "a", 1e6)))
    reached = [predicted(run, storage.twin) for storage in STUDIED if storage.in_memory]
    assert all(one.low <= one.rate <= one.high and one.utilisation == 1.0 for one in reached)
    assert all(one.rate < 2 * 1e9 / run.cpu_ns for one in reached)
    assert reached[0].rate <= reached[-1].rate * 1.001


def test_a_drive_is_waited_for_without_the_cpu() -> None:
    run = PointFigures("ssd-btree", "lookup", 4, False, (1e4,), 0.1, 2000.0, 1.0, 0.0, False)
    reached = predicted(run, "twin:p4800x")
    assert 1e5 < reached.rate < 5e5
    assert reached.utilisation == pytest.approx(reached.rate * 2000.0 / 1e9 / 4)


def test_lookups_that_wait_together_share_the_wait() -> None:
    alone = PointFigures("ssd-btree", "lookup", 1, False, (1e4,), 0.1, 2000.0, 1.0, 0.0, False)
    together = replace(alone, batch=32)
    assert predicted(together, "twin:p4800x").rate > 3 * predicted(alone, "twin:p4800x").rate
    bound = replace(together, cpu_ns=1e6)
    assert predicted(bound, "twin:p4800x").rate == pytest.approx(1e3, rel=0.1), (
        "then the CPU is what there is too little of"
    )


def test_a_pool_between_two_that_were_tried_is_taken_in_proportion() -> None:
    small = PointFigures("ssd-btree", "lookup", 1, False, (1e4,), 0.1, 3000.0, 0.8, 0.0, False, share=0.25)
    large = replace(small, cpu_ns=1000.0, reads=0.0, share=1.0)
    between = with_pool([large, small], 0.625)
    assert between is not None
    assert between.cpu_ns == pytest.approx(2000.0)
    assert between.reads == pytest.approx(0.4)
    assert with_pool([large, small], 0.2) is None, "nothing says what so small a pool would do"
    assert with_pool([small], 0.9) == small, "a larger pool is not worse"


def test_dram_is_the_pool_of_a_drive_and_data_must_fit(tmp_path: Path) -> None:
    drive = {"ops_per_s": 1e4, "cpu_utilisation": 0.1, "cpu_ns_per_op": 2e3, "writes_per_op": 0.0, "used_bytes": 1e6}
    records = [
        _record("ssd-btree", f"p{pool}", 1e4, {**drive, "reads_per_op": reads}, {"pool_bytes": pool, "io": "io_uring"})
        for pool, reads in ((100_000, 0.9), (1_000_000, 0.0))
    ]
    directory = _folder(tmp_path, _record("fptree", "a", 1e6), *records)
    rows = cost(_ledger(), [directory], [1, 6], 2.0, 192e9).figures["rows"]
    shares = {row["dram_gb"]: row["pool_share"] for row in rows if row["storage"].startswith("p4800x")}
    assert shares == {32: pytest.approx(1 / 6), 192: pytest.approx(1.0)}
    assert {row["storage"] for row in rows if row["index"] == "fptree"} == {"4 x pmem100-128g", "6 x pmem100-128g"}
    lines = cost(_ledger(), [directory], [1, 6], 2.0, 192e9).lines
    assert any("with 32 and 192 GB of DRAM: fptree on 4 x pmem100-128g has most" in line for line in lines), lines
    with pytest.raises(AssayError, match="no storage of the study"):
        cost(_ledger(), [directory], [1], 2.0, 1e13)


def test_a_run_that_counted_nothing_is_refused(tmp_path: Path) -> None:
    figures = {"ops_per_s": 1e6, "cpu_utilisation": 0.5, "cpu_ns_per_op": 200.0}
    with pytest.raises(AssayError, match="blocks_read_per_op"):
        seen(_folder(tmp_path, _record("dash-eh", "a", 1e6, figures)))


def test_a_folder_without_runs_is_refused(tmp_path: Path) -> None:
    with pytest.raises(AssayError, match="holds no run"):
        seen(tmp_path)


def test_depth_is_the_least_that_reaches_all_keys() -> None:
    tree = Tree(10**8)
    for size in (256, 512, 1024, 4096, 16384):
        fanout, depth = int((size - 32) / 16 * 0.69), tree.depth(size)
        assert fanout ** (depth - 1) < 10**8 <= fanout**depth
    with pytest.raises(AssayError, match="has room for"):
        Tree(100, entry_bytes=200).depth(256)


def test_small_nodes_suit_persistent_memory_and_large_ones_a_drive() -> None:
    memory = on_twin("twin:pmem100-512g*2", SIZES, Tree(10**8))
    drive = on_twin("twin:p4510", SIZES[1:], Tree(10**8))
    shortest = [min(rows, key=lambda row: float(row["lookup_ns"]))["node_bytes"] for rows in (memory, drive)]
    assert shortest[0] <= 2048 < shortest[1]
    assert "is best" in best(memory)
    assert re.search(
        r"16384 B is best, [0-9.]+ us for 3 nodes; 512 B takes [0-9.]+ and 8192 B takes [0-9.]+ times", best(drive)
    )
    assert re.search(r": 512 B takes [0-9.]+ us for 7 nodes\.$", best(drive[:1])), (
        "a single size is not the best of any"
    )


def _interrupted(index: str, run: str, figures: dict[str, float]) -> dict[str, Any]:
    record = _record(index, run, 1e6, figures)
    return record | {"verdict": {"status": "suspect", "reasons": [{"code": "interrupted", "severity": "suspect"}]}}


def test_an_interrupted_run_is_left_out_and_said(tmp_path: Path) -> None:
    """It has less than was asked for: of one that was still loading there are no rates at all."""
    loading, short = _interrupted("fptree", "b", {"load_s": 1.0}), _interrupted("fptree", "c", {"ops_per_s": 9e9})
    directory = _folder(tmp_path, _record("dash-eh", "a", 1e6), loading, short)
    answer = cost(_ledger(), [directory], [6], 2.0)
    assert {row["index"] for row in answer.figures["rows"]} == {"dash-eh"}
    assert [run.index for run in seen(directory)] == ["dash-eh"]
    (said,) = (line for line in answer.lines if "interrupted" in line)
    assert said.startswith("2 runs are left out, as interrupted: fptree under lookup, b, fptree under lookup, c.")


def test_a_folder_of_interrupted_runs_alone_names_them(tmp_path: Path) -> None:
    directory = _folder(tmp_path, _interrupted("fptree", "b", {}))
    with pytest.raises(AssayError, match=r"not invalid or interrupted \(fptree under lookup, b\)"):
        cost(_ledger(), [directory], [6], 2.0)
