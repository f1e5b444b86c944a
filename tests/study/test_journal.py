"""The journal survives a crash at every byte."""

from __future__ import annotations

import errno
import json
import os
from pathlib import Path
from typing import Any

import pytest
from assay.error import AssayError
from assay.results.journal import CellJournal, last_states
from assay.study import execute as executing
from assay.study.cell import Cell
from assay.study.execute import execute
from assay.study.interrupts import Interrupts
from assay.study.plan import Plan
from assay.study.progress import Silent

RECORD = {"classes": [], "verdict": {"status": "valid", "reasons": []}}


class Run:
    """A run that ends at once with a record."""

    pid = 0

    def events(self) -> list[dict[str, Any]]:
        return [{"event": "finished", "record": RECORD}]

    def wait(self) -> int:
        return 0

    def interrupt(self) -> None: ...

    def kill(self) -> None: ...


class Binary:
    """Counts what is run."""

    def __init__(self) -> None:
        self.started: list[str] = []

    def start(self, job: dict[str, Any], _log: object, _command: object = ()) -> Run:
        self.started.append(job["name"])
        return Run()


def plan_of(*names: str) -> Plan:
    cells = [
        Cell(
            f"{name}-r1",
            "s",
            "all",
            1,
            {},
            {"name": f"{name}-r1", "window": {"warmup_s": 0, "measure_s": 1}, "targets": []},
        )
        for name in names
    ]
    return Plan(cells, 1, "now")


def execute_with(binary: Binary, plan: Plan, directory: Path) -> executing.Ending:
    return execute(plan, directory, binary, Silent(), Interrupts())  # type: ignore[arg-type]


def test_a_run_cut_off_at_any_byte_of_its_journal_is_continued_without_doing_finished_cells_again(
    tmp_path: Path,
) -> None:
    plan = plan_of("a", "b", "c")
    whole = tmp_path / "whole"
    whole.mkdir()
    execute_with(Binary(), plan, whole)
    content = (whole / "journal.ndjson").read_bytes()
    for length in range(len(content) + 1):
        directory = tmp_path / f"cut-{length}"
        (directory / "records").mkdir(parents=True)
        (directory / "journal.ndjson").write_bytes(content[:length])
        lines = [json.loads(line) for line in content[:length].split(b"\n")[:-1]]
        finished = {entry["cell"] for entry in lines if entry["state"] == "finished"}
        for cell in finished:
            (directory / "records" / f"{cell}.json").write_text(json.dumps(RECORD))
        binary = Binary()
        ending = execute_with(binary, plan, directory)
        assert set(binary.started) == {"a-r1", "b-r1", "c-r1"} - finished, f"cut at byte {length}"
        assert ending.exit_code == 0
        states = [json.loads(line)["state"] for line in (directory / "journal.ndjson").read_text().splitlines()]
        assert states.count("finished") == 3


def test_a_finished_cell_without_its_record_is_done_again(tmp_path: Path) -> None:
    plan = plan_of("a", "b")
    execute_with(Binary(), plan, tmp_path)
    (tmp_path / "records" / "a-r1.json").unlink()
    binary = Binary()
    execute_with(binary, plan, tmp_path)
    assert binary.started == ["a-r1"]


def test_a_damaged_line_in_the_middle_is_an_error_and_nothing_is_run(tmp_path: Path) -> None:
    (tmp_path / "journal.ndjson").write_text(
        '{"cell": "a", "state": "started"}\nrubbish\n{"cell": "a", "state": "finished"}\n'
    )
    binary = Binary()
    with pytest.raises(AssayError) as caught:
        execute_with(binary, plan_of("a"), tmp_path)
    assert "line 2" in caught.value.message
    assert not binary.started


def test_two_runs_never_write_to_one_folder(tmp_path: Path) -> None:
    path = tmp_path / "journal.ndjson"
    with CellJournal(path), pytest.raises(AssayError) as caught:
        CellJournal(path)
    assert "another run" in caught.value.message
    CellJournal(path).close()


def test_each_line_is_on_disk_before_the_run_goes_on(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    synced: list[int] = []
    real = os.fsync

    def sync(descriptor: int) -> None:
        synced.append(descriptor)
        real(descriptor)

    monkeypatch.setattr(os, "fsync", sync)
    with CellJournal(tmp_path / "journal.ndjson") as journal:
        journal.add("a", "started")
        journal.add("a", "finished")
    assert len(synced) == 2


@pytest.mark.parametrize("after", [0, 7, 40])
def test_a_full_disk_in_mid_line_leaves_the_journal_readable(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, after: int
) -> None:
    path = tmp_path / "journal.ndjson"
    real, calls = os.write, [0]

    def full(descriptor: int, data: bytes) -> int:
        calls[0] += 1
        if calls[0] == 1 and after:
            return real(descriptor, data[:after])
        raise OSError(errno.ENOSPC, "No space left on device")

    with CellJournal(path) as journal:
        journal.add("a", "finished")
        with monkeypatch.context() as patch:
            patch.setattr(os, "write", full)
            with pytest.raises(AssayError) as caught:
                journal.add("b", "started")
    assert "full" in caught.value.message
    assert "earlier results are intact" in caught.value.message
    with CellJournal(path) as journal:
        assert {cell: entry["state"] for cell, entry in last_states(journal.entries).items()} == {"a": "finished"}
