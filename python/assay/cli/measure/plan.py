"""A plan as a table for people."""

from __future__ import annotations

from collections.abc import Iterable

from rich.console import Console
from rich.table import Table

from assay.cli.output import sentences
from assay.study.cell import Cell, Refusal
from assay.study.plan import Plan
from assay.study.request import Prepared
from assay.units.parse import format_bytes, format_seconds


def show(prepared: Prepared) -> None:
    """Prints cells, time, bytes written, room needed and wear."""
    console = Console(highlight=False)
    if console.is_terminal:
        console.print(_table(prepared.plan))
    else:
        for cell in _possible(prepared.plan):
            print("  ".join(_row(cell)))
    for line in _totals(prepared):
        print(line)


def _table(plan: Plan) -> Table:
    table = Table(box=None, header_style="bold", padding=(0, 2, 0, 0))
    for heading, justify in (("cell", "left"), ("time", "right"), ("written at most", "right")):
        table.add_column(heading, justify=justify)  # type: ignore[arg-type]
    for cell in _possible(plan):
        table.add_row(*_row(cell))
    return table


def _possible(plan: Plan) -> list[Cell]:
    """Cells that can be measured here; the others are said together, a line for each reason."""
    return [cell for cell in plan.cells if cell.refusal is None]


def _row(cell: Cell) -> tuple[str, str, str]:
    return cell.job["name"], format_seconds(cell.seconds), format_bytes(cell.bytes_written)


def _totals(prepared: Prepared) -> Iterable[str]:
    plan = prepared.plan
    yield ""
    yield f"{len(plan.cells) - len(plan.refused)} cells in about {format_seconds(plan.seconds)}"
    wear = ", ".join(f"{share:.2%} of {name}" for name, share in plan.drive_writes.items())
    yield f"written at most: {format_bytes(plan.bytes_written)}" + (f" ({wear})" if wear else "")
    for place, size in plan.bytes_needed.items():
        yield f"room needed: {format_bytes(size)} in {place}"
    for request in prepared.requests:
        for key, change in request.changes.items():
            yield f"changed: {request.name} {key} = {change.used} (declared: {change.declared})"
    refusals: dict[Refusal, int] = {}
    for cell in plan.refused:
        if cell.refusal:
            refusals[cell.refusal] = refusals.get(cell.refusal, 0) + 1
    for refusal, count in refusals.items():
        yield f"not measured ({count}): {sentences(refusal.reason, refusal.fix)}"
