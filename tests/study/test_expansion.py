"""From matrix to jobs."""

from __future__ import annotations

from collections import Counter
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from assay.error import AssayError
from assay.study import matrix, source
from assay.study.expand import expand
from assay.study.model import Study
from assay.study.plan import in_order
from assay.study.settings import apply, with_profile
from assay.target.target import Target, TargetError, parse, parse_all
from hypothesis import given
from hypothesis import strategies as st

HEAD = 'name = "x"\ntitle = "t"\nquestion = "q"\nsource = "s"\n'
WINDOW = '[window]\nmeasure = "1s"\n'


def one_class(name: str = "scan", more: str = "", operation: str = "read") -> str:
    return (
        f'[classes.{name}]\ndataset = "data"\npath = "pread"\noperation = "{operation}"\n'
        f'pattern = "uniform"\nsize = "4KiB"\n{more}\n'
    )


def study(body: str, head: str = "") -> Study:
    text = f'{HEAD}{head}\n[datasets.data]\nbytes = "1MiB"\n{body}\n{WINDOW}'
    found = source.parse(text, "x.toml")
    assert isinstance(found, Study)
    return found


def cells(found: Study, *targets: Target, **settings: Any) -> list[Any]:
    request = replace(with_profile(found, None), targets=targets or (parse("/tmp"),))
    return expand(apply(request, settings) if settings else request)


@given(
    st.lists(st.integers(1, 9), min_size=1, max_size=4, unique=True),
    st.lists(st.integers(1, 9), min_size=1, max_size=4, unique=True),
)
def test_the_matrix_is_the_cross_product(first: list[int], second: list[int]) -> None:
    found = study(one_class(), f"[matrix]\na = {first}\nb = {second}")
    assert [tuple(row.values()) for row in matrix.combinations(found)] == [(a, b) for a in first for b in second]


@given(st.sets(st.integers(1, 6), min_size=1), st.sets(st.integers(1, 6), min_size=1, max_size=5))
def test_excluded_cells_are_gone_and_no_others(values: set[int], excluded: set[int]) -> None:
    listed, gone = sorted(values), sorted(values & excluded)
    rule = f'[[exclude]]\nwhen = {{ a = {gone} }}\nreason = "r"\n' if gone else ""
    found = study(one_class() + rule, f"[matrix]\na = {listed}")
    assert [row["a"] for row in matrix.combinations(found)] == [value for value in listed if value not in gone]


def test_scenarios_are_alone_pairs_and_all() -> None:
    body = one_class("a") + one_class("b") + one_class("c")
    found = study(body, 'scenarios = ["alone", "pairwise", "all"]')
    wanted = ["alone:a", "alone:b", "alone:c", "pair:a+b", "pair:a+c", "pair:b+c", "all"]
    assert [name for name, _ in matrix.scenarios(found)] == wanted
    jobs = {cell.scenario: [entry["name"] for entry in cell.job["classes"]] for cell in cells(found)}
    assert jobs["pair:a+c"] == ["a", "c"]


def test_a_rate_needs_its_scope() -> None:
    with pytest.raises(AssayError) as caught:
        cells(study(one_class(more='rate = "1000/s"')))
    assert "rate_scope" in caught.value.message


@pytest.mark.parametrize(("scope", "arrivals"), [("total", "fixed"), ("thread", "poisson")])
def test_a_rate_is_open_loop_with_its_scope(scope: str, arrivals: str) -> None:
    more = f'rate = "4MiB/s"\nrate_scope = "{scope}"\nthreads = 2\narrivals = "{arrivals}"'
    [cell] = cells(study(one_class(more=more)))
    assert cell.job["classes"][0]["arrivals"] == {"kind": arrivals, "rate_per_s": 1024.0, "scope": scope}


def test_the_rate_of_a_mix_of_sizes_counts_by_their_mean() -> None:
    mix = 'rate = "12KiB/s"\nrate_scope = "total"'
    body = one_class(more=mix).replace('"4KiB"', '[{ bytes = "4KiB", weight = 3 }, { bytes = "16KiB" }]')
    [cell] = cells(study(body))
    entry = cell.job["classes"][0]
    assert entry["arrivals"]["rate_per_s"] == pytest.approx(12 / 7)
    assert entry["size"] == [{"bytes": 4096, "weight": 3}, {"bytes": 16384, "weight": 1}]


