"""Pairs as they are planned, and the folder in which they run."""

from __future__ import annotations

import json
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from assay.compare import folder, paired
from assay.compare.error import CompareError
from assay.compare.folder import ComparisonHead
from assay.compare.match import CELL_LABEL, SIDE_LABEL
from assay.compare.paired import Sides
from assay.results.files import write_json
from assay.results.folder import Cell as Ran
from assay.results.journal import CellJournal, last_states, read
from assay.study.cell import Cell, Refusal
from assay.study.plan import Plan
from assay.target.target import Target
from study.conftest import SMALL

from compare.folders import Made, record, write

HERE = Target("here", "folder", ("/here",))
THERE = Target("there", "folder", ("/there",))
LOG = Target("log", "folder", ("/log",), role="log")


def sides(a: Any = None, b: Any = None, **given: Any) -> Sides:
    shown: dict[str, Any] = {"targets": ((HERE,), (HERE,)), "own": (a or {}, b or {})}
    return Sides("quick", **(shown | given))


def test_a_side_is_named_by_what_sets_it_apart() -> None:
    found = sides({"threads": 1, "size": ["4KiB", "8KiB"]}, {})
    assert (found.label(0), found.label(1)) == ("threads=1, size=4KiB,8KiB", "the same again")
    two = sides({"threads": 1}, {}, targets=((HERE, LOG), (THERE, LOG)))
    assert (two.label(0), two.label(1)) == ("here, threads=1", "there")
    assert (found.pairs, found.seed) == (20, 1)


@pytest.mark.parametrize(
    ("given", "same"),
    [
        (sides(), True),
        (sides({"x": 1}, {"x": 1}), True),
        (sides({"x": 1}, {"x": 2}), False),
        (sides(targets=((HERE,), (THERE,))), False),
    ],
)
def test_the_head_says_whether_both_sides_are_the_same(given: Sides, same: bool) -> None:
    found = folder.head_of(given)
    assert (found.labels, found.same) == ((given.label(0), given.label(1)), same)


HEAD = ComparisonHead(("x", "y"), 8, 3, same=False)


def test_a_folder_is_begun_once_and_says_what_its_sides_are(tmp_path: Path) -> None:
    where = tmp_path / "out"
    assert not folder.is_paired(where)
    folder.begin(where, HEAD)
    assert json.loads((where / "compare.json").read_text()) == {
        "version": 1, "a": "x", "b": "y", "pairs": 8, "seed": 3, "same": False,
    }  # fmt: skip
    assert folder.is_paired(where)
    assert folder.head(where) == HEAD
    folder.begin(where, HEAD)
    (where / "plan.json").write_text("{}")
    with pytest.raises(CompareError, match="holds a run already"):
        folder.begin(where, HEAD)


def test_a_head_that_is_not_there_or_of_another_version_or_damaged_is_refused(tmp_path: Path) -> None:
    with pytest.raises(CompareError, match=r"holds no paired run: compare\.json is not there"):
        folder.head(tmp_path)
    for change, said in (({"version": 2}, "has version 2, this program reads version 1"), ({"pairs": "x"}, "damaged")):
        write_json(tmp_path / "compare.json", HEAD.document() | change)
        with pytest.raises(CompareError, match=said):
            folder.head(tmp_path)


def ran(study: str, labels: Any, state: str = "finished") -> Ran:
    """A cell of a result folder; without labels it left no record."""
    document: Any = None
    if labels is not None:
        document = record(Made([1.0], [0.0]), 1, Path("x"))
        document["job"]["labels"] = labels
    return Ran("scan-0001-r1", study, "all", 1, {}, state, "", "", document)


def test_a_cell_is_of_the_side_that_its_label_or_its_study_names() -> None:
    cells = [ran("small-b", {SIDE_LABEL: "A"}), ran("small-b", {}), ran("small-b", None), ran("x", {SIDE_LABEL: "B"}),
             ran("small-a", None), ran("small-a", False)]  # fmt: skip
    assert ["A" if folder._of("A")(one) else "B" for one in cells] == ["A", "B", "B", "B", "A", "A"]
    assert [folder._of("B")(one) for one in cells] == [False, True, True, True, False, False]


def test_both_sides_of_a_paired_run_are_read(tmp_path: Path) -> None:
    where = write(tmp_path / "out", Made([1.0, 2.0], [0.0, 1.0]), Made([3.0], [2.0], name="scan-0002"))
    for path in (where / "records").iterdir():
        document = json.loads(path.read_text())
        document["job"]["labels"][SIDE_LABEL] = "A" if "0001" in path.name else "B"
        path.write_text(json.dumps(document))
    a, b = folder.sides(where, HEAD)
    assert [(one.name, one.label, len(one.rows)) for one in (a, b)] == [("A", "x", 2), ("B", "y", 1)]
    assert folder.unfinished(a, b) == 0


def cell(name: str, order: int = 0, side: str = "A", refusal: Refusal | None = None, repeat: int = 1) -> Cell:
    labels = {SIDE_LABEL: side, CELL_LABEL: name.replace("-b", "-a")}
    job = {"labels": labels, "seed": order}
    return Cell(f"{name}-r{repeat}", "small", "all", repeat, {}, job, 2.0, 7, refusal, order=order)


