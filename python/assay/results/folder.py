"""A result folder as it lies there: complete, cut short, damaged or of another version. It is only read."""

from __future__ import annotations

import json
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, cast

from assay.error import BAD_JOB, AssayError
from assay.record import Record
from assay.results import collector, work
from assay.results.files import documents
from assay.results.repeated import RepeatedTwins
from assay.results.work import Work
from assay.untyped import Json

VERSION = 1
_PARTS: dict[str, type] = {
    "run": dict,
    "job": dict,
    "environment": dict,
    "window": dict,
    "classes": list,
    "process_cpu": dict,
    "devices": list,
    "not_measured": list,
    "verdict": dict,
}


class ReportError(AssayError):
    """The folder holds nothing that could be reported, or cannot be written to."""


@dataclass(frozen=True)
class Cell:
    """One cell of a study: what was planned, how far it came, and its record where there is one."""

    id: str
    study: str
    scenario: str
    repeat: int
    factors: Json
    state: str
    reason: str
    fix: str
    record: Record | None
    made: dict[type, Any] = field(default_factory=dict, init=False, repr=False, compare=False)
    """What was made of it, by its type: a page asks for the rows of every cell a dozen times."""


@dataclass(frozen=True)
class Study:
    """A study as its file declares it."""

    name: str
    title: str
    question: str
    source: str
    figures: tuple[Json, ...]
    parameters: Json
    notes: tuple[str, ...]
    scaled: Json


@dataclass(frozen=True)
class Folder:
    """All that a result folder says."""

    directory: Path
    studies: tuple[Study, ...]
    cells: tuple[Cell, ...]
    command: tuple[str, ...]
    created_at: str
    problems: tuple[str, ...]
    works: tuple[Work, ...] = ()
    others: tuple[tuple[Path, object], ...] = ()
    """Records that were left out as they are of another version, and their versions."""

    @property
    def measured(self) -> tuple[Cell, ...]:
        """Cells that left a record."""
        return tuple(cell for cell in self.cells if cell.record is not None)

    def of(self, study: str) -> tuple[Cell, ...]:
        """Cells of one study, in the order of the plan."""
        return tuple(cell for cell in self.cells if cell.study == study)


_MISSING = " is missing; what it would say is taken from the records."


@dataclass
class _Reader:
    directory: Path
    problems: list[str] = field(default_factory=list)
    twins: RepeatedTwins = field(default_factory=RepeatedTwins)
    others: list[tuple[Path, object]] = field(default_factory=list)

    def document(self, name: str) -> Json:
        path = self.directory / name
        if not path.is_file():
            self.problems.append(f"{name}{_MISSING}")
            return {}
        return self.parsed(path, name) or {}

    def parsed(self, path: Path, name: str) -> Json | None:
        """A JSON object; none, and a problem more, where the file holds none."""
        try:
            found = self.twins.parsed(path.read_bytes())
        except (OSError, ValueError) as error:
            self.problems.append(f"{name} cannot be read ({error}); it is left out.")
            return None
        if isinstance(found, dict):
            return found
        self.problems.append(f"{name} is not a JSON object; it is left out.")
        return None

    def records(self) -> dict[str, Record]:
        found = ((path.stem, self._record(path)) for path in documents(self.directory / "records"))
        return {cell: record for cell, record in found if record is not None}

    def _record(self, path: Path) -> Record | None:
        name = f"records/{path.name}"
        record = self.parsed(path, name)
        if record is None:
            return None
        if record.get("version") != VERSION:
            seen = record.get("version", "none")
            self.others.append((path, seen))
            self.problems.append(
                f"{name} has version {seen}, this report reads version {VERSION}; use the assay that wrote it."
            )
            return None
        missing = [part for part, kind in _PARTS.items() if not isinstance(record.get(part), kind)]
        if missing:
            self.problems.append(f"{name} has no valid {', '.join(missing)}; it is left out.")
            return None
        return cast("Record", record)

    def states(self) -> dict[str, Json]:
        """The last line of the journal for each cell; a line that was cut off in mid-write ends it."""
        path = self.directory / "journal.ndjson"
        if not path.is_file():
            return {}
        last: dict[str, Json] = {}
        for line in path.read_text(encoding="utf-8", errors="replace").splitlines():
            entry = _line(line)
            if entry is None:
                self.problems.append("journal.ndjson has a line that was cut off; the rest is used.")
            elif entry:
                last[str(entry.get("cell"))] = entry
        return last


def _line(text: str) -> Json | None:
    if not text.strip():
        return {}
    try:
        found = json.loads(text)
    except ValueError:
        return None
    return found if isinstance(found, dict) else None


