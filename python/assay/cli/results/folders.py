"""`assay report`, `assay query` and `assay fio`."""

from __future__ import annotations

import csv
import json
import sys
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from assay.cli import output
from assay.cli.measure import damage
from assay.cli.parts import part
from assay.error import BAD_JOB, DONE, AssayError, did_you_mean
from assay.results import collector
from assay.results.files import read_json
from assay.study import folder

_WIDEST = 60


def write_report(directory: Path | None, export: bool, pdf: bool, as_json: bool) -> int:
    """Writes report.html, with `export` every figure as files, with `pdf` a page as PDF."""
    report, where = part("report"), directory or folder.newest()
    if part("fleet.folder").is_fleet(where):
        return _of_fleet(where, part("fleet.page").write(where), as_json)
    with collector.done_at_exit():
        path = report.write(where, export=export, pdf=pdf, warn=lambda found: damage.warn(where, found))
    short = path.with_suffix(".pdf") if pdf else None
    if as_json:
        output.emit({"report": str(path), "pdf": short and str(short), **report.document(where)})
        return DONE
    output.say(str(path))
    if short:
        output.say(str(short))
    return DONE


def _of_fleet(where: Path, path: Path, as_json: bool) -> int:
    """A fleet's page; figures as files and as PDF are of each host's own folder."""
    if as_json:
        output.emit({"report": str(path), "pdf": None, "fleet": read_json(where / "fleet.json")})
    else:
        output.say(str(path))
    return DONE


def ask(sql: str, inside: Sequence[Path], as_json: bool, as_csv: bool) -> int:
    """Runs a query and prints what it finds."""
    from assay.results.store.query import run

    columns, rows = run(list(inside) or [folder.newest()], sql)
    with output.to_reader():
        _print(columns, rows, as_json, as_csv)
    return DONE


def _print(columns: Sequence[str], rows: Sequence[Sequence[Any]], as_json: bool, as_csv: bool) -> None:
    if as_json:
        output.emit([dict(zip(columns, row, strict=True)) for row in rows])
    elif as_csv or not sys.stdout.isatty():
        writer = csv.writer(sys.stdout)
        writer.writerow(columns)
        writer.writerows(rows)
    else:
        _table(columns, rows)


def _table(columns: Sequence[str], rows: Sequence[Sequence[Any]]) -> None:
    from rich.console import Console
    from rich.table import Table

    table = Table(box=None, header_style="bold", padding=(0, 2, 0, 0))
    for index, column in enumerate(columns):
        numeric = all(isinstance(row[index], int | float | None) for row in rows)
        table.add_column(column, justify="right" if numeric else "left", overflow="fold")
    for row in rows:
        table.add_row(*(_shown(value) for value in row))
    Console(highlight=False).print(table)


def _shown(value: Any) -> str:
    if value is None:
        return "-"
    text = f"{value:.6g}" if isinstance(value, float) else str(value)
    return text if len(text) <= _WIDEST else text[: _WIDEST - 3] + "..."


def import_fio(file: Path, out: Path | None, sections: Sequence[str], leave_out: bool, as_json: bool) -> int:
    """Makes a study of a job file of fio's."""
    imports = part("fio.imports")
    found = imports.import_file(file, out, sections, leave_out)
    if as_json:
        output.emit({"study": found.text, "notes": list(found.notes), "on": found.places, "file": out and str(out)})
        return DONE
    for note in found.notes:
        output.tell(f"note: {note}")
    output.say(str(out) if out else found.text)
    return DONE


def export_fio(cell: str, inside: Path | None, as_json: bool) -> int:
    """Prints fio's job file for a cell."""
    found = part("fio.exports").export_cell(_job(cell, inside))
    if as_json:
        output.emit({"jobfile": found.text, "notes": list(found.notes)})
        return DONE
    for note in found.notes:
        output.tell(f"note: fio cannot say {note}")
    output.say(found.text)
    return DONE


def crosscheck_fio(cell: str, inside: Path | None, repeats: int, as_json: bool) -> int:
    """Runs a cell by fio and by Assay in turn; says whether they agree."""
    return int(part("bench.crosscheck").run(_job(cell, inside), repeats, as_json))


def _job(cell: str, inside: Path | None) -> dict[str, Any]:
    """The job of a cell: by id or name as `assay query` prints them, with or without its repeat, or by its record."""
    if cell.endswith(".json"):
        document: dict[str, Any] = json.loads(Path(cell).read_text(encoding="utf-8"))
        return document.get("job", document) if "classes" in document and "run" in document else document
    planned = read_json((inside or folder.newest()) / "plan.json")["cells"]
    jobs: dict[str, dict[str, Any]] = {}
    for entry in planned:
        for name in (entry["id"], entry["id"].rpartition("-r")[0], entry["job"]["name"]):
            jobs.setdefault(name, entry["job"])
    if cell not in jobs:
        raise AssayError(f"there is no cell `{cell}`", hint=did_you_mean(cell, jobs), code=BAD_JOB)
    return jobs[cell]
