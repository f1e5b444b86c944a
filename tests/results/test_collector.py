"""The collector of cycles rests while a folder is read, and works again whatever came of it."""

from __future__ import annotations

import gc
import json
from pathlib import Path

import pytest
from assay.results import collector, folder, row
from assay.results.folder import ReportError


def test_it_works_again_afterwards_as_it_did_before() -> None:
    assert gc.isenabled()
    with collector.paused():
        assert not gc.isenabled()
        with collector.paused():
            assert not gc.isenabled()
        assert not gc.isenabled()
    assert gc.isenabled()


def test_it_rests_while_records_are_read(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    seen: list[bool] = []
    plain = json.loads

    def loads(text: str) -> object:
        seen.append(gc.isenabled())
        return plain(text)

    (tmp_path / "plan.json").write_text('{"version": 1, "cells": [{"id": "a"}]}')
    monkeypatch.setattr(json, "loads", loads)
    assert [cell.id for cell in folder.read(tmp_path).cells] == ["a"]
    assert seen == [False]
    assert gc.isenabled()


def test_it_works_again_after_a_folder_that_is_none(tmp_path: Path) -> None:
    with pytest.raises(ReportError):
        folder.read(tmp_path / "missing")
    assert gc.isenabled()


def test_rows_of_a_cell_are_made_once(tmp_path: Path) -> None:
    record = {"job": {"classes": [{"name": "scan"}]}, "classes": [{"name": "scan"}, {"name": "other"}]}
    cell = folder.Cell("a", "s", "all", 1, {}, "finished", "", "", record)  # type: ignore[arg-type]
    first, second = row.rows([cell]), row.rows([cell])
    assert [one.name for one in first] == ["scan", "other"]
    assert all(one is same for one, same in zip(first, second, strict=True))


@pytest.mark.parametrize("command", [False, True])
def test_only_a_command_leaves_what_it_made_until_it_ends(command: bool, monkeypatch: pytest.MonkeyPatch) -> None:
    left: list[int] = []
    monkeypatch.setattr(collector, "_alone", False)
    monkeypatch.setattr(gc, "freeze", lambda: left.append(1))
    if command:
        collector.process_is_a_command()
    with collector.done_at_exit():
        assert not gc.isenabled()
    assert gc.isenabled()
    assert bool(left) == command
