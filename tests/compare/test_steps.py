"""Folders of a series: what names each, where its level changes, and what is said of it."""

from __future__ import annotations

import json
import math
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from assay.compare import blocks, history, words
from assay.compare.change import FigureChange
from assay.compare.error import CompareError
from assay.compare.history import HistoryStep, Series
from assay.compare.pair import begun
from assay.results.group import Point

from compare.folders import Made, write
from compare.runs import raw, run

SHA = "0123456789abcdef0123456789abcdef01234567"


def steps(*values: float, provenance: str = "measured") -> list[HistoryStep]:
    points = [Point(value, (run(provenance=provenance),), "ops_rate") for value in values]
    return [HistoryStep(f"s{place}", Path(f"s{place}"), float(place), one) for place, one in enumerate(points)]


def series(count: int = 8, likeness: float = 0.0, **given: Any) -> Series:
    shown: dict[str, Any] = {"metric": "ops_rate", "steps": tuple(steps(*[1000.0] * count)), "changes": ()}
    return Series("threads 4", "scan", likeness=likeness, **(shown | given))


def moved(at: int, first: int, last: int, shift: float = math.log(1.2)) -> FigureChange:
    return FigureChange(at, first, last, shift, math.log(1.1), math.log(1.3), 0.002)


def test_a_change_lies_between_the_folder_before_the_first_place_and_the_last() -> None:
    one, early, late = moved(4, 3, 5), moved(1, 0, 1), moved(2, 1, 3)
    shown = series(changes=(one, early, late)).document()["changes"]
    assert [(each["before"], each["between"]) for each in shown] == [
        ("s4", ["s2", "s5"]), ("s1", ["s0", "s1"]), ("s2", ["s0", "s3"]),
    ]  # fmt: skip
    assert (shown[0]["ratio"], shown[0]["low"], shown[0]["high"]) == (
        pytest.approx(1.2), pytest.approx(1.1), pytest.approx(1.3),
    )  # fmt: skip
    said = [history._said(series(), each, words.change).partition("; ")[2] for each in (one, early, late)]
    assert said == [f"it lies between {x} and {y}." for x, y in (("s2", "s5"), ("s0", "s1"), ("s0", "s3"))]


@pytest.mark.parametrize(
    ("metric", "ratio", "word"),
    [("ops_rate", 1.2, "Better"), ("ops_rate", 1.001, "Better"), ("ops_rate", 0.8, "Worse"),
     ("ops_rate", 1.0, "Changed"), ("service_p99", 1.2, "Worse"), ("service_p99", 0.8, "Better"),
     ("service_p99", 1.0, "Changed")],
)  # fmt: skip
def test_a_change_is_better_or_worse_or_one_of_scatter_alone(metric: str, ratio: float, word: str) -> None:
    said = history._said(series(metric=metric), moved(4, 3, 5, math.log(ratio)), words.change)
    assert said.startswith(f"{word} from s4 on: {words.change(ratio)} (+10.0 % to +30.0 %), p = 0.002; ")


def test_what_a_series_says() -> None:
    none = ["No change beyond chance (5 %) over 8 folders."]
    assert history.sentences(series(1)) == ["1 folder; a change can be shown from 8 on."]
    assert history.sentences(series(7)) == ["7 folders; a change can be shown from 8 on."]
    assert history.sentences(series(8)) == none
    (change,) = history.sentences(series(changes=(moved(4, 3, 5),)))
    assert change.startswith("Better from s4 on: ")
    alike = (
        "Neighbouring folders are alike (correlation {}): the machine wanders, and a change may be no more than that."
    )
    # Two over the root of sixteen.
    assert len(history.sentences(series(16, 0.5))) == 1
    assert history.sentences(series(16, 0.51))[1] == alike.format("0.51")
    assert history.sentences(series(16, 0.74))[1] == alike.format("0.74")
    mixed = (*steps(*[1.0] * 7), *steps(1.0, provenance="modelled"))
    assert history.sentences(series(steps=mixed))[1].startswith("Not all points are measured: ")
    assert series(steps=mixed).document()["points"][7]["provenance"] == "modelled"


def test_neighbours_are_alike_in_what_is_left_after_the_changes() -> None:
    values = [5.0, 5.41, 4.7, 5.1, 4.92, 5.23, 9.01, 9.5, 8.6, 9.23, 8.8, 9.14]
    found = history._series("c", "k", "ops_rate", steps(*np.exp(values).tolist()))
    assert [one.at for one in found.changes] == [6]
    # Less their medians, 5.05 and 9.075.
    left = [-0.05, 0.36, -0.35, 0.05, -0.13, 0.18, -0.065, 0.425, -0.475, 0.155, -0.275, 0.065]
    assert found.likeness == pytest.approx(blocks.likeness(np.array(left)), abs=1e-9)
    plain = history._series("c", "k", "ops_rate", steps(*np.exp([1.0, 3.0, 2.0, 4.0]).tolist()))
    # Ranks less 2.5: -1.5 0.5 -0.5 1.5, whose products with their neighbours make -1.75 of 5.
    assert plain.changes == ()
    assert plain.likeness == pytest.approx(-0.35)


