"""Study files: the ready-made ones hold, and mistakes are named with file, line and field."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from assay import home
from assay.binary import Binary
from assay.error import AssayError
from assay.study import source
from assay.study.model import Composition, Study, schema
from assay.study.request import Wish, prepare
from assay.study.settings import apply, with_profile
from assay.study.source import StudyError
from assay.target.target import Target, parse

READY_MADE = [
    *("drop-in-scan", "drop-in-buffer", "drop-in-log", "lessons-size", "lessons-threads", "lessons-memory", "scm-raw"),
    *("scm-cache", "dana-htap", "dana-ladder", "dana-page", "dana-flush", "dana-filesystems", "dana-long", "raw-size"),
    *("raw-threads", "raw-depth", "raw-rate", "quick", "dana-poll-page", "dana-poll-sleep"),
]
VALID = """
name = "x"
title = "t"
question = "q"
source = "s"

[matrix]
threads = [1, 2]
path = ["pread", "mmap"]

[datasets.data]
bytes = "1MiB"

[classes.scan]
dataset = "data"
path = "${path}"
operation = "read"
pattern = "sequential"
size = "4KiB"
threads = "${threads}"

[window]
measure = "1s"
"""


def refused(text: str) -> StudyError:
    with pytest.raises(StudyError) as caught:
        source.parse(text, "x.toml")
    assert caught.value.code == 2
    return caught.value


def test_the_ready_made_studies_are_there() -> None:
    assert set(READY_MADE) <= set(source.names())


@pytest.mark.parametrize("name", source.names())
def test_a_ready_made_study_is_valid_and_its_name_is_its_file(name: str) -> None:
    found = source.read(name)
    assert found.name == name
    assert source.find(name).read_text().startswith("#:schema ../schema/study.schema.json\n")


@pytest.mark.parametrize("name", source.names())
def test_a_ready_made_study_expands_small(name: str, tmp_path: Path) -> None:
    found = source.read(name)
    profile = "quick" if isinstance(found, Study) else None
    prepared = prepare(Wish(name, (parse(str(tmp_path)),), {}, profile), None)
    assert prepared.plan.cells
    assert len({cell.id for cell in prepared.plan.cells}) == len(prepared.plan.cells)


@pytest.mark.parametrize("name", source.names())
def test_a_ready_made_study_expands_at_full_scale_where_there_is_room(
    name: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(Target, "free_bytes", lambda _: 10**15)
    monkeypatch.setattr(Target, "total_bytes", lambda _: 10**15)
    prepared = prepare(Wish(name, (parse("/tmp"),), {}), None)
    assert prepared.plan.cells
    assert all(cell.program or cell.job["classes"] for cell in prepared.plan.cells)


def test_quick_stays_within_a_tenth_of_the_free_space_and_says_what_it_scaled(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    free = 4 * 2**30
    monkeypatch.setattr(Target, "free_bytes", lambda _: free)
    monkeypatch.setattr(Target, "total_bytes", lambda _: 2 * free)
    prepared = prepare(Wish("quick", (parse("/tmp"),), {}), None)
    assert sum(prepared.plan.bytes_needed.values()) <= free / 10
    scaled = [cell for cell in prepared.plan.cells if cell.study == "raw-depth"]
    assert all("instead of 8GiB" in cell.job["labels"]["scaled.data"] for cell in scaled)


def test_quick_plans_less_than_four_minutes() -> None:
    assert prepare(Wish("quick", (parse("/tmp"),), {}), None).plan.seconds < 200


def test_what_finds_no_room_is_refused_with_the_setting_that_helps(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(Target, "free_bytes", lambda _: 10**9)
    monkeypatch.setattr(Target, "total_bytes", lambda _: 10**10)
    from assay.error import AssayError

    with pytest.raises(AssayError) as caught:
        prepare(Wish("dana-htap", (parse("/tmp"),), {"data": "400GB"}), None)
    assert caught.value.code == 4
    assert "--set data=" in caught.value.hint
    # A size that nobody typed is made smaller instead, where anything may be written at all.
    assert sum(prepare(Wish("dana-htap", (parse("/tmp"),), {}), None).plan.bytes_needed.values()) <= 10**8
    monkeypatch.setattr(Target, "free_bytes", lambda _: 10**8)
    with pytest.raises(AssayError) as caught:
        prepare(Wish("dana-htap", (parse("/tmp"),), {}), None)
    assert caught.value.code == 4


def test_the_committed_schema_is_fresh() -> None:
    committed = json.loads((home.schema() / "study.schema.json").read_text())
    assert committed == schema(), "stale: write it anew with `assay schema study > schema/study.schema.json`"


def test_a_matrix_filter_that_names_no_column_is_refused() -> None:
    rule = '\n[[exclude]]\nwhen = { pth = "mmap", threads = 2 }\nreason = "r"\n'
    error = refused(VALID + rule)
    assert "x.toml line 26" in error.message
    assert "`pth` is no column of the matrix" in error.message
    assert "did you mean `path`" in error.hint


def test_a_matrix_filter_that_names_no_value_is_refused() -> None:
    error = refused(VALID + '\n[[exclude]]\nwhen = { path = "mmmap" }\nreason = "r"\n')
    assert "never has the value `mmmap`" in error.message
    assert "`mmap`" in error.hint


@pytest.mark.parametrize(
    ("before", "after", "said"),
    [
        ('size = "4KiB"', 'size = "4KB4"', "line 19, classes.scan.size: `4KB4`"),
        ('threads = "${threads}"', "threads = 0", "line 20, classes.scan.threads: `0`"),
        (
            'threads = "${threads}"',
            "treads = 1",
            "line 20, classes.scan.treads: `treads` is not a key here; did you mean",
        ),
        ('operation = "read"', 'operation = "raed"', "line 17, classes.scan.operation: `raed`"),
        ('path = "${path}"', 'path = "pread+drect"', "line 16, classes.scan.path: `drect` is not an option"),
        ('dataset = "data"', 'dataset = "dta"', "line 15, classes.scan.dataset: there is no data set `dta`"),
        ('measure = "1s"', "", "line 22, window.measure"),
        ("threads = [1, 2]", "threads = [1, 1]", "line 8, matrix.threads: the value `1` stands here twice"),
        ('name = "x"', 'name = "x y"', "line 2, name"),
        ('title = "t"', "title = [", "not valid TOML"),
    ],
)
def test_a_mistake_is_named_with_its_line_and_field(before: str, after: str, said: str) -> None:
    assert before in VALID
    error = refused(VALID.replace(before, after, 1))
    assert said in error.message
    assert error.hint


@pytest.mark.parametrize(
    ("figure", "said"),
    [
        ('x = "thread"\ny = "ops_per_s"', "figures.0.x"),
        ('x = "threads"\ny = "opsps"', "figures.0.y"),
        ('class = "scna"', "figures.0.class"),
    ],
)
def test_a_figure_that_draws_nothing_is_refused(figure: str, said: str) -> None:
    assert said in refused(f'{VALID}\n[[figures]]\nid = "f"\ntitle = "t"\nkind = "line"\n{figure}\n').message


def test_every_profile_applies() -> None:
    for name in source.names():
        found = source.read(name)
        for profile in found.profile if isinstance(found, Study) else ():
            assert with_profile(source.read_study(name), profile).changes


def test_every_part_of_a_composition_is_a_study_with_a_figure() -> None:
    found = source.read("quick")
    assert isinstance(found, Composition)
    for part in found.parts:
        assert source.read_study(part.study).figures


def test_an_unknown_setting_is_refused() -> None:
    study = source.read_study("raw-depth")
    with pytest.raises(StudyError) as caught:
        apply(with_profile(study, None), {"dpeth": 1})
    assert "did you mean `depth`" in caught.value.hint


def test_an_unknown_study_is_refused() -> None:
    with pytest.raises(StudyError) as caught:
        source.read("drop-in-scna")
    assert "did you mean `drop-in-scan`" in caught.value.hint


@pytest.mark.parametrize("profile", ["quick", None])
@pytest.mark.parametrize("name", source.names())
def test_the_measuring_program_accepts_every_job(
    name: str, profile: str | None, assayer: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(Target, "free_bytes", lambda _: 10**15)
    monkeypatch.setattr(Target, "total_bytes", lambda _: 10**15)
    if profile is not None and isinstance(source.read(name), Composition):
        pytest.skip("a composition has no profile")
    wish = Wish(name, (parse(str(tmp_path)),), {}, profile, 1 if name != "quick" else None)
    prepared = prepare(wish, Binary(assayer))
    assert any(cell.refusal is None for cell in prepared.plan.cells)


def test_quick_on_a_twin_leaves_out_the_part_that_runs_on_none() -> None:
    prepared = prepare(Wish("quick", (parse("twin:970evoplus"),), {}), None)
    assert prepared.left_out == ("raw-null",)
    assert "raw-path" in {request.name for request in prepared.requests}
    assert prepare(Wish("quick", (parse("/tmp"),), {}), None).left_out == ()


def test_a_study_alone_that_its_target_cannot_run_is_refused() -> None:
    with pytest.raises(AssayError, match="needs a target of kind null") as seen:
        prepare(Wish("raw-null", (parse("twin:970evoplus"),), {}), None)
    assert "null" in seen.value.hint
