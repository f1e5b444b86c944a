"""Folders and cells compared: what is matched, excluded, refused and said."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from assay.compare import bands, side, table, words
from assay.compare.comparison import Comparison, compare
from assay.compare.document import document as as_document
from assay.compare.error import CompareError
from assay.compare.gate import gate, share
from assay.compare.judgement import Rules
from assay.compare.line import Line
from assay.error import DONE, MISSED, UNDECIDED

from compare.folders import Made, write

COUNT = 12
SCATTER = np.random.default_rng(5).normal(0, 0.004, (2, COUNT))
FIRST = [0, 1, 1, 0, 1, 0, 0, 1, 0, 1, 1, 0]
AT = (
    [2.0 * pair + first for pair, first in enumerate(FIRST)],
    [2.0 * pair + 1 - first for pair, first in enumerate(FIRST)],
)
Sides = Callable[..., Comparison]


def values(which: int, factor: float = 1.0) -> list[float]:
    return [float(value) for value in 1000 * factor * np.exp(SCATTER[which])]


@pytest.fixture
def sides(tmp_path: Path) -> Sides:
    """Two folders whose runs took turns; anything about a side can be changed."""

    def make(factor: float = 1.0, rules: Rules | None = None, a: Any = None, b: Any = None, **asked: Any) -> Comparison:
        left = write(tmp_path / "a", Made(**({"values": values(0), "at": AT[0]} | (a or {}))))
        right = write(tmp_path / "b", Made(**({"values": values(1, factor), "at": AT[1]} | (b or {}))))
        found = [side.read(name, str(path), None) for name, path in (("A", left), ("B", right))]
        return compare(found[0], found[1], rules or Rules(), **asked)

    return make


def line(found: Comparison, metric: str = "ops_rate") -> Line:
    return next(one for one in found.lines if one.metric == metric)


def test_a_slower_side_is_different_in_rate_and_in_latency(sides: Sides) -> None:
    found = sides(0.9)
    assert {one.outcome for one in found.lines} == {"different"}
    assert {one.better for one in found.lines} == {"A"}
    rate, latency = line(found), line(found, "service_p99")
    assert rate.ratio == pytest.approx(0.9, rel=0.01)
    assert latency.ratio == pytest.approx(1 / 0.9, rel=0.01)
    assert words.sentence(rate, found).startswith("Different, A is better: operations per second -")
    assert found.tested == 4


def test_equal_sides_are_equivalent_and_a_narrow_margin_leaves_them_undecided(sides: Sides, tmp_path: Path) -> None:
    assert line(sides()).outcome == "equivalent"
    a, b = (side.read(name, str(tmp_path / name.lower()), None) for name in ("A", "B"))
    narrow = compare(a, b, Rules(margin=0.0005))
    assert line(narrow).outcome == "undecided"
    assert "fresh pairs would decide it" in words.sentence(line(narrow), narrow)


def test_sides_that_did_not_take_turns_are_never_different(sides: Sides) -> None:
    found = sides(0.8, b={"at": [100.0 + at for at in AT[1]]})
    assert line(found).outcome == "undecided"
    assert line(found).design.kind == "apart"
    assert found.tested == 0
    assert "drift of the machine cannot be told from a difference" in words.sentence(line(found), found)


def test_an_allowance_for_drift_lets_sides_run_apart_be_judged(sides: Sides) -> None:
    apart = {"at": [100.0 + at for at in AT[1]]}
    assert line(sides(0.8, Rules(drift=0.1), b=apart)).outcome == "different"


def test_a_difference_smaller_than_the_drift_allowed_is_undecided(sides: Sides) -> None:
    apart = {"at": [100.0 + at for at in AT[1]]}
    assert line(sides(0.95, Rules(drift=0.1), b=apart)).outcome == "undecided"


def test_an_order_that_is_always_the_same_is_said(sides: Sides) -> None:
    turns = {"at": [2.0 * pair for pair in range(COUNT)]}, {"at": [2.0 * pair + 1 for pair in range(COUNT)]}
    found = sides(0.8, a=turns[0], b=turns[1])
    assert (line(found).outcome, line(found).reason) == ("undecided", "fixed-order")


def test_few_pairs_are_undecided_and_say_how_many_are_wanted(sides: Sides) -> None:
    few = {"values": values(0)[:4], "at": AT[0][:4]}, {"values": values(1, 0.5)[:4], "at": AT[1][:4]}
    found = sides(a=few[0], b=few[1])
    assert (line(found).outcome, line(found).reason) == ("undecided", "few-pairs")
    assert "6 pairs at least" in words.sentence(line(found), found)


def test_modelled_against_measured_is_labelled_and_never_different(sides: Sides) -> None:
    found = sides(0.3, b={"provenance": "modelled"})
    assert {one.outcome for one in found.lines} == {"undecided"}
    assert line(found).judgement is None
    assert line(found).bounds is None
    assert "A is measured and B is modelled" in words.sentence(line(found), found)
    assert gate(found, 0.05).exit_code(undecided_fails=False) == DONE


def test_two_modelled_sides_are_no_sample_either(sides: Sides) -> None:
    found = sides(0.3, a={"provenance": "modelled"}, b={"provenance": "modelled"})
    assert line(found).judgement is None
    assert line(found).reason == bands.APART


def test_invalid_records_are_left_out_with_their_pair_and_the_side_at_fault(sides: Sides) -> None:
    found = sides(0.9, b={"status": {3: ("invalid", "page-cache-served"), 5: ("suspect", "interrupted")}})
    assert [(one.number, one.side) for one in line(found).dropped] == [(3, "B"), (5, "B")]
    assert len(line(found).pairs) == COUNT - 2
    assert "all through B, which is a difference too" in words.sentence(line(found), found)


def test_suspect_records_count_and_are_said(sides: Sides) -> None:
    found = sides(0.9, b={"status": {3: ("suspect", "foreign-load"), 4: ("suspect", "noisy-machine")}})
    assert line(found).suspect == {"foreign-load": 1}
    assert "foreign-load in 1" in words.sentence(line(found), found)
    assert len(line(found).pairs) == COUNT


def test_all_records_invalid_leave_nothing_to_compare_and_it_is_said(sides: Sides) -> None:
    everything = dict.fromkeys(range(1, COUNT + 1), ("invalid", "errors"))
    found = sides(b={"status": everything})
    assert {one.reason for one in found.lines} == {"no-pairs"}
    assert "no pair is left" in words.sentence(line(found), found)


def test_records_of_another_version_are_refused(sides: Sides) -> None:
    with pytest.raises(CompareError, match="has version 2"):
        sides(b={"version": 2})


def test_a_folder_cut_short_is_compared_as_far_as_it_goes_and_says_so(sides: Sides, tmp_path: Path) -> None:
    found = sides(0.9, b={"values": values(1, 0.9)[:8], "planned": COUNT})
    assert len(line(found).pairs) == 8
    assert line(found).alone == {"A": 4, "B": 0}
    assert any("4 of 12 cells left no record" in problem for problem in found.problems)


def test_a_damaged_record_is_a_sentence(sides: Sides, tmp_path: Path) -> None:
    sides()
    (tmp_path / "b" / "records" / "scan-0001-r1.json").write_text('{"version": 1,')
    a, b = (side.read(name, str(tmp_path / name.lower()), None) for name in ("A", "B"))
    found = compare(a, b, Rules())
    assert len(line(found).pairs) == COUNT - 1
    assert any("cannot be read" in problem for problem in found.problems)


def test_a_run_is_never_compared_with_itself(sides: Sides) -> None:
    with pytest.raises(CompareError, match="cannot be compared with itself"):
        sides(a={"run_ids": "same"}, b={"run_ids": "same"})


def test_a_record_copied_under_another_name_is_no_second_run(sides: Sides, tmp_path: Path) -> None:
    sides()
    records = tmp_path / "b" / "records"
    (records / "scan-0001-r13.json").write_text((records / "scan-0001-r1.json").read_text())
    assert len(side.read("B", str(tmp_path / "b"), None).rows) == COUNT


def test_differences_of_the_environment_are_shown_and_volatile_ones_are_not(sides: Sides) -> None:
    changed = {"kernel": "6.9", "cpu.governor": "powersave", "load_average": 7.0, "targets.device.firmware": "2.0",
               "targets.file_system.options": "rw,noatime", "targets.file_system.free_bytes": 4}  # fmt: skip
    found = sides(b={"environment": changed})
    seen = {one.what: (one.a, one.b) for one in found.environment}
    assert seen == {
        "kernel": (("6.1",), ("6.9",)),
        "cpu governor": (("performance",), ("powersave",)),
        "targets device firmware": (("1.0",), ("2.0",)),
        "targets file system options": (("rw",), ("rw,noatime",)),
    }


def test_cells_without_their_like_are_named(tmp_path: Path) -> None:
    cells = [Made(values(which), AT[which]) for which in (0, 1)]
    other = Made(values(0), [500 + at for at in AT[0]], name="scan-0002", factors={"threads": 8})
    write(tmp_path / "a", cells[0], other)
    write(tmp_path / "b", cells[1])
    a, b = (side.read(name, str(tmp_path / name.lower()), None) for name in ("A", "B"))
    found = compare(a, b, Rules())
    assert found.only == {"A": ("threads 8, scan",), "B": ()}
    assert any("only A has" in problem for problem in found.problems)


def test_nothing_in_common_is_a_sentence(sides: Sides) -> None:
    with pytest.raises(CompareError, match="no cell of A has its like in B"):
        sides(b={"factors": {"threads": 9}})


def test_two_cells_of_one_folder_are_compared_by_repeat(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    # Where a folder of records lies in the way, a cell without a folder is one of it.
    monkeypatch.chdir(tmp_path)
    other = Made(values(1, 0.9), AT[1], name="scan-0002", factors={"threads": 8})
    folder = write(tmp_path / "both", Made(values(0), AT[0]), other)
    a, b = side.read("A", f"{folder}/scan-0001", None), side.read("B", "scan-0002-r1", folder)
    assert {line(compare(a, b, Rules(), by_lot=True)).outcome} == {"different"}
    with pytest.raises(CompareError, match="there is no cell `scan-0003`"):
        side.read("B", "scan-0003", folder)
    with pytest.raises(CompareError, match="neither a result folder nor a cell"):
        side.read("B", "nothing", None)


def test_a_metric_that_is_unknown_or_was_not_measured_is_a_sentence(sides: Sides) -> None:
    with pytest.raises(CompareError, match="not a metric that can be compared"):
        sides(metrics=["colour"])


def test_a_metric_that_no_run_has_is_a_sentence(sides: Sides) -> None:
    with pytest.raises(CompareError, match=r"there is nothing to compare: .*flush_p99"):
        sides(metrics=["flush_p99"])


def test_a_percentile_with_too_few_operations_beyond_it_is_left_out(sides: Sides) -> None:
    with pytest.raises(CompareError, match="fewer than 100 operations"):
        sides(metrics=["service_p99"], b={"supported": 90.0})


def test_what_is_unfinished_is_not_judged(sides: Sides) -> None:
    found = sides(0.5, unfinished=True)
    assert {one.reason for one in found.lines} == {"unfinished"}
    assert "second chance for a false alarm" in words.sentence(line(found), found)


@pytest.mark.parametrize(
    ("factor", "bound", "code", "strict"),
    [(0.9, 0.05, MISSED, MISSED), (0.97, 0.05, DONE, DONE), (0.95, 0.05, DONE, UNDECIDED), (1.2, 0.05, DONE, DONE)],
)
def test_the_gate_fails_only_where_the_loss_is_shown(
    sides: Sides, factor: float, bound: float, code: int, strict: int
) -> None:
    found = gate(sides(factor, Rules(bound=bound), metrics=["ops_rate"]), bound)
    assert found.exit_code(undecided_fails=False) == code, found.sentence
    assert found.exit_code(undecided_fails=True) == strict, found.sentence


@pytest.mark.parametrize(("factor", "code"), [(0.3, MISSED), (3.0, DONE)])
def test_the_gate_and_the_table_say_the_same_of_two_models(sides: Sides, factor: float, code: int) -> None:
    rules = Rules(bound=0.05)
    modelled = {"provenance": "modelled", "band": 1.2}
    found = sides(factor, rules, metrics=["ops_rate"], a=modelled, b=modelled)
    gated = gate(found, 0.05)
    assert gated.exit_code(undecided_fails=True) == code, gated.sentence
    assert "Modelled" in gated.sentence
    assert table.entries(found)[0].outcome.startswith("A better" if code else "B better")


def test_bands_that_leave_both_open_decide_nothing(sides: Sides) -> None:
    modelled = {"provenance": "modelled", "band": 1.6}
    found = sides(0.5, Rules(bound=0.05), metrics=["ops_rate"], a=modelled, b=modelled)
    assert gate(found, 0.05).exit_code(undecided_fails=True) == UNDECIDED


def test_a_bound_that_is_no_share_is_refused() -> None:
    assert share("5%", "--fail-if-slower") == share("0.05", "--fail-if-slower") == 0.05
    for text in ("5", "-1%", "100%", "0", "five"):
        with pytest.raises(CompareError, match="is not a share"):
            share(text, "--fail-if-slower")


def test_the_document_is_json_and_holds_every_pair(sides: Sides) -> None:
    document = json.loads(json.dumps(as_document(sides(0.9)), allow_nan=False))
    first = document["comparisons"][0]
    assert document["outcomes"] == {"different": 4, "equivalent": 0, "undecided": 0}
    assert len(first["log_ratios"]) == COUNT
    assert first["low"] < first["ratio"] < first["high"]
    assert document["correction"] == {"method": "holm", "comparisons": 4}


def test_the_page_shows_every_comparison_and_links_to_its_records(sides: Sides, tmp_path: Path) -> None:
    from assay.compare.view import page

    found = sides(0.9, b={"environment": {"kernel": "6.9</script>"}})
    text = page.write(tmp_path / "compare.html", found, None, []).read_text()
    for one in found.lines:
        assert one.name in text
    assert 'href="a/records/scan-0001-r1.json"' in text
    assert "6.9&lt;/script&gt;" in text
    data = json.loads(text.split('id="assay-data">')[1].split("</script>")[0])
    assert set(data["figures"]) == {"forest", "dots"}
    assert "connect-src" not in text
    assert "default-src &#39;none&#39;" in text
