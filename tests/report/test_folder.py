"""Folders that are cut short, damaged, empty or of another version still give a report, or a sentence."""

import json
from pathlib import Path

import pytest
from assay.error import AssayError
from assay.report import answers, write
from assay.results.folder import ReportError, read
from report.synthetic import folder, studies


def test_a_run_that_was_killed_reports_what_was_finished(tmp_path: Path) -> None:
    folder.write(tmp_path, [studies.depth_curve(), studies.htap()], stop_after=5)
    found = read(tmp_path)
    assert len(found.measured) == 5
    states = {cell.id: cell.state for cell in found.cells}
    assert list(states.values()).count("started") == 1
    page = write(tmp_path).read_text()
    assert "It was under way when the run ended." in page
    assert "The run ended before its turn." in page
    assert "5 of 36 cells measured" in page
    assert "Nothing of this study was measured" in page


def test_a_run_that_was_killed_before_its_first_record_says_so(tmp_path: Path) -> None:
    folder.write(tmp_path, [studies.htap()], stop_after=0)
    page = write(tmp_path).read_text()
    assert "Nothing was measured" in page
    assert "0 of 0 records are valid. 11 of 11 cells were not measured." in answers(tmp_path)[0].plain


def test_a_journal_line_that_was_cut_off_is_said_and_the_rest_is_used(copied: Path) -> None:
    journal = copied / "journal.ndjson"
    journal.write_text(journal.read_text() + '{"cell": "dana-htap-000')
    found = read(copied)
    assert any("cut off" in problem for problem in found.problems)
    assert any(cell.state == "refused" and "io_uring is switched off" in cell.reason for cell in found.cells)


def test_a_record_of_another_version_is_left_out_and_named(copied: Path) -> None:
    path = next((copied / "records").glob("raw-depth-*.json"))
    path.write_text(path.read_text().replace('{"version": 1,', '{"version": 7,', 1))
    assert any(f"{path.name} has version 7" in problem for problem in read(copied).problems)
    assert f"{path.name} has version 7" in write(copied).read_text()


@pytest.mark.parametrize("content", ["", "{", "[]", '{"version": 1}', '{"version": 1, "run": 3}', "\x00\xff"])
def test_a_damaged_record_is_left_out_and_named(copied: Path, content: str) -> None:
    path = next((copied / "records").glob("raw-depth-*.json"))
    path.write_bytes(content.encode("latin-1"))
    assert any(path.name in problem for problem in read(copied).problems)
    assert path.name in write(copied).read_text()


@pytest.mark.parametrize("name", ["study.json", "plan.json", "journal.ndjson"])
def test_a_missing_document_is_made_up_for_by_the_records(copied: Path, name: str) -> None:
    (copied / name).unlink()
    found = read(copied)
    assert len(found.measured) == len(list((copied / "records").glob("*.json")))
    assert {study.name for study in found.studies} >= {"dana-ladder", "raw-depth"}
    write(copied)


def test_factors_come_from_labels_where_there_is_no_plan(copied: Path) -> None:
    (copied / "plan.json").unlink()
    depths = {cell.factors["depth"] for cell in read(copied).of("raw-depth")}
    assert depths == {1, 4, 16, 64}


def test_records_of_two_machines_are_said_to_be(copied: Path) -> None:
    path = next((copied / "records").glob("raw-depth-*.json"))
    record = json.loads(path.read_text())
    record["environment"]["kernel"] = "6.12.0-new"
    path.write_text(json.dumps(record))
    assert "The records do not agree on the kernel: " in write(copied).read_text()


def test_a_refusal_in_the_plan_gives_its_reason(tmp_path: Path) -> None:
    folder.write(tmp_path, [studies.htap()], stop_after=1)
    plan = json.loads((tmp_path / "plan.json").read_text())
    plan["cells"][5]["refusal"] = {"reason": "No room.", "fix": "Make some."}
    (tmp_path / "plan.json").write_text(json.dumps(plan))
    cell = read(tmp_path).cells[5]
    assert (cell.state, cell.reason, cell.fix) == ("refused", "No room.", "Make some.")


def test_an_empty_folder_gives_a_sentence(tmp_path: Path) -> None:
    for directory in (tmp_path, tmp_path / "absent"):
        with pytest.raises(ReportError) as caught:
            write(directory)
        assert isinstance(caught.value, AssayError)
        assert str(directory) in caught.value.message
        assert caught.value.hint


def test_a_folder_that_cannot_be_written_to_keeps_its_earlier_report(
    copied: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    earlier = write(copied)
    content = earlier.read_bytes()

    def full(*_arguments: object, **_more: object) -> int:
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(Path, "write_text", full)
    with pytest.raises(ReportError, match="No space left on device"):
        write(copied)
    monkeypatch.undo()
    assert earlier.read_bytes() == content
    assert not list(copied.glob(".report.html*"))


def test_a_damaged_histogram_costs_one_curve_and_not_the_report(copied: Path) -> None:
    for path in (copied / "records").glob("raw-depth-*.json"):
        record = json.loads(path.read_text())
        record["classes"][0]["service"]["histogram"] = "HISTFAAAA not one"
        path.write_text(json.dumps(record))
    assert 'id="fig-raw-depth-cdf"' not in write(copied).read_text()