def test_a_class_that_writes_nothing_has_no_durability() -> None:
    body = one_class(more='write_percent = "${share}"\ndurability = "fdatasync"', operation="mix")
    found = cells(study(body, "[matrix]\nshare = [0, 20, 100]"))
    kinds = [
        (cell.job["classes"][0]["operation"]["kind"], cell.job["classes"][0]["durability"]["kind"]) for cell in found
    ]
    assert kinds == [("read", "none"), ("mix", "fdatasync"), ("write", "fdatasync")]


def test_data_sets_are_whole_multiples_of_what_is_moved() -> None:
    found = study(one_class(), "").model_copy(deep=True)
    found.datasets["data"].bytes = "100kB"
    [cell] = cells(found)
    assert cell.job["datasets"][0]["bytes"] == 98304


def test_factors_are_numbers_where_they_are_quantities() -> None:
    found = study(one_class(), '[matrix]\npage = ["4KiB", "1MiB"]\nrate = ["1000/s"]\npath = ["pread"]')
    first = cells(found)[0]
    assert first.factors == {"page": 4096, "rate": 1000.0, "path": "pread"}
    assert first.job["labels"]["factor.page"] == "4096"


def test_several_targets_are_compared_and_joined_ones_are_members(tmp_path: Path) -> None:
    for name in "ab":
        (tmp_path / name).mkdir()
    a, b = str(tmp_path / "a"), str(tmp_path / "b")
    apart = cells(study(one_class()), parse(a), parse(b))
    assert [cell.factors["on"] for cell in apart] == [a, b]
    [joined] = cells(study(one_class()), parse(f"{a}+{b}"))
    assert joined.job["targets"][0]["members"] == [a, b]


def test_a_data_set_may_lie_on_a_target_of_its_own(tmp_path: Path) -> None:
    found = study(one_class()).model_copy(deep=True)
    found.datasets["data"].target = "log"
    [own] = cells(found, parse("/tmp"), parse(f"log={tmp_path}"))
    assert own.job["targets"] == [{"id": "log", "kind": "folder", "members": [str(tmp_path)]}]
    [shared] = cells(found, parse("/tmp"))
    assert shared.job["datasets"][0]["target"] == "main"


def test_a_requirement_that_no_target_meets_lists_the_cell_as_not_measured() -> None:
    rule = '[[require]]\nwhen = { step = "bare" }\ntargets = ["block-device"]\nreason = "R."\nfix = "F."\n'
    found = cells(study(one_class() + rule, '[matrix]\nstep = ["file", "bare"]'))
    assert [cell.refusal and cell.refusal.reason for cell in found] == [None, "R."]


def test_memory_and_null_need_not_be_named() -> None:
    found = source.read_study("raw-null")
    assert cells(found)[0].job["targets"] == [{"id": "main", "kind": "null", "members": []}]


def test_the_order_is_random_repeatable_and_interleaves_repeats() -> None:
    found = cells(study(one_class(), "repeats = 3\n[matrix]\na = [1, 2, 3, 4, 5, 6, 7, 8]"))
    once, again, other = in_order(found, 1), in_order(found, 1), in_order(found, 2)
    assert [cell.id for cell in once] == [cell.id for cell in again] != [cell.id for cell in other]
    assert [cell.repeat for cell in once] == [1] * 8 + [2] * 8 + [3] * 8
    assert Counter(cell.id for cell in once) == Counter(cell.id for cell in found)


def test_seeds_differ_between_cells_and_fit_every_json_reader() -> None:
    seeds = [cell.job["seed"] for cell in cells(study(one_class(), "repeats = 5\n[matrix]\na = [1, 2, 3]"))]
    assert len(set(seeds)) == len(seeds)
    assert all(0 <= seed < 2**53 for seed in seeds)


def test_what_was_scaled_stands_in_the_record() -> None:
    found = study(one_class(), '[parameters]\ndata = "5GiB"')
    [cell] = cells(found, data="1GiB")
    assert cell.job["labels"]["scaled.data"] == "1GiB instead of 5GiB"


@pytest.mark.parametrize("text", ["/does/not/exist", "/dev/null", "/tmp+/etc/passwd", "/tmp+/tmp"])
def test_a_target_that_is_none_is_refused(text: str) -> None:
    with pytest.raises(TargetError) as caught:
        parse(text)
    assert caught.value.code == 2
    assert caught.value.hint


def test_a_serial_number_without_a_device_is_refused() -> None:
    with pytest.raises(TargetError):
        parse_all(["/tmp"], ["S1"], False)


def test_the_same_target_twice_is_refused() -> None:
    with pytest.raises(TargetError):
        parse_all(["/tmp", "/tmp"], [], False)
