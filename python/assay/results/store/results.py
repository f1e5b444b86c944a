"""A result folder as tables."""

from __future__ import annotations

import json
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import cast

from assay.error import AssayError
from assay.record import Record
from assay.results import collector, work, work_cell
from assay.results.files import documents, read_json
from assay.results.journal import last_states, read
from assay.results.repeated import RepeatedTwins
from assay.results.store import flatten, merge, work_rows
from assay.results.work import Work
from assay.untyped import Json


@dataclass(frozen=True)
class Results:
    """Tables of one result folder: rows as they were flattened, and the Parquet files that hold them."""

    directory: Path
    tables: dict[str, list[Json]]


def load(directory: Path) -> Results:
    """Reads the records of a result folder and writes its tables as Parquet."""
    from assay.results.store import tables

    found = _tables(directory)
    for name, rows in found.items():
        tables.write(directory, name, rows)
    return Results(directory, found)


def _tables(directory: Path) -> dict[str, list[Json]]:
    records, works = _records(directory), _works(directory)
    every = [*records, *((cell, record) for cell, record, _ in works)]
    classes = [row for cell, record in records for row in flatten.class_rows(cell, record)]
    cells = list(merge.cell_rows(classes))
    missing = [row for cell, record in every for row in flatten.not_measured_rows(cell, record)]
    return {
        "runs": [flatten.run_row(cell, record) for cell, record in records],
        "classes": classes,
        "intervals": [row for cell, record in records for row in flatten.interval_rows(cell, record)],
        "verdicts": [row for cell, record in every for row in flatten.verdict_rows(cell, record)],
        "not_measured": [*_refused(directory), *missing],
        "cells": cells,
        "works": [work_rows.work_row(*one) for one in works],
        "work_figures": [row for one in works for row in work_rows.figure_rows(*one)],
        "interference": list(merge.interference_rows(cells)),
    }


def _works(directory: Path) -> list[tuple[str, Record, Work]]:
    """Work records with their cells; what cannot be read is left out, as the report leaves it out and says so."""
    found = work.read(directory, _parsed, [])
    by_name = {one.id: one for one in found}
    cells = work_cell.cells(found)
    return [(one.id, one.record, by_name[one.record["job"]["labels"]["work"]]) for one in cells if one.record]


def _parsed(path: Path, _: str) -> Json | None:
    try:
        document = json.loads(path.read_text(encoding="utf-8"))
    except (OSError, ValueError):
        return None
    return document if isinstance(document, dict) else None


@collector.paused()
def _records(directory: Path) -> list[tuple[str, Record]]:
    found, twins = [], RepeatedTwins()
    for path in documents(directory / "records"):
        record = read_json(path, twins)
        if not isinstance(record, dict) or "classes" not in record or "verdict" not in record:
            raise AssayError(f"{path} is no record", hint="remove it and run its cell again with --resume")
        found.append((path.stem, cast("Record", record)))
    return found


def _refused(directory: Path) -> Iterator[Json]:
    """Cells that were refused or failed, from plan and journal; a folder of work records alone has neither."""
    if not (directory / "plan.json").is_file():
        return
    planned = {cell["id"]: cell for cell in read_json(directory / "plan.json")["cells"]}
    for cell, entry in last_states(read(directory / "journal.ndjson")).items():
        if entry["state"] in ("refused", "failed") and cell in planned:
            yield _refused_row(planned[cell], entry)


def _refused_row(planned: Json, entry: Json) -> Json:
    return {
        "run_id": None,
        "cell": planned["id"],
        "study": planned["study"],
        "scenario": planned["scenario"],
        "repeat": planned["repeat"],
        **{f"factor_{key}": str(value) for key, value in planned["factors"].items()},
        "state": entry["state"],
        "what": planned["job"]["name"],
        "reason": entry["reason"],
        "fix": entry["fix"],
    }
