"""Pairs planned and run: the command line against a stand-in for the measuring program."""

from __future__ import annotations

import json
import signal
import time
from pathlib import Path
from typing import Any

import pytest
from assay.compare.match import CELL_LABEL, SIDE_LABEL
from assay.compare.paired import PAIRS, Sides, plan
from assay.target.target import parse
from scipy import stats
from study.conftest import Assay


def planned(tmp_path: Path, study: Path, pairs: int, seed: int) -> list[Any]:
    target = (parse(str(tmp_path)),)
    sides = Sides(str(study), (target, target), {}, ({"threads": 1}, {"threads": 2}), None, pairs, seed)
    return plan(sides, None).plan.cells


def test_both_halves_of_a_pair_run_side_by_side_in_an_order_drawn_by_lot(assay: Assay, tmp_path: Path) -> None:
    cells = planned(tmp_path, assay.study(), 200, 7)
    pairs = list(zip(cells[::2], cells[1::2], strict=True))
    assert all(a.job["labels"][CELL_LABEL] == b.job["labels"][CELL_LABEL] for a, b in pairs)
    assert all({a.job["labels"][SIDE_LABEL], b.job["labels"][SIDE_LABEL]} == {"A", "B"} for a, b in pairs)
    assert all(a.repeat == b.repeat for a, b in pairs)
    assert all(a.job["seed"] == b.job["seed"] for a, b in pairs)
    first = sum(one[0].job["labels"][SIDE_LABEL] == "A" for one in pairs)
    assert stats.binomtest(first, len(pairs)).pvalue > 1e-6
    assert [cell.id for cell in cells] == [cell.id for cell in planned(tmp_path, assay.study(), 200, 7)]
    assert [cell.id for cell in cells] != [cell.id for cell in planned(tmp_path, assay.study(), 200, 8)]


def compared(assay: Assay, *words: str) -> Any:
    common = ("--study", str(assay.study()), "--on", str(assay.target), "--out", str(assay.results))
    return assay("compare", *common, "--a", "threads=1", "--b", "threads=2", *words)


def test_equal_sides_run_as_pairs_are_equivalent(assay: Assay) -> None:
    done = compared(assay, "--pairs", "8", "--json")
    assert done.returncode == 0, done.stderr
    document = json.loads(done.stdout)
    assert document["outcomes"]["equivalent"] == len(document["comparisons"]) > 0
    assert {one["design"] for one in document["comparisons"]} == {"paired"}
    assert len(assay.runs()) == 16
    assert "drawn by lot with seed 1" in done.stderr
    assert (assay.results / "compare.html").is_file()
    assert document["comparisons"][0]["asked_differently"][0]["what"] == "classes threads"
    again = assay("compare", str(assay.results), "--json", "--no-page")
    assert json.loads(again.stdout)["comparisons"] == document["comparisons"]


def test_pairs_that_were_interrupted_are_not_judged_and_go_on_whole(assay: Assay) -> None:
    assay.behave(**{"-": "slow"})
    process = assay.start("compare", "--study", str(assay.study()), "--on", str(assay.target), "--out",
                          str(assay.results), "--a", "threads=1", "--b", "threads=2", "--pairs", "8")  # fmt: skip
    deadline = time.monotonic() + 60
    while len(assay.runs()) < 1 and time.monotonic() < deadline:
        time.sleep(0.05)
    process.send_signal(signal.SIGINT)
    _, err = process.communicate(timeout=60)
    assert process.returncode == 3, err
    assert "--resume" in err
    assay.behave()
    done = assay("compare", "--resume", str(assay.results), "--json")
    assert done.returncode == 0, done.stderr
    assert {one["pairs"] for one in json.loads(done.stdout)["comparisons"]} == {8}


def test_the_half_of_a_torn_pair_is_run_again(assay: Assay) -> None:
    assert compared(assay, "--pairs", "8").returncode == 0
    journal = assay.results / "journal.ndjson"
    lines = journal.read_text().splitlines()
    journal.write_text("\n".join(lines[:-2]) + "\n")
    last = json.loads(lines[-1])["cell"]
    (assay.results / "records" / f"{last}.json").unlink()
    before = len(assay.runs())
    shown = assay("compare", str(assay.results))
    assert "settled before the first" in shown.stdout
    assert "Equivalent" in assay("compare", str(assay.results), "--as-is", "--no-page").stdout
    done = assay("compare", "--resume", str(assay.results))
    assert "1 run is repeated" in done.stderr
    assert len(assay.runs()) == before + 2


def test_one_side_against_itself_says_what_it_could_see(assay: Assay) -> None:
    common = ("--study", str(assay.study()), "--on", str(assay.target), "--out", str(assay.results))
    done = assay("compare", "--aa", *common, "--set", "threads=1", "--pairs", "10", "--json")
    assert done.returncode == 0, done.stderr
    document = json.loads(done.stdout)
    assert document["outcomes"]["different"] == 0
    # The stand-in gives the same figures again and again: there is nothing to learn a scatter from.
    assert document["against_itself"] == []


def test_a_dry_run_touches_nothing(assay: Assay) -> None:
    done = compared(assay, "--pairs", "2", "--dry-run")
    assert done.returncode == 0
    assert "4 cells in about" in done.stdout
    assert not assay.results.exists()
    assert assay.runs() == []


def test_a_cell_that_is_not_possible_on_one_side_runs_on_neither(assay: Assay) -> None:
    assay.behave(**{"small-b": "refuse-plan"})
    assay.behave(**{"threads=2": "refuse-plan"})
    done = compared(assay, "--pairs", "2")
    assert assay.runs() == []
    assert done.returncode == 4
    assert "It is not possible here" in done.stdout + done.stderr


@pytest.mark.parametrize(
    ("words", "says"),
    [
        (["--study", "quick"], "both sides are the same"),
        (["--study", "quick", "--aa", "--a", "x=1"], "--aa runs one side against itself"),
        (["only-one"], "a comparison has two sides"),
        (["a", "b", "--margin", "two"], "is not a share"),
        (["a", "b", "--correction", "bonferroni"], "is not known"),
        (["a", "b", "--study", "quick"], "takes no folders"),
        (["a", "b"], "neither a result folder nor a cell"),
        (["--resume", "nowhere"], "holds no paired run"),
    ],
)
def test_what_was_typed_wrongly_is_a_sentence(assay: Assay, words: list[str], says: str) -> None:
    done = assay("compare", *words)
    assert done.returncode == 2, done.stderr
    assert says in done.stderr
    assert "hint:" in done.stderr
    assert "Traceback" not in done.stderr


def test_the_default_number_of_pairs_is_what_the_documentation_says(root: Path) -> None:
    assert f"{PAIRS} pairs" in (root / "docs" / "compare.md").read_text()


def test_pairs_that_could_decide_nothing_are_refused_before_anything_runs(assay: Assay) -> None:
    done = compared(assay, "--pairs", "6")
    assert (done.returncode, assay.runs()) == (2, [])
    assert "6 pairs cannot decide any of 4 comparisons" in done.stderr
    assert "--pairs 8" in done.stderr