def test_figures_at_or_below_zero_are_no_points() -> None:
    def step(*values: float) -> Any:
        rows = [run(at=10.0 - place) for place in range(len(values))]
        for one, value in zip(rows, values, strict=True):
            raw(one)["classes"][0]["ops_rate"]["value"] = value
        folder: Any = type("Holder", (), {"directory": Path("x")})
        return history._step(folder, "x", rows, "ops_rate")

    assert step(0.0) is None
    assert step(-1.0) is None
    assert step(0.5).point.value == 0.5
    found = step(0.5, 2.0, 3.0)
    assert (found.point.value, found.begun) == (2.0, begun(run(at=8.0)))


@pytest.mark.parametrize(
    ("given", "title"),
    [({}, "threads 4"), ({"scenario": "alone"}, "alone, threads 4"), ({"factors": {}}, "scan"),
     ({"factors": {}, "scenario": "alone"}, "alone")],
)  # fmt: skip
def test_a_series_is_named_by_its_scenario_and_factors(given: Any, title: str) -> None:
    assert history._title(run(**given)) == title


def made(base: Path, name: str, at: float = 0.0, **more: Any) -> Path:
    return write(base / name, Made([1000.0, 1010.0], [at + 60.0, at], **more))


def names(over: str, *directories: Path, metric: str = "ops_rate") -> list[str]:
    (one,) = history.read(directories, metric, over).series
    return [step.name for step in one.steps]


def test_a_folder_is_named_by_the_minute_in_which_its_first_run_began(tmp_path: Path) -> None:
    late, early = made(tmp_path, "x", 86_400.0), made(tmp_path, "y")
    assert names("date", late, early) == ["2026-03-14 00:00", "2026-03-15 00:00"]


def labelled(where: Path, *commits: str) -> Path:
    for path, commit in zip(sorted((where / "records").iterdir()), commits, strict=True):
        document = json.loads(path.read_text())
        document["job"]["labels"]["commit"] = commit
        path.write_text(json.dumps(document))
    return where


def test_a_commit_is_twelve_digits_of_the_label_or_of_the_name(tmp_path: Path) -> None:
    by_name = made(tmp_path, f"run-{SHA}")
    by_label = labelled(made(tmp_path, f"run-{SHA[::-1]}"), "feedbee", "")
    assert names("commit", by_name, by_label) == [SHA[:12], "feedbee"]
    for where in (labelled(made(tmp_path, "two"), "feedbee", "beefbee"), made(tmp_path, f"{SHA[:8]}-{SHA[8:20]}")):
        with pytest.raises(CompareError, match="does not say which commit"):
            names("commit", where)


def test_firmware_is_one_in_a_folder_and_is_ordered_by_number_then_by_date(tmp_path: Path) -> None:
    def of(name: str, firmware: str, more: dict[str, Any] | None = None, at: float = 0.0) -> Path:
        return made(tmp_path, name, at, environment={"targets.device.firmware": firmware} | (more or {}))

    found = [of("c", "1.10", at=9.0), of("a", "rc1.2"), of("b", "1.9"), of("d", "1.10")]
    (one,) = history.read(found, "ops_rate", "firmware").series
    assert [step.directory.name for step in one.steps] == ["a", "b", "d", "c"]
    with pytest.raises(CompareError, match="names none, and --over firmware needs one"):
        names("firmware", of("e", ""))
    with pytest.raises(CompareError, match="names none"):
        names("firmware", of("f", "1", {"targets.device": None}))
    with pytest.raises(CompareError, match="names none"):
        names("firmware", of("g", "1", {"targets": None}))
    two = of("h", "2")
    path = min((two / "records").iterdir())
    path.write_text(path.read_text().replace('"firmware": "2"', '"firmware": "1"'))
    with pytest.raises(CompareError, match="names 2: 1, 2, and --over"):
        names("firmware", two)


def test_a_history_has_a_series_for_each_class_of_each_cell(tmp_path: Path) -> None:
    cells = [Made([1000.0], [0.0]), Made([500.0], [1.0], name="scan-0002", factors={"threads": 8})]
    where = write(tmp_path / "x", *cells)
    (where / "records" / "scan-0003-r1.json").write_text("{")
    found = history.read([where], "iops", "date")
    assert [(one.name, one.steps[0].point.value) for one in found.series] == [
        ("threads 4, scan, operations per second", 1000.0), ("threads 8, scan, operations per second", 500.0),
    ]  # fmt: skip
    shown = found.document()
    assert (shown["version"], shown["metric"], shown["over"]) == (1, "ops_rate", "date")
    assert "scan-0003-r1.json cannot be read" in shown["problems"][0]
