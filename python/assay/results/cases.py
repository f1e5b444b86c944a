"""A run or a comparison as cases that passed or did not: what JUnit's readers and a table in Markdown are made of."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Literal

from assay.results import row
from assay.results.folder import Cell, Folder
from assay.units import show

State = Literal["passed", "failed", "error", "skipped"]


@dataclass(frozen=True)
class Case:
    """One cell, or one figure of a comparison. `failed`: it was judged and did not hold; `error`: it could not be."""

    group: str
    name: str
    state: State
    said: str = ""
    seconds: float = 0.0


def of_folder(folder: Folder) -> list[Case]:
    """A case for each cell that was planned."""
    return [_of_cell(cell) for cell in folder.cells]


def _of_cell(cell: Cell) -> Case:
    if cell.record is None:
        state: State = "skipped" if cell.state == "refused" else "error"
        return Case(
            cell.study, cell.id, state, " ".join((cell.reason or f"the cell is {cell.state}", cell.fix)).strip()
        )
    verdict = cell.record["verdict"]
    reasons = [reason for reason in verdict.get("reasons") or () if reason.get("severity") != "note"]
    against = "; ".join(f"{reason.get('code')}: {reason.get('evidence')}" for reason in reasons)
    missed = [name for one in row.rows([cell]) if (name := _missed(one))]
    failed = verdict.get("status") == "invalid" or missed
    said = "; ".join(part for part in (_figures(cell), *missed, str(verdict.get("status")), against) if part)
    seconds = float((cell.record.get("run") or {}).get("wall_s") or 0)
    return Case(cell.study, cell.id, "failed" if failed else "passed", said, seconds)


def _figures(cell: Cell) -> str:
    parts = []
    for one in row.rows([cell]):
        rate, median = one.metric("ops_rate"), one.metric("service_p50_ns")
        told = [f"{show.count(rate)}/s"] if rate else []
        told += [f"median {show.time(median)}"] if median else []
        parts.append(f"{one.name} {', '.join(told)}")
    return "; ".join(parts).replace("\u00a0", " ")


def _missed(one: row.Row) -> str:
    outcome = one.result.get("objective")
    if not outcome or outcome.get("met"):
        return ""
    wanted = outcome["objective"]
    return f"objective missed: {one.name} {wanted['metric']} {outcome['seen']:g}, asked for {wanted['bound']:g}"


def counted(cases: Sequence[Case]) -> str:
    """`3 passed, 1 failed`."""
    counts = Counter(case.state for case in cases)
    return ", ".join(f"{counts[state]} {state}" for state in ("passed", "failed", "error", "skipped") if counts[state])