@collector.paused()
def read(directory: Path) -> Folder:
    """Reads a result folder. Raises `ReportError` where it holds neither a plan nor a record."""
    directory = Path(directory)
    if not directory.is_dir():
        raise ReportError(f"{directory} is not a folder", hint="name the folder that a run wrote", code=BAD_JOB)
    if (directory / "lab.json").is_file():
        message = (
            f"{directory} holds records of the lab: they show behaviour, not speed, and there is no report of them"
        )
        raise ReportError(message, hint=f"read {directory / 'lab.json'}", code=BAD_JOB)
    reader = _Reader(directory)
    works = work.read(directory, reader.parsed, reader.problems)
    alone = bool(works) and not (directory / "records").is_dir() and not (directory / "plan.json").is_file()
    study, plan = ({}, {}) if alone else (reader.document("study.json"), reader.document("plan.json"))
    records, states = reader.records(), reader.states()
    cells = tuple(_cells(_of_io(plan, works), records, states))
    if not cells and not works:
        seen = " ".join(one for one in reader.problems if not one.endswith(_MISSING))
        message = f"{directory} holds no plan and no record that can be read. {seen}".strip()
        raise ReportError(message, hint="name a folder that a run wrote", code=BAD_JOB)
    return Folder(
        directory=directory,
        studies=_studies(study, cells),
        cells=cells,
        command=tuple(str(word) for word in study.get("command") or ()),
        created_at=str(study.get("created_at") or ""),
        problems=tuple(dict.fromkeys(reader.problems)),
        works=works,
        others=tuple(reader.others),
    )


def _of_io(plan: Json, works: tuple[Work, ...]) -> Json:
    """The plan without the work that left a record: those are cells of their own kind."""
    there = {one.id for one in works}
    return plan | {
        "cells": [one for one in plan.get("cells") or () if not (isinstance(one, dict) and one.get("id") in there)]
    }


def _cells(plan: Json, records: dict[str, Record], states: dict[str, Json]) -> Iterator[Cell]:
    planned = [entry for entry in plan.get("cells") or () if isinstance(entry, dict) and entry.get("id")]
    known = {str(entry["id"]) for entry in planned}
    for entry in planned:
        yield _cell(entry, records.get(str(entry["id"])), states.get(str(entry["id"]), {}))
    for cell, record in records.items():
        if cell not in known:
            yield _cell(_from_labels(cell, record), record, states.get(cell, {}))


def _from_labels(cell: str, record: Record) -> Json:
    labels = record["job"].get("labels") or {}
    factors = {key[7:]: _number(value) for key, value in labels.items() if key.startswith("factor.")}
    return {
        "id": cell,
        "study": labels.get("study"),
        "scenario": labels.get("scenario"),
        "repeat": _number(labels.get("repeat", "0")),
        "factors": factors,
    }


def _number(text: Any) -> Any:
    for kind in (int, float):
        try:
            return kind(text)
        except (TypeError, ValueError):
            continue
    return text


def _cell(entry: Json, record: Record | None, last: Json) -> Cell:
    refusal = entry.get("refusal") or {}
    state = "finished" if record is not None else str(last.get("state") or ("refused" if refusal else "none"))
    repeat = _number(entry.get("repeat") or 0)
    return Cell(
        id=str(entry["id"]),
        study=str(entry.get("study") or "unnamed"),
        scenario=str(entry.get("scenario") or "all"),
        repeat=repeat if isinstance(repeat, int) else 0,
        factors=dict(entry.get("factors") or {}),
        state=state,
        reason=str(last.get("reason") or refusal.get("reason") or _default_reason(state)),
        fix=str(last.get("fix") or refusal.get("fix") or _default_fix(state)),
        record=record,
    )


def _default_reason(state: str) -> str:
    known = {
        "finished": "The journal says that it finished, but its record is not there or cannot be read.",
        "started": "It was under way when the run ended.",
        "interrupted": "It was interrupted.",
        "none": "The run ended before its turn.",
    }
    return known.get(state, "No reason was written down.")


def _default_fix(state: str) -> str:
    return "Continue the run with --resume." if state in {"started", "interrupted", "none", "finished"} else ""


def _studies(document: Json, cells: tuple[Cell, ...]) -> tuple[Study, ...]:
    declared = [_study(entry) for entry in document.get("studies") or () if isinstance(entry, dict)]
    names = {study.name for study in declared}
    orphans = [name for name in dict.fromkeys(cell.study for cell in cells) if name not in names]
    return tuple(declared + [_study({"name": name}) for name in orphans])


def _study(entry: Json) -> Study:
    name = str(entry.get("name") or "unnamed")
    return Study(
        name=name,
        title=str(entry.get("title") or name),
        question=str(entry.get("question") or ""),
        source=str(entry.get("source") or ""),
        figures=tuple(figure for figure in entry.get("figures") or () if isinstance(figure, dict)),
        parameters=dict(entry.get("parameters") or {}),
        notes=tuple(str(note) for note in entry.get("notes") or ()),
        scaled=dict(entry.get("scaled") or {}),
    )
