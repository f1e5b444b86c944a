"""Which runs belong together, how sides are named, and what they have in common."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
from assay.compare import match, metric, onedisk
from assay.compare import side as sides
from assay.compare.error import CompareError
from assay.results.row import Row
from assay.results.work import FOLDER

from compare.folders import Made, write
from compare.runs import comparison, pair, raw, run, side

FOUR, EIGHT = {"threads": 4}, {"threads": 8}


def titles(a: list[Row], b: list[Row], **given: Any) -> list[tuple[str, str, int]]:
    found = match.match(side("A", *a, **given), side("B", *b, **given))
    return [(one.cell, one.class_name, len(one.pairs)) for one in found.matches]


def a_run(repeat: int = 1, **made: Any) -> Row:
    return run(repeat=repeat, side="a", **made)


def b_run(repeat: int = 1, **made: Any) -> Row:
    return run(repeat=repeat, side="b", **made)


def called(one: Row, name: str) -> Row:
    raw(one)["classes"][0]["name"] = name
    return one


def planned(one: Row, cell: str) -> Row:
    raw(one)["job"]["labels"]["compare.cell"] = cell
    return one


def test_runs_of_one_cell_are_pairs_by_their_repeat_and_the_others_are_counted() -> None:
    found = match.match(side("A", *(a_run(one) for one in (1, 2, 4))), side("B", *(b_run(one) for one in (2, 1, 3, 5))))
    (cell,) = found.matches
    assert [(one.number, one.a.cell.repeat, one.b.cell.repeat) for one in cell.pairs] == [(1, 1, 1), (2, 2, 2)]
    assert cell.alone == {"A": 1, "B": 2}
    assert (cell.cell, cell.class_name, found.only) == ("threads 4", "scan", {"A": (), "B": ()})


def test_cells_of_other_factors_or_of_another_study_are_no_like() -> None:
    a = [
        a_run(factors=FOUR),
        a_run(factors=EIGHT, name="scan-0002"),
        a_run(factors=EIGHT, name="c", scenario="pair:x+y"),
    ]
    b = [b_run(factors=EIGHT, name="scan-0002"), b_run(factors=FOUR, study="log", name="d")]
    found = match.match(side("A", *a), side("B", *b))
    assert [one.cell for one in found.matches] == ["threads 8"]
    assert found.only == {"A": ("threads 4, scan", "pair:x+y, threads 8, scan"), "B": ("threads 4, scan",)}
    with pytest.raises(CompareError, match="A holds 1 cell of scan, B holds 1 cell of log"):
        match.match(side("A", a[0]), side("B", b[1]))


def test_a_run_that_both_sides_hold_is_refused() -> None:
    with pytest.raises(CompareError, match="both sides hold the run a-scan-0001-1: it cannot"):
        match.match(side("A", a_run(), a_run(2)), side("B", a_run()))


@pytest.mark.parametrize("name", ["on", "subject"])
def test_a_factor_that_sets_the_sides_apart_sets_no_cells_apart(name: str) -> None:
    x, y, z = ({name: one} | FOUR for one in "xyz")
    assert titles([a_run(factors=x)], [b_run(factors=y)]) == [("threads 4", "scan", 1)]
    both = [a_run(factors=x), a_run(factors=y, name="scan-0002")]
    with pytest.raises(CompareError, match="no cell of A has its like"):
        titles(both, [b_run(factors=x)])
    assert len(titles(both, [b_run(factors=x), b_run(factors=z, name="scan-0002")])) == 1


def test_a_planned_pair_is_known_by_its_cell_and_named_by_what_both_share() -> None:
    a, b = planned(a_run(factors=FOUR), "small-0001"), planned(b_run(factors=EIGHT), "small-0001")
    assert titles([a], [b]) == [("small", "scan", 1)]
    mixed = FOUR | {"depth": 2}, EIGHT | {"depth": 2}
    a, b = (planned(make(factors=one), "small-0001") for make, one in zip((a_run, b_run), mixed, strict=True))
    assert titles([a], [b]) == [("queue depth 2", "scan", 1)]
    with pytest.raises(CompareError, match="no cell"):
        titles([a], [planned(b_run(factors=FOUR), "small-0002")])


def test_a_cell_without_factors_is_named_after_its_study() -> None:
    assert titles([a_run(factors={})], [b_run(factors={})]) == [("scan", "scan", 1)]
    assert titles([a_run(scenario="alone", factors={})], [b_run(scenario="alone", factors={})])[0][0] == "alone"


def test_of_work_the_title_leaves_out_what_it_runs_on() -> None:
    factors = {"subject": "assay", "warehouses": 5}
    a, b = a_run(factors=factors), b_run(factors=factors)
    assert titles([a], [b])[0][0] == "subject assay, warehouses 5"
    for one in (a, b):
        raw(one)["kind"] = "engine"
    assert titles([a], [b])[0][0] == "warehouses 5"


def test_two_cells_that_were_named_are_compared_by_class_or_as_their_only_ones() -> None:
    def of(*names: str, make: Any) -> list[Row]:
        return [called(make(name=f"c{number}"), name) for number, name in enumerate(names)]

    def found(a: tuple[str, ...], b: tuple[str, ...]) -> tuple[list[tuple[str, str, int]], Any]:
        left, right = side("A", *of(*a, make=a_run), chosen=True), side("B", *of(*b, make=b_run), chosen=True)
        seen = match.match(left, right)
        return [(one.cell, one.class_name, len(one.pairs)) for one in seen.matches], seen.only

    both = "side A and side B"
    assert found(("scan",), ("scan",)) == ([(both, "scan", 1)], {"A": (), "B": ()})
    assert found(("scan",), ("log",)) == ([(both, "scan and log", 1)], {"A": (), "B": ()})
    assert found(("scan", "log"), ("log", "sort")) == ([(both, "log", 1)], {"A": ("scan",), "B": ("sort",)})
    assert found(("scan", "log"), ("log",)) == ([(both, "log", 1)], {"A": ("scan",), "B": ()})
    assert found(("log",), ("scan", "log")) == ([(both, "log", 1)], {"A": (), "B": ("scan",)})
    assert [one[1] for one in found(("scan", "log"), ("scan", "log"))[0]] == ["scan", "log"]
    with pytest.raises(CompareError, match="no cell of A has its like"):
        found(("scan", "log"), ("sort",))


def test_one_side_that_was_named_by_its_cell_is_compared_by_its_factors() -> None:
    a, b = side("A", a_run(), chosen=True), side("B", b_run(factors=EIGHT))
    with pytest.raises(CompareError, match="no cell of A has its like"):
        match.match(a, b)
    with pytest.raises(CompareError, match="B holds 2 cells of scan"):
        match.match(a, side("B", b_run(factors=EIGHT), b_run(factors=EIGHT, name="scan-0002"), b_run(2, factors=EIGHT)))


def on(path: str, device: Any = "vda", kind: Any = "ext4", serial: Any = None) -> Row:
    one = run()
    target = {"path": path, "device": {"name": device, "serial": serial}, "file_system": {"kind": kind}}
    raw(one)["environment"]["targets"] = [target]
    return one


def test_two_places_on_one_device_and_file_system_share_a_disk() -> None:
    assert onedisk.shared([on("/a")], [on("/b")]) == "vda"
    assert onedisk.shared([on("/a")], [on("/a")]) == "", "the same place may have been another disk"
    assert onedisk.shared([on("/a")], [on("/b", "vdb")]) == ""
    assert onedisk.shared([on("/a")], [on("/b", kind="xfs")]) == ""
    assert onedisk.shared([on("/a", serial="1")], [on("/b", serial="2")]) == ""
    assert onedisk.shared([on("/a", None)], [on("/b", None)]) == ""
    assert onedisk.shared([], []) == onedisk.shared([on("/a")], []) == onedisk.shared([], [on("/b")]) == ""
    assert onedisk.shared([on("/a"), on("/c", "vdb")], [on("/b"), on("/d", "vdb")]) == "vda, vdb"
    assert onedisk.shared([on("/a"), on("/c", None)], [on("/b"), on("/d", None)]) == ""


def test_what_a_record_does_not_say_of_its_target_is_no_disk() -> None:
    silent, bare = [on("/a"), on("/b")], [on("/a"), on("/b")]
    for one in silent:
        raw(one)["environment"]["targets"] = None
    assert onedisk.shared(silent[:1], silent[1:]) == ""
    for one in bare:
        raw(one)["environment"]["targets"][0] |= {"file_system": None}
    assert onedisk.shared(bare[:1], bare[1:]) == "vda"
    raw(bare[0])["environment"]["targets"][0]["device"] = None
    assert onedisk.shared(bare[:1], bare[1:]) == ""
    found = comparison(a=side("A", on("/a")), b=side("A", on("/b")))
    assert onedisk.of(found) == "vda"
    assert onedisk.of(comparison(a=side("A", on("/a")), b=side("B", on("/b")))) == ""


def of_work(one: Row, **figures: float) -> Row:
    raw(one)["kind"] = "engine"
    result = raw(one)["classes"][0]
    for name in ("cpu", "service", "bandwidth", "ops_rate"):
        result.pop(name)
    result |= {name: {"value": value} for name, value in figures.items() if name != "cycles_per_op"}
    if "cycles_per_op" in figures:
        result["cpu"] = {"cycles_per_op": {"value": figures["cycles_per_op"]}}
    return one


def test_the_usual_figures_of_work_are_those_that_all_of_its_runs_have() -> None:
    def usual(a: dict[str, float], b: dict[str, float]) -> tuple[str, ...]:
        return metric.usual([pair(of_work(run(), **a), of_work(run(), **b))])

    both = {"queries_per_s": 1.0, "cycles_per_op": 2.0}
    assert usual(both, both) == ("queries_per_s", "cycles_per_op")
    assert usual(both, {"queries_per_s": 1.0}) == ("queries_per_s",)
    # Cycles stand once, for a transaction where there are any.
    both |= {"cycles_per_transaction": 3.0}
    assert usual(both, both) == ("queries_per_s", "cycles_per_transaction")
    two = [pair(of_work(run(), queries_per_s=1.0), of_work(run(), queries_per_s=1.0)), pair(run(), run(), 2)]
    assert metric.usual(two)[0] == "ops_rate"
    one = [pair(of_work(run(), **one), of_work(run(), **one)) for one in (both, {"queries_per_s": 1.0})]
    assert metric.usual(one) == ("queries_per_s",)


def test_the_usual_figures_of_io_are_from_the_intended_start_where_any_run_has_a_rate() -> None:
    rated = run()
    raw(rated)["job"]["classes"][0]["arrivals"] = {"kind": "poisson"}
    assert metric.usual([pair(run(), run())]) == ("ops_rate", "service_p50", "service_p99", "cycles_per_op")
    assert metric.usual([pair(run(), rated)]) == ("ops_rate", "response_p50", "response_p99", "cycles_per_op")
    assert metric.usual([]) == metric.usual([pair(run(), run())])
    assert not metric.supported([pair(run(), run(supported=90.0))], "service_p99")
    assert metric.supported([pair(run(), run())], "service_p99")
    assert metric.canonical(["iops", "ops_rate", "p99"]) == ("ops_rate", "service_p99")


def folder(tmp_path: Path) -> Path:
    return write(tmp_path / "both", Made([1.0, 2.0], [0.0, 1.0]), Made([3.0], [2.0], name="scan-0002", factors=EIGHT))


def test_a_side_is_a_folder_or_a_cell_of_one(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    where = folder(tmp_path)
    monkeypatch.chdir(where)
    whole = sides.read("A", str(where), None)
    assert (len(whole.rows), whole.chosen, whole.problems) == (3, False, ())
    for text, inside, count in ((f"{where}/scan-0001", None, 2), ("scan-0002", where, 1), ("scan-0001-r2", None, 2)):
        found = sides.read("A", text, inside)
        assert (len(found.rows), found.chosen) == (count, True)
    assert whole.runs == {"both-scan-0001-1", "both-scan-0001-2", "both-scan-0002-1"}
    raw(whole.rows[0])["run"]["id"] = ""
    assert sides.run_id(whole.rows[0]) == "scan-0001-r1"


def test_a_cell_of_the_named_folder_is_meant_wherever_one_stands(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    where = folder(tmp_path)
    (tmp_path / FOLDER).mkdir()
    monkeypatch.chdir(tmp_path)
    assert len(sides.read("A", "scan-0001", where).rows) == 2
    for text in ("nothing/scan-0001", f"{tmp_path}/nothing/scan-0001"):
        with pytest.raises(CompareError, match="neither a result folder nor a cell"):
            sides.read("A", text, where)
    (tmp_path / FOLDER).rmdir()
    with pytest.raises(CompareError, match="neither a result folder nor a cell"):
        sides.read("A", "scan-0001", None)


def test_how_far_a_folder_was_cut_short_is_said(tmp_path: Path) -> None:
    where = write(tmp_path / "a", Made([1.0, 2.0], [0.0, 1.0], planned=5))
    (problem,) = sides.read("A", str(where), None).problems
    assert f"{where}: 3 of 5 cells left no record; the first, scan-0001-r3: " in problem


def test_a_record_without_a_version_is_refused_and_one_that_cannot_be_read_is_left_out(tmp_path: Path) -> None:
    where = folder(tmp_path)
    for text in ("[]", "{"):
        (where / "records" / "scan-0001-r1.json").write_text(text)
        assert len(sides.read("A", str(where), None).rows) == 2
    for text, version in (('{"version": 2}', "2"), ("{}", "none")):
        (where / "records" / "scan-0001-r1.json").write_text(text)
        with pytest.raises(CompareError, match=f"scan-0001-r1.json has version {version}, "):
            sides.read("A", str(where), None)
