"""Every rule: advises where records show a gain, says so where they show none, and is silent without evidence."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
from assay import advise
from assay.advise import Advice
from assay.advise.rules import RULES
from report.synthetic.record import Shape, asked

from advise.folders import Bench, append, mixed, read, scan


def judged(directory: Path, rule: str) -> Advice:
    return next(one for one in advise.of_folder(directory) if one.rule == rule)


@pytest.fixture
def bench(tmp_path: Path) -> Bench:
    return Bench(tmp_path / "results")


def test_every_rule_says_all_that_it_has_to() -> None:
    assert len({rule.id for rule in RULES}) == len(RULES) >= 12
    for rule in RULES:
        assert all((rule.title, rule.source, rule.costs, rule.check, rule.wants)), rule.id


def test_no_evidence_no_advice(bench: Bench) -> None:
    bench.add(append(900), "one-thing")
    found = advise.of_folder(bench.done())
    assert {one.outcome for one in found} == {"no evidence"}
    assert all(not one.records and one.gain is None for one in found)


@pytest.mark.parametrize(("recycled", "outcome"), [(3000, "advised"), (1000, "no gain here"), (1060, "depends")])
def test_recycled_logs(bench: Bench, recycled: float, outcome: str) -> None:
    cells = [bench.add(append(1000), "logs", layout="grow"), bench.add(append(recycled), "logs")]
    found = judged(bench.done(), "recycle-logs")
    assert found.gain is not None
    assert found.gain.ratio == pytest.approx(recycled / 1000, rel=0.05)
    assert found.gain.low <= found.gain.ratio <= found.gain.high
    assert set(found.records) == set(cells)
    if recycled == 1000:
        assert found.outcome in ("no gain here", "depends")
    elif recycled == 3000:
        assert found.outcome == outcome


def test_an_invalid_record_is_no_evidence(bench: Bench) -> None:
    bench.add(append(1000), "logs", layout="grow", status="invalid")
    bench.add(append(5000), "logs")
    assert judged(bench.done(), "recycle-logs").outcome == "no evidence"


def test_a_suspect_record_is_named(bench: Bench) -> None:
    bench.add(append(1000), "logs", layout="grow", status="suspect")
    bench.add(append(5000), "logs")
    found = judged(bench.done(), "recycle-logs")
    assert found.gain is not None
    assert found.gain.status == "suspect"


def test_appends_of_different_sizes_are_not_compared(bench: Bench) -> None:
    bench.add(append(1000, 128), "logs", layout="grow")
    bench.add(append(9000, 8192), "logs")
    assert judged(bench.done(), "recycle-logs").outcome == "no evidence"


def test_mappings_against_calls(bench: Bench) -> None:
    bench.add(mixed(100, "mmap", "msync"), "pages")
    bench.add(mixed(5000, "pread", "fdatasync"), "pages")
    found = judged(bench.done(), "no-mmap-msync")
    assert found.outcome == "advised"
    assert found.trial is not None
    assert "mmap + msync" in found.trial.command("/srv")


def test_scans_by_direct_and_asynchronous_calls(bench: Bench) -> None:
    bench.add(scan(5000, "pread"), "scans", cache="cold")
    bench.add(scan(40000, "io_uring+direct", 32), "scans")
    found = judged(bench.done(), "scan-direct-async")
    assert found.outcome == "advised"
    assert found.gain is not None
    assert found.gain.ratio == pytest.approx(8, rel=0.05)


def test_reads_in_flight_name_the_knee(bench: Bench) -> None:
    for depth, rate in ((1, 10_000), (4, 38_000), (16, 98_000), (64, 100_000)):
        bench.add(read(rate, depth=depth), "depth")
    found = judged(bench.done(), "reads-in-flight")
    assert found.outcome == "advised"
    assert "16 in flight are enough" in found.says


def test_page_size_is_a_trade_and_never_advised_outright(bench: Bench) -> None:
    for size, rate in ((4096, 10_000), (16384, 9000), (65536, 5000)):
        bench.add(read(rate, size), "sizes")
    found = judged(bench.done(), "page-size")
    assert found.outcome == "depends"
    assert "64 KiB" in found.says


def test_file_systems(bench: Bench) -> None:
    bench.add(read(9000), "systems", system="ext4")
    bench.add(read(18_000), "systems", system="xfs")
    found = judged(bench.done(), "file-system")
    assert found.outcome == "advised"
    assert found.says.startswith("xfs was fastest")


def test_stripes_depend_on_what_is_in_flight(bench: Bench) -> None:
    for depth, rates in ((1, (10_000, 10_100)), (64, (90_000, 300_000))):
        for drives, rate in zip((1, 4), rates, strict=True):
            bench.add(read(rate, depth=depth), "stripe", drives=drives)
    assert judged(bench.done(), "stripe").outcome == "depends"


def test_flushes_beside_scans(bench: Bench) -> None:
    for durability, rate in (("fdatasync", 2000), ("none", 6000)):
        wal = asked(
            "wal", operation={"kind": "write"}, pattern={"kind": "sequential"}, size=16384,
            durability={"kind": durability, "every": 1},
            arrivals={"kind": "fixed", "rate_per_s": 100.0, "scope": "total"},
        )  # fmt: skip
        bench.add([scan(rate, "pread"), Shape("wal", 100, 1e6, wal)], "ladder")
    found = judged(bench.done(), "flush-off-path")
    assert found.outcome == "advised"
    assert "power-loss protection" in found.costs


def test_threads_on_persistent_memory(bench: Bench) -> None:
    for threads, rate in ((1, 1e6), (4, 3e6), (32, 1.2e6)):
        wanted = asked(
            "w", path={"kind": "pmem", "direct": False}, operation={"kind": "write"}, size=4096, threads=threads
        )
        bench.add(Shape("w", rate, threads * 1e9 / rate, wanted), "threads", provenance="modelled")
    found = judged(bench.done(), "cap-threads")
    assert found.outcome == "advised"
    assert found.says.startswith("4 threads")


def test_small_nodes_on_persistent_memory(bench: Bench) -> None:
    for size, latency in ((512, 500), (8192, 2600)):
        wanted = asked("load", path={"kind": "pmem", "direct": False}, size=size)
        bench.add(Shape("load", 1e9 / latency, latency, wanted, tail=0.01), "sizes", provenance="modelled")
    found = judged(bench.done(), "small-pages-dax")
    assert found.gain is not None
    assert found.gain.ratio == pytest.approx(2600 * 5 / (500 * 10), rel=0.1)


def test_hot_pages(bench: Bench) -> None:
    bench.add(read(600_000, 8192, path="pread"), "cache", cache="warm")
    bench.add(read(12_000, 8192, path="pread+direct"), "cache")
    found = judged(bench.done(), "hot-in-dram")
    assert found.outcome == "advised"
    assert "assay cost break-even --in DIR --page 8KiB" in found.says


def test_the_bottleneck_is_named(bench: Bench) -> None:
    bench.add(read(10_000, depth=32, path="libaio+direct"), "depth")
    bench.add(read(100_000, depth=32), "depth")
    found = judged(bench.done(), "bottleneck")
    assert "libaio direct uses 10 % of what the device gave when asked the same" in found.says.replace("\u00a0", " ")


def test_work_records_alone_are_enough(tmp_path: Path) -> None:
    bench = Bench(tmp_path / "results")
    for rate in (400.0, 420.0):
        bench.work("database", "sqlite", "tpcc", rate)
        bench.work("database", "sqlite", "tpcc", rate * 1.02, medium="memory")
    for name, rate in (("fptree", 2e6), ("bztree", 1e6)):
        for factor in (1.0, 1.02):
            bench.work("index", name, "ycsb-b", rate * factor, medium="memory")
    for folder in (bench.directory / "records",):
        folder.rmdir()
    assert judged(bench.directory, "faster-storage").outcome == "undecided"
    index = judged(bench.directory, "index")
    assert index.outcome == "advised"
    assert index.says.startswith("fptree")
    assert all(record.startswith("work-") for record in index.records)
    told = judged(bench.directory, "bottleneck")
    assert told.says.startswith("sqlite with tpcc keeps")
    assert [len(one.records) for one in told.evidence] == [1], "records on memory say nothing about a drive"


@pytest.mark.parametrize(
    ("cpu", "drive", "flushes", "cause"),
    [
        (1.9, 0.3, 10, "the CPU is the limit"),
        (0.2, 0.95, 10, "the drive is busy all the time"),
        (0.2, 0.3, 800, "flushes (1 for each transaction)"),
        (0.2, 0.3, 10, "one request after the other"),
    ],
)
def test_what_a_database_waits_for(tmp_path: Path, cpu: float, drive: float, flushes: int, cause: str) -> None:
    bench = Bench(tmp_path / "results")
    name = bench.work("database", "postgres", "tpcc", 400.0, cpu={"user_s": 2 * cpu}).removeprefix("work-")
    path = bench.directory / "work" / f"{name}.json"
    record = json.loads(path.read_text())
    record["environment"]["cpu"]["usable"] = 2
    figures = {"utilisation": drive, "flushes": flushes, "read_bytes": 0, "written_bytes": 5e6}
    record["devices"] = [{"device": "sda"} | {name: {"value": value} for name, value in figures.items()}]
    path.write_text(json.dumps(record))
    assert cause in judged(bench.done(), "bottleneck").says


def test_one_busy_thread_on_two_cpus_is_no_drive_that_waits(tmp_path: Path) -> None:
    """An index whose pages were all in memory was told to have more requests in flight."""
    bench = Bench(tmp_path / "results")
    given: dict[str, Any] = {"cpu": {"user_s": 1.95}, "parameters": {"threads": 1}}
    name = bench.work("index", "ssd-btree", "lookup", 4e6, **given).removeprefix("work-")
    path = bench.directory / "work" / f"{name}.json"
    record = json.loads(path.read_text())
    record["environment"]["cpu"]["usable"] = 2
    path.write_text(json.dumps(record))
    assert "its thread is busy all the time" in judged(bench.done(), "bottleneck").says


def test_indexes_race_only_where_keys_are_picked_alike(tmp_path: Path) -> None:
    """Uniform and skewed lookups were once put together, and nobody could tell two lines of one workload apart."""
    bench = Bench(tmp_path / "results")
    for law, rates in (("uniform", (4e6, 2e6)), ("zipf 0.99", (2e6, 3e6))):
        for index, rate in zip(("dash-eh", "fptree"), rates, strict=True):
            asked = {"threads": 1, "keys": 1000, "distribution": law}
            bench.work("index", index, "lookup", rate, medium="memory", parameters=asked)
    found = judged(bench.done(), "index")
    assert found.says.startswith(
        "dash-eh is ahead in lookup of uniform keys; fptree is ahead in lookup of zipf 0.99 keys."
    )
    texts = [one.text for one in found.evidence]
    assert texts[0].startswith("lookup, keys 1000, threads 1, distribution uniform on /memory, operations/s: dash-eh 4")
    assert texts[1].startswith(
        "lookup, keys 1000, threads 1, distribution zipf 0.99 on /memory, operations/s: fptree 3"
    )


def test_works_of_other_sizes_are_not_compared(tmp_path: Path) -> None:
    bench = Bench(tmp_path / "results")
    bench.work("database", "sqlite", "tpcc", 400, parameters={"warehouses": 2})
    bench.work("database", "sqlite", "tpcc", 900, medium="memory", parameters={"warehouses": 1})
    assert judged(bench.done(), "faster-storage").outcome == "no evidence"
