"""A study from wish to result folder: the one way in for every command that measures."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

from assay import packages
from assay.binary import Binary
from assay.error import MISSED, AssayError
from assay.results.files import read_json, require_ours
from assay.results.journal import last_states, read
from assay.study import folder, noisy, plan, scratch
from assay.study.consent import Consent, given
from assay.study.execute import Ending, Observer, execute
from assay.study.interrupts import Interrupts
from assay.study.plan import Plan
from assay.study.request import Prepared
from assay.untyped import Json


@dataclass
class Summary:
    """What a run leaves, in short."""

    directory: Path
    ending: Ending
    verdicts: Counter[str] = field(default_factory=Counter)
    not_measured: list[Json] = field(default_factory=list)
    problems: list[str] = field(default_factory=list)
    missed: list[Json] = field(default_factory=list)
    judges: bool = True
    """Whether a missed objective ends the command with a code of its own."""

    def document(self) -> Json:
        """As `--json` prints it."""
        states = ("finished", "refused", "failed", "interrupted", "started", "waiting")
        return {
            "directory": str(self.directory),
            "exit_code": self.exit_code,
            "cells": {state: self.ending.count(state) for state in states},
            "verdicts": {status: self.verdicts[status] for status in ("valid", "suspect", "invalid")},
            "not_measured": self.not_measured,
            "problems": self.problems,
            "missed_objectives": self.missed,
        }

    @property
    def exit_code(self) -> int:
        """Exit code of the command."""
        return self.ending.exit_code or int(bool(self.problems)) or (MISSED if self.missed and self.judges else 0)


def start(prepared: Prepared, directory: Path, binary: Binary, observer: Observer, command: Sequence[str]) -> Summary:
    """Runs a plan into a new result folder."""
    folder.create(directory, prepared, command)
    return _run(prepared.plan, directory, binary, observer)


def resume(
    directory: Path, binary: Binary, observer: Observer, allowed: Consent, command: str = "assay run"
) -> Summary:
    """Continues the run of a result folder; finished cells are not done again. Leave to destroy is given anew."""
    require_ours(directory, "plan.json", "journal.ndjson")
    planned = plan.load(directory / "plan.json")
    again = f"{command} --resume {directory}"
    cells = given(planned.cells, planned.destroys, allowed, again)
    return _run(replace(planned, cells=cells), directory, binary, observer)


def _run(planned: Plan, directory: Path, binary: Binary, observer: Observer) -> Summary:
    folders = scratch.folders_of_cells(planned.cells)
    if offered := scratch.offer(scratch.leftovers(binary, folders)):
        observer.note(offered)
    with scratch.held(folders), Interrupts() as interrupts:
        try:
            ending = execute(planned, directory, binary, observer, interrupts)
        finally:
            observer.end()
            cleaned = _try(lambda: scratch.clean(binary, folders))
    return _finish(planned, directory, ending, [cleaned] if cleaned else [])


def _finish(planned: Plan, directory: Path, ending: Ending, problems: list[str]) -> Summary:
    """What follows the last cell. A step that fails is told; the records are there already."""
    problems += [problem for step in (
        lambda: noisy.judge(planned.cells, directory / "records"),
        lambda: _tables(directory),
    ) if (problem := _try(step))]  # fmt: skip
    return Summary(directory, ending, _verdicts(directory), not_measured(directory), problems, missed(directory))


def _tables(directory: Path) -> None:
    """Tables are written at once where that needs no further packages; `assay query` writes them otherwise."""
    if packages.there("pyarrow"):
        from assay.results import store

        store.load(directory)


def _try(step: Any) -> str:
    try:
        step()
    except AssayError as error:
        return error.message
    return ""


def _verdicts(directory: Path) -> Counter[str]:
    paths = (path for name in ("records", "work") for path in (directory / name).glob("*.json"))
    return Counter(str(read_json(path)["verdict"]["status"]) for path in paths)


def missed(directory: Path) -> list[Json]:
    """Objectives that were missed: cell, class, metric, bound, and what was seen (`at_least` where that is a lower
    bound)."""
    found = []
    for path in sorted((directory / "records").glob("*.json")):
        for result in read_json(path).get("classes") or ():
            outcome = result.get("objective")
            if outcome and not outcome["met"]:
                seen = {"seen": outcome["seen"], "at_least": outcome.get("at_least", False)}
                found.append({"cell": path.stem, "class": result["name"], **outcome["objective"], **seen})
    return found


def not_measured(directory: Path) -> list[Json]:
    """Cells that were refused or failed, each reason once, with how many cells it concerns."""
    planned = {cell.id: cell for cell in plan.load(directory / "plan.json").cells}
    found: dict[tuple[str, str, str], Json] = {}
    for cell, entry in last_states(read(directory / "journal.ndjson")).items():
        if entry["state"] not in ("refused", "failed") or cell not in planned:
            continue
        key = (planned[cell].study, entry["state"], entry["reason"])
        told = {"study": key[0], "state": key[1], "reason": key[2], "fix": entry["fix"]}
        one = found.setdefault(key, {**told, "exit_code": entry["exit_code"], "cells": []})
        one["cells"].append(cell)
    return list(found.values())
