"""What `assay twin coverage` prints."""

from __future__ import annotations

from assay.claim import coverage
from assay.claim.coverage import CoverageRow
from assay.cli import output
from assay.error import DONE
from assay.executor.work import WorkExecutor

_HEAD = (
    "| kind of question | figures | groups | median error | nine of ten within | inside the band | conformal width "
    "| left out |"
)


def show(as_json: bool, executor: WorkExecutor | None = None) -> int:
    """Prints the table; groups that were left out are counted against widths from all others."""
    output.tell("asking twins for every published figure that nothing was fitted to")
    rows = coverage.rows(coverage.figures(executor))
    if as_json:
        output.emit({"version": 1, "rows": [vars(row) for row in rows]})
        return DONE
    with output.to_reader():
        for line in table(rows):
            output.say(line)
    return DONE


def table(rows: list[CoverageRow]) -> list[str]:
    """The table as Markdown, as the page of the twins has it."""
    return [_HEAD, "| --- | --- | --- | --- | --- | --- | --- | --- |", *map(_line, rows)]


def _line(row: CoverageRow) -> str:
    width, left = (_percent(value) for value in (row.conformal, row.left_out))
    told = (row.kind, str(row.figures), str(row.groups), _percent(row.median), _percent(row.p90), _percent(row.inside))
    return f"| {' | '.join((*told, width, left))} |"


def _percent(value: float | None) -> str:
    return "" if value is None else f"{100 * value:.0f} %"
