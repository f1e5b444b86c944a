"""Twins from published latencies under load: curve, bands, and what they say of rates that the fit did not see."""

from __future__ import annotations

import csv
import io
import itertools
import math
import statistics
from pathlib import Path

import pytest
from assay import home
from assay.binary import Binary
from assay.error import AssayError
from assay.target import catalog
from assay.twin import fit_load, load_file, point_table, under_load
from assay.twin.predict import Point, predict

TABLE = home.catalog() / "published" / "ssd-under-load.csv"
DRIVES = ("PE8110", "P5520", "CM7-R", "PM9A3")


@pytest.mark.parametrize("drive", DRIVES)
def test_reads_of_rates_that_were_left_out_lie_on_the_curve(drive: str) -> None:
    """Every second rate is fitted; of the others below the knee p50 is near, and p99 nearer."""
    _, rows = load_file.read(TABLE, drive)
    found = under_load.fit([*rows[::2], *[row for row in rows if not row.reaches][:1]])
    misses: dict[float, list[float]] = {0.5: [], 0.01: []}
    for row in rows[1::2]:
        share = row.reached / found.writes_per_s
        if share < 0.9:
            for rare, miss in misses.items():
                miss.append(abs(under_load.read_ns(found, share, rare) / row.read_ns[rare] - 1))
    assert statistics.median(misses[0.5]) < 0.15, misses
    assert statistics.median(misses[0.01]) < 0.1, misses
    assert max(misses[0.01]) < 0.3, misses


@pytest.mark.parametrize("drive", DRIVES)
def test_a_twin_of_a_table_reaches_what_the_drive_reached(drive: str, assayer: object) -> None:
    assert assayer
    twin = fit_load.fit_table(TABLE, drive, "", {}, "", Binary.find())
    _, fitted = fit_load.check(twin, TABLE, drive, Binary.find())
    writes = [row for row in fitted if row.figure == "writes/s"]
    reads = [abs(row.error) for row in fitted if row.figure == "read p99" and row.asked < 60000]
    assert all(abs(row.error) < 0.1 for row in writes), writes
    assert statistics.median(reads) < 0.15, reads


def test_rates_that_were_fitted_are_kept_apart_from_others(assayer: object) -> None:
    assert assayer
    twin = fit_load.fit_table(TABLE, "PM9A3", "10000,50000,100000", {"capacity_bytes": 960e9}, "own", Binary.find())
    assert fit_load.fitted_rates(twin) == {10000, 50000, 100000}
    others, fitted = fit_load.check(twin, TABLE, "PM9A3", Binary.find())
    assert {row.asked for row in fitted} == {10000, 50000, 100000}
    assert len(others) == 7 * 15
    assert statistics.median(abs(row.error) for row in others) < 0.1


def test_bands_are_wide_where_nothing_is_left_to_tell() -> None:
    _, rows = load_file.read(TABLE, "PE8110")
    few, _ = fit_load.conformal(rows[:2])
    many, told = fit_load.conformal(rows)
    assert few["tail"] > many["tail"]
    assert few["bandwidth"] > many["bandwidth"]
    assert "left out" in told


def test_the_curve_falls() -> None:
    _, rows = load_file.read(TABLE, "CM7-R")
    found = under_load.fit(rows)
    seen = [under_load.read_ns(found, 0.3, rare) for rare in (0.9, 0.5, 0.1, 0.01, 0.001)]
    assert all(low <= high * 1.0001 for low, high in itertools.pairwise(seen))
    assert math.isfinite(seen[-1])


@pytest.mark.parametrize(
    ("drive", "rows", "said"),
    [("none of them", "", "holds no drive"), ("p", "", "several drives"), ("PM9A3", "12345", "no row asks")],
)
def test_what_a_table_does_not_hold_is_refused(drive: str, rows: str, said: str) -> None:
    with pytest.raises(AssayError, match=said):
        load_file.chosen(load_file.read(TABLE, drive)[1], rows)


def test_another_table_is_refused(tmp_path: Path) -> None:
    other = tmp_path / "other.csv"
    other.write_text("a,b\n1,2\n")
    with pytest.raises(AssayError, match="no table of latencies under load"):
        load_file.read(other, "")


def test_many_points_are_answered_as_one_by_one(assayer: object, tmp_path: Path) -> None:
    assert assayer
    table = tmp_path / "points.csv"
    table.write_text("on,op,size,depth,path\ntwin:p4610,read,4KiB,16,libaio\ntwin:p4610,read,4KiB,8,pread\n,write,,,\n")
    first, refused, common = point_table.answered(table, Point("twin:p5800x"))
    assert first["ops_per_s"] == predict(Point("twin:p4610", depth=16, path="libaio"))["iops"]
    assert "blocks" in refused["refused"]
    assert refused["ops_per_s"] == ""
    assert common["ops_per_s"] == predict(Point("twin:p5800x", "write"))["iops"]
    out = io.StringIO()
    csv.DictWriter(out, list(first)).writerows([first, refused, common])
    assert out.getvalue().count("\n") == 3


def test_a_bare_path_goes_through_the_page_cache_as_in_a_run(assayer: object) -> None:
    assert assayer
    bare, named = (predict(Point("twin:p4610", path=path)) for path in ("pread", "pread+buffered"))
    assert bare["iops"] == named["iops"]
    with pytest.raises(AssayError, match="one operation in flight"):
        predict(Point("twin:p4610", path="pread", depth=8))


def test_a_mixed_load_through_the_page_cache_keeps_littles_law(assayer: object) -> None:
    """It once answered 2.28 s for 64 threads where in flight over rate is 9.4 ms."""
    assert assayer
    point = Point(
        "twin:i8g-12xlarge", size_bytes=1 << 20, threads=64, read_percent=70, path="pread+buffered", file_system="xfs"
    )
    found = predict(point)
    assert found["latency_ns"]["mean"] == pytest.approx(64 / found["iops"] * 1e9, rel=0.01)


def test_twins_of_measured_drives_stand_in_the_catalog() -> None:
    for name in ("pe8110-960g", "p5520-1.92t", "cm7-r-3.84t", "7450-pro-960g", "pm9a3-960g"):
        assert catalog.twin(name)["device"]["under_load"]["rows"]
