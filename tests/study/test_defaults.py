"""What is typed without settings runs, or says what to type; names that are printed are names that are taken."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from assay import home
from assay.cli.measure import confirm
from assay.cli.results import folders
from assay.error import AssayError
from assay.study import source
from assay.study.consent import MUCH
from assay.study.request import Wish, prepare
from assay.study.settings import apply as laid
from assay.study.settings import parse_settings, with_profile
from assay.target.target import parse

from study.conftest import Assay

FOLDERS = [
    path.stem
    for path in sorted(home.studies().glob("*.toml"))
    if "folder" in (getattr(source.read(path.stem), "targets", None) or ["folder"])
]


@pytest.mark.parametrize("name", FOLDERS)
def test_every_study_finds_room_by_default(name: str, tmp_path: Path) -> None:
    """dana-htap ended with exit code 4 and no plan where 466 GiB were not free."""
    target = parse(str(tmp_path))
    try:
        prepared = prepare(Wish(name, (target,), {}), None)
    except AssayError as error:
        if name != "dana-long" or "are free" not in error.message:
            raise
        pytest.skip(f"its log does not shrink, and there is no room for it here: {error.message}")
    room = target.free_bytes()
    assert all(size < room for size in prepared.plan.bytes_needed.values())


def test_a_size_that_was_typed_is_not_made_smaller(tmp_path: Path) -> None:
    with pytest.raises(AssayError, match="are free"):
        prepare(Wish("dana-htap", (parse(str(tmp_path)),), parse_settings(["data=900TiB"])), None)


def test_much_is_asked_for(assay: Assay, tmp_path: Path) -> None:
    prepared = prepare(Wish("raw-path", (parse(str(tmp_path)),), {}), None)
    assert prepared.plan.bytes_written > MUCH
    with pytest.raises(AssayError, match="writes up to") as refused:
        confirm.confirm_plan(prepared, yes=False)
    assert "--yes" in refused.value.hint
    confirm.confirm_plan(prepared, yes=True)


def test_names_with_commas_are_picked_among_others() -> None:
    study = with_profile(source.read_study("raw-path"), None)
    names = [choice.name for choice in study.study.matrix["path"] if hasattr(choice, "name")]
    two = [name for name in names if "," in name][:2]
    found = laid(study, parse_settings([f"path={two[0]},{two[1]}"])).study.matrix["path"]
    assert [getattr(one, "name", one) for one in found] == two


def test_a_cell_is_known_by_every_name_that_is_printed(assay: Assay, tmp_path: Path) -> None:
    out = tmp_path / "out"
    assert assay("run", str(assay.study()), "--on", str(assay.target), "--out", str(out), "--no-report").returncode == 0
    entry = json.loads((out / "plan.json").read_text())["cells"][0]
    record = out / "records" / f"{entry['id']}.json"
    names = [entry["id"], entry["id"].rpartition("-r")[0], entry["job"]["name"], str(record)]
    assert [folders._job(name, out)["name"] for name in names] == [entry["job"]["name"]] * 4


def test_the_command_that_a_report_gives_runs_the_cell_again(assay: Assay, tmp_path: Path) -> None:
    """The hint was `assayer run -`, and no such program is on the path."""
    out = tmp_path / "out"
    assert assay("run", str(assay.study()), "--on", str(assay.target), "--out", str(out), "--no-report").returncode == 0
    record = next((out / "records").glob("*.json"))
    done = assay("run", str(record))
    assert done.returncode == 0, done.stderr
    assert done.stdout.startswith(json.loads(record.read_text())["job"]["name"])


@pytest.mark.parametrize("text", ["{}", "no", '{"job": {}}'])
def test_a_record_that_is_none_is_a_sentence(assay: Assay, tmp_path: Path, text: str) -> None:
    path = tmp_path / "x.json"
    path.write_text(text)
    done = assay("run", str(path))
    assert done.returncode == 2
    assert "is no record of a cell" in done.stderr