def test_the_half_of_a_torn_pair_is_noted_as_interrupted(tmp_path: Path) -> None:
    cells = [cell(f"x{place}", place) for place in range(8)]
    write_json(tmp_path / "plan.json", Plan(cells, 1, "now").document())
    with CellJournal(tmp_path / "journal.ndjson") as journal:
        for place in (0, 1, 2, 5):
            journal.add(cells[place].id, "finished")
        journal.add(cells[3].id, "failed")
    assert folder.mend(tmp_path) == 2
    states = {one: entry["state"] for one, entry in last_states(read(tmp_path / "journal.ndjson")).items()}
    told = ["finished", "finished", "interrupted", "failed", "interrupted"]
    assert states == dict(zip((cells[place].id for place in (0, 1, 2, 3, 5)), told, strict=True))
    assert folder.mend(tmp_path) == 0


def test_a_half_whose_partner_is_refused_stays() -> None:
    pair = cell("a"), cell("b", refusal=Refusal("no room", "make room"))
    assert folder._partnerless(pair, {"a-r1": "finished"}) == []


def test_the_partner_of_a_cell_that_is_not_possible_costs_nothing() -> None:
    why = Refusal("no room", "make room")
    good, bad = cell("a"), cell("b", refusal=why)
    assert paired._refused_together([good, cell("b")]) == [good, cell("b")]
    first, second = paired._refused_together([good, bad])
    assert second == bad
    assert first.refusal == Refusal("Its partner b-r1 cannot be measured: no room", "make room")
    assert (first.seconds, first.bytes_written) == (0.0, 0)
    assert paired._refused_together([bad, good])[1].refusal == first.refusal


def test_sides_of_unlike_size_are_refused_with_the_cells_of_each() -> None:
    a = {f"small-000{number}-r{repeat}": cell("x", repeat=repeat) for number in (1, 2) for repeat in (1, 2, 3)}
    b = {key: one for key, one in a.items() if "0001" in key}
    with pytest.raises(CompareError, match="A has 2 cells and B has 1: they cannot be run as pairs"):
        paired._alike(a, b)
    paired._alike(a, dict(a))


def test_each_round_is_run_in_pairs_and_numbered() -> None:
    names = ("x-a", "y-a")
    both = [cell(name, repeat=repeat) for name in names for repeat in (1, 2)]
    both += [cell(name.replace("-a", "-b"), side="B", repeat=repeat) for name in names for repeat in (1, 2)]
    found = paired.in_pairs(both, 5)
    assert [one.order for one in found] == list(range(8))
    assert [one.repeat for one in found] == [1] * 4 + [2] * 4
    pairs = list(zip(found[::2], found[1::2], strict=True))
    assert {frozenset((a.id, b.id)) for a, b in pairs} == {
        frozenset((f"{name}-r{repeat}", f"{name.replace('-a', '-b')}-r{repeat}")) for name in names for repeat in (1, 2)
    }
    orders = {tuple(one.job["labels"][SIDE_LABEL] for one in paired.in_pairs(both, seed)) for seed in range(40)}
    # Four coins are tossed: forty seeds show most of the sixteen ways in which they fall.
    assert len(orders) > 8
    assert all(sorted(one) == ["A"] * 4 + ["B"] * 4 for one in orders)
    again = [replace(one, order=0) for one in paired.in_pairs(both, 5)]
    assert again == [replace(one, order=0) for one in found]


@pytest.fixture
def study(tmp_path: Path) -> Path:
    path = tmp_path / "small.toml"
    path.write_text(SMALL.format(head="", tail=""))
    return path


def test_a_plan_has_both_sides_with_one_name_for_both_and_the_seeds_of_a(tmp_path: Path, study: Path) -> None:
    places = [tmp_path / name for name in ("d1", "d2")]
    for place in places:
        place.mkdir()
    here, there = (Target(place.name, "folder", (str(place),)) for place in places)
    own: Any = ({"threads": 1}, {"threads": 2})
    made = paired.plan(Sides(str(study), ((here,), (there,)), {}, own, pairs=2), None)
    assert made.name == "compare-small"
    assert [(one.name, one.title) for one in made.requests] == [
        ("small-a", "A small study, side A"), ("small-b", "A small study, side B"),
    ]  # fmt: skip
    cells = {one.id: one for one in made.plan.cells}
    assert sorted(cells) == [f"small-{side}-0001-r{repeat}" for side in "ab" for repeat in (1, 2)]
    for repeat in (1, 2):
        a, b = (cells[f"small-{side}-0001-r{repeat}"] for side in "ab")
        assert (a.job["classes"][0]["threads"], b.job["classes"][0]["threads"]) == (1, 2)
        assert a.job["targets"][0]["members"] == [str(places[0])]
        assert b.job["targets"][0]["members"] == [str(places[1])]
        assert [one.job["labels"][SIDE_LABEL] for one in (a, b)] == ["A", "B"]
        assert [one.job["labels"][CELL_LABEL] for one in (a, b)] == ["small-0001"] * 2
        assert a.job["seed"] == b.job["seed"]
