"""The catalog as points: every one once, whole parts, the same answers as of one point, and going on after a kill."""

from __future__ import annotations

import json
import os
from collections.abc import Iterator
from pathlib import Path

import pytest
from assay.error import AssayError
from assay.executor import processes
from assay.executor.work import SerialExecutor, WorkExecutor
from assay.explore import part
from assay.explore.grid import Grid
from assay.explore.run import Exploration, run
from assay.results.store.query import run as ask
from assay.twin.predict import Point, predict

pytest.importorskip("dask")
pytestmark = pytest.mark.usefixtures("assayer")

TWINS = ("990pro", "ddr4-2666-32g")


@pytest.mark.parametrize("count", [1, 7, 1000, 40_000])
def test_a_sample_has_every_point_once_in_the_order_of_twins(count: int) -> None:
    grid = Grid(TWINS)
    points = [(members, point) for _, members, point in grid.sample(count, 0, count)]
    assert len(set(points)) == count
    half = count // 2
    parts = [*grid.sample(count, 0, half), *grid.sample(count, half, count)]
    assert [(members, point) for _, members, point in parts] == points


def test_a_large_sample_meets_every_value_of_every_axis() -> None:
    points = [(members, point) for _, members, point in Grid(TWINS).sample(40_000, 0, 40_000)]
    drive = [(members, point) for members, point in points if point.on.startswith("990pro")]
    assert {members for members, _ in points} == set(range(1, 25))
    assert len({point.path for _, point in drive}) == 8
    assert len({point.size_bytes for _, point in drive}) == 9
    assert len({point.read_percent for _, point in drive}) == 11
    assert {(point.threads, point.depth) for _, point in drive if point.path == "spdk"} >= {(1, 1), (128, 256)}


@pytest.fixture(scope="module")
def two() -> Iterator[WorkExecutor]:
    """Two processes."""
    with processes.started(2) as found:
        yield found


def test_points_are_what_predict_says_and_a_part_that_is_gone_is_made_again(tmp_path: Path, two: WorkExecutor) -> None:
    out = tmp_path / "out"
    said: list[str] = []
    found = run(Exploration(60, out, TWINS), two, said.append)
    assert found["points"] == 60
    assert found["efficiency"] > 0
    columns, rows = ask([out], "select * from points where refused = '' and twin = '990pro' order by all limit 3")
    assert rows
    for row in rows:
        one = dict(zip(columns, row, strict=True))
        on = one["twin"] if one["members"] == 1 else f"{one['twin']}*{one['members']}"
        point = Point(on, "read", one["sequential"], one["size_bytes"], one["threads"], one["depth"], path=one["path"],
                      read_percent=one["read_percent"])  # fmt: skip
        assert one["ops_per_s"] == pytest.approx(predict(point)["iops"])

    gone, kept = part.file(out, 1), part.file(out, 0)
    before = kept.stat().st_mtime_ns
    gone.unlink()
    (out / "points" / f".{gone.name}.{os.getpid()}").write_bytes(b"half of a part")
    assert run(Exploration(60, out, TWINS), two, said.append)["points"] == 4, "eight parts for each process"
    assert "14 of 15 parts are there already" in said
    assert kept.stat().st_mtime_ns == before
    assert ask([out], "select count(*), count(distinct result) from points")[1] == [(60, 1)]


def test_a_folder_of_another_sample_is_refused(tmp_path: Path) -> None:
    (tmp_path / "points").mkdir()
    (tmp_path / "explore.json").write_text(json.dumps({"version": 1, "points": 5}))
    with pytest.raises(AssayError, match="another sample"):
        run(Exploration(60, tmp_path, TWINS), SerialExecutor(), print)
    with pytest.raises(AssayError, match="there are"):
        run(Exploration(10**15, tmp_path, TWINS), SerialExecutor(), print)


def test_a_query_over_points_reaches_no_other_file(tmp_path: Path) -> None:
    run(Exploration(4, tmp_path / "out", TWINS), SerialExecutor(), lambda _: None)
    (tmp_path / "other.csv").write_text("a\n1\n")
    with pytest.raises(AssayError, match="the query failed"):
        ask([tmp_path / "out"], f"select * from read_csv('{tmp_path}/other.csv')")  # noqa: S608
