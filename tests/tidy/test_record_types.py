"""The types of records in Python are those of the schemas, and so of the Rust types."""

import re
import shutil
import subprocess
import sys
from pathlib import Path

import pytest
import record_types
from tidy.files import ROOT, matching, place, text


def test_the_types_of_records_are_those_of_the_schemas() -> None:
    assert not record_types.stale(), "write them anew: .venv/bin/python tools/record_types.py"


def test_a_figure_that_is_renamed_is_renamed_in_the_types(monkeypatch: pytest.MonkeyPatch) -> None:
    known = record_types.definitions()
    properties = known["ClassResult"]["properties"]
    properties["operations_rate"] = properties.pop("ops_rate")
    monkeypatch.setattr(record_types, "definitions", lambda: known)
    assert "operations_rate: " in record_types.files()["record.py"]
    assert "record.py" in record_types.stale()


def test_what_no_schema_has_is_stale(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setattr(record_types, "FOLDER", tmp_path)
    for name, source in record_types.files().items():
        (tmp_path / name).write_text(source, encoding="utf-8")
    assert not record_types.stale()
    (tmp_path / "gone.py").write_text("", encoding="utf-8")
    assert record_types.stale() == ["gone.py"]


@pytest.mark.parametrize(("name", "good"), [("ops_rate", True), ("operations_rate", False)])
def test_a_figure_by_a_name_that_it_does_not_have_fails_the_type_check(name: str, good: bool, tmp_path: Path) -> None:
    reads = f'one["classes"][0]["{name}"]["value"]'
    code = f"from assay.record import Record\n\n\ndef rate(one: Record) -> float:\n    return {reads}\n"
    (tmp_path / "reader.py").write_text(code, encoding="utf-8")
    shutil.copytree(ROOT / "python/assay/record", tmp_path / "assay/record")
    command = [sys.executable, "-m", "mypy", "--config-file=", f"--cache-dir={tmp_path}", str(tmp_path / "reader.py")]
    done = subprocess.run(command, cwd=tmp_path, capture_output=True, text=True, check=False)
    assert (done.returncode == 0) is good, done.stdout + done.stderr
    assert good or "operations_rate" in done.stdout


def test_a_record_is_passed_as_what_it_is() -> None:
    """A document that was not looked at yet is called one; the passport keeps what it left of a record."""
    untyped = re.compile(r"\brecords?: (?:(?:list|Sequence|Iterable)\[|Mapping\[str, )?Json\b")
    found = [place(path) for path in matching("python/**/*.py") if untyped.search(text(path))]
    assert found == ["python/assay/passport/document.py"]


def test_json_that_has_no_type_is_named_in_one_place() -> None:
    own = re.compile(r"^Json\b", re.MULTILINE)
    files = [*matching("python/**/*.py"), *matching("tests/**/*.py")]
    assert [place(path) for path in files if own.search(text(path))] == ["python/assay/untyped.py"]
