"""What a run says at its end."""

from __future__ import annotations

import sys
from collections.abc import Iterator
from pathlib import Path

from rich.console import Console

from assay.cli import output
from assay.results import labels
from assay.results.files import read_json
from assay.study import plan
from assay.study.cell import Cell
from assay.study.run import Summary
from assay.study.work.view import beside
from assay.units import show as show_units
from assay.untyped import Json


def show(summary: Summary, report: str | None, answer: list[str]) -> None:
    """The short answer, the verdicts, what was not measured, and where everything is."""
    for line in answer:
        output.say(line)
    if answer:
        output.say("")
    if works := _works(summary.directory):
        with output.to_reader():
            Console(width=None if sys.stdout.isatty() else 160).print(beside(works))
    for line in _lines(summary):
        output.say(line)
    output.say(f"report: {report}" if report else f"results: {summary.directory}")
    if summary.ending.interrupted or summary.ending.count("failed"):
        output.tell(f"continue: assay run --resume {summary.directory}")


def _works(directory: Path) -> dict[str, Json]:
    """Work records by the names of their cells, in the order of the study."""
    cells = [cell for cell in plan.load(directory / "plan.json").in_file_order if cell.program]
    paths = {_named(cell): cell.record_in(directory) for cell in cells}
    return {name: read_json(path) for name, path in paths.items() if path.is_file()}


def _named(cell: Cell) -> str:
    factors = [f"{labels.dimension(key)} {labels.value(key, value)}" for key, value in cell.factors.items()]
    return ", ".join([*factors, f"#{cell.repeat}"])


def _lines(summary: Summary) -> Iterator[str]:
    verdicts = ", ".join(f"{summary.verdicts[status]} {status}" for status in ("valid", "suspect", "invalid"))
    counts = [
        f"{summary.ending.count(state)} {state}" for state in ("failed", "interrupted") if summary.ending.count(state)
    ]
    yield f"verdicts: {verdicts}" + (f"; cells: {', '.join(counts)}" if counts else "")
    for one in summary.missed:
        yield f"objective missed: {_missed(one)}"
    for entry in summary.not_measured:
        state = "not measured" if entry["state"] == "refused" else "failed"
        told = output.sentences(entry["reason"], entry["fix"])
        yield f"{state}: {entry['study']} ({_cells(len(entry['cells']))}): {told}"
    for problem in summary.problems:
        yield f"problem: {problem}"


def _missed(one: Json) -> str:
    unit = "ns" if one["metric"].endswith("_ns") else "bytes/s" if "bytes" in one["metric"] else "ops/s"
    seen = ("\u2265 " if one["at_least"] else "") + show_units.figure(one["seen"], unit)
    return f"{one['class']} of {one['cell']}: {one['metric']} {seen}, asked for {show_units.figure(one['bound'], unit)}"


def _cells(count: int) -> str:
    return "1 cell" if count == 1 else f"{count} cells"
