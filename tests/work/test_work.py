"""Work records: made, judged, kept, shown."""

from __future__ import annotations

import io
import json
from pathlib import Path

import jsonschema  # type: ignore[import-untyped]
import pytest
from assay import home
from assay.binary import Binary
from assay.binary import said as told
from assay.error import AssayError
from assay.study import outcome
from assay.study.work import WorkDraft, check, figure, folder, part, run_work, show
from assay.study.work.view import label, said
from assay.untyped import Json
from rich.console import Console

SCHEMA = json.loads((home.schema() / "work.schema.json").read_text())


def draft(tmp_path: Path) -> WorkDraft:
    made = WorkDraft("database", "duckdb", "1.4", "tpch", parameters={"scale": 0.01}, measured_s=1.5)
    made.lies_on("data", str(tmp_path), tmp_path)
    made.parts.append(part("q01", {"wall_s": figure(0.25, "s")}, facts={"class": "sequential"}))
    made.figures["sum_s"] = figure(0.25, "s", "measured", "derived")
    made.checks.append(check("answer-q01", True, "all 4 rows agree"))
    made.lacks("device bytes", "the folder is on tmpfs", "name a folder on a drive")
    return made


@pytest.fixture
def binary(assayer: Path) -> Binary:
    return Binary(assayer)


def test_a_record_made_here_follows_the_schema(tmp_path: Path, binary: Binary) -> None:
    record = draft(tmp_path).record(binary)
    jsonschema.validate(record, SCHEMA)
    assert record["verdict"]["status"] == "valid"
    assert record["environment"]["targets"][0]["path"] == str(tmp_path)


def test_a_failed_check_makes_it_invalid_and_the_command_fail(tmp_path: Path, binary: Binary) -> None:
    made = draft(tmp_path)
    made.checks.append(check("answer-q03", False, "row 2 differs"))
    record = made.record(binary)
    jsonschema.validate(record, SCHEMA)
    assert record["verdict"]["status"] == "invalid"
    assert record["verdict"]["reasons"][0]["code"] == "check-failed"
    assert "row 2 differs" in record["verdict"]["reasons"][0]["evidence"]
    assert outcome.of_work(record).exit_code == 1
    assert outcome.of_work(draft(tmp_path).record(binary)).exit_code == 0


@pytest.mark.parametrize(("succeeded", "status"), [(1000, "suspect"), (99, "invalid")])
def test_failures_are_judged_by_their_share(tmp_path: Path, binary: Binary, succeeded: int, status: str) -> None:
    made = draft(tmp_path)
    made.parts = [part("new_order", {}, succeeded=succeeded, failed=1)]
    assert made.record(binary)["verdict"]["status"] == status


def test_a_stand_in_is_named(tmp_path: Path, binary: Binary) -> None:
    made = draft(tmp_path)
    made.lies_on("log", "a folder in memory", tmp_path, emulated=True)
    verdict = made.record(binary)["verdict"]
    assert verdict["status"] == "valid"
    assert [one["code"] for one in verdict["reasons"]] == ["emulated-target"]


def test_records_are_kept_and_found_again(tmp_path: Path, binary: Binary) -> None:
    first, second = draft(tmp_path).record(binary), draft(tmp_path).record(binary)
    paths = [folder.save(tmp_path / "out", record) for record in (first, second)]
    assert len(set(paths)) == 2
    assert [one["run"]["id"] for one in folder.load(tmp_path / "out")] == [first["run"]["id"], second["run"]["id"]]
    assert folder.load(tmp_path / "nowhere") == []


@pytest.mark.parametrize(
    ("text", "word"), [("{", "not"), ("[]", "no work record"), ('{"version": 1}', "no work record")]
)
def test_a_file_cut_short_is_named(tmp_path: Path, text: str, word: str) -> None:
    (tmp_path / "work").mkdir()
    (tmp_path / "work" / "a.json").write_text(text)
    with pytest.raises(AssayError, match=word) as caught:
        folder.load(tmp_path)
    assert "a.json" in caught.value.message
    assert caught.value.hint


def test_another_version_is_refused(tmp_path: Path, binary: Binary) -> None:
    path = folder.save(tmp_path, draft(tmp_path).record(binary))
    path.write_text(path.read_text().replace('"version": 1,', '"version": 9,', 1))
    with pytest.raises(AssayError, match="version 9"):
        folder.load(tmp_path)


def test_people_see_parts_checks_and_verdict(tmp_path: Path, binary: Binary) -> None:
    out = io.StringIO()
    show(draft(tmp_path).record(binary), Console(file=out, width=160))
    text = out.getvalue()
    for words in ("tpch on duckdb 1.4", "q01", "250 ms", "all 1 checks passed", "not measured: device bytes", "valid"):
        assert words in text


def test_figures_say_where_they_come_from() -> None:
    assert said(figure(1234.0, "ops/s")) == "1\u00a0234/s"
    assert said(figure(0.705, "1/op")) == "0.705"
    assert said(figure(2.0, "s", "modelled", "simulation", band=(1.0, 3.0))) == "2.00 s (1.00 s to 3.00 s) modelled"
    assert label("transactions_per_s") == "transactions"


def fake(tmp_path: Path, *lines: str, code: int = 0) -> Binary:
    path = tmp_path / "assayer"
    said = "\n".join(f"echo '{line}'" for line in lines)
    path.write_text(f"#!/bin/sh\ncat >/dev/null\n{said}\nexit {code}\n")
    path.chmod(0o755)
    return Binary(path)


def test_events_are_handed_on_and_the_record_returned(tmp_path: Path) -> None:
    seen: list[Json] = []
    binary = fake(tmp_path, '{"event": "progress", "done": 0.5}', '{"event": "worked", "record": {"checks": []}}')
    assert run_work(binary, ["index"], {}, seen.append) == [{"checks": []}]
    assert [event["event"] for event in seen] == ["progress"]


def test_a_refusal_becomes_an_error_with_its_words(tmp_path: Path) -> None:
    binary = fake(
        tmp_path,
        '{"event": "refused", "reason": "the pool is full", "fix": "take a larger one", "exit_code": 4}',
        code=4,
    )
    with pytest.raises(AssayError, match="the pool is full") as caught:
        run_work(binary, ["index"], {})
    assert (caught.value.hint, caught.value.code) == ("take a larger one", 4)


def test_a_program_that_says_nothing_is_an_error(tmp_path: Path) -> None:
    with pytest.raises(AssayError, match="exit code 7"):
        run_work(fake(tmp_path, code=7), ["index"], {})


def test_a_panic_is_told_by_what_it_met_and_not_by_its_last_line() -> None:
    log = "thread 'main' (7) panicked at f64.rs:1502:9:\nmin > max\nnote: run with RUST_BACKTRACE=1\n"
    assert told(log)[0] == "min > max"
    assert "defect" in told(log)[1]
    assert told(log + "error: the index is damaged\nhint: make it anew\n") == ("the index is damaged", "make it anew")
