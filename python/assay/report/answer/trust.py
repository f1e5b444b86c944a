"""How far the records can be trusted, said before anything else."""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass

from assay.record import Reason
from assay.report.answer.model import Answer
from assay.results import labels, reasons
from assay.results.folder import Cell, Folder

_QUESTION = "Can these figures be believed?"


@dataclass(frozen=True)
class TrustFinding:
    """A reason, with all cells that have it."""

    code: str
    severity: str
    evidence: str
    fix: str
    cells: tuple[str, ...]


def counts(folder: Folder) -> Counter[str]:
    """Cells and records of work by verdict; `not measured` for cells without a record."""
    return Counter([*(status(cell) for cell in folder.cells), *(one.status for one in folder.works)])


def status(cell: Cell) -> str:
    """Verdict on a cell."""
    if cell.record is None:
        return "not measured"
    found = str(cell.record["verdict"].get("status") or "invalid")
    return found if found in labels.STATUS_RANK else "invalid"


def findings(folder: Folder) -> list[TrustFinding]:
    """Every kind of reason, gravest and most frequent first, with the evidence of its first cell."""
    found: dict[tuple[str, str], list[tuple[Cell, Reason]]] = {}
    for cell in folder.measured:
        for reason in (cell.record or {})["verdict"].get("reasons") or ():
            found.setdefault((str(reason.get("code")), str(reason.get("severity"))), []).append((cell, reason))
    rank = {"invalid": 0, "suspect": 1, "note": 2}
    order = sorted(found.items(), key=lambda item: (rank.get(item[0][1], 3), -len(item[1]), item[0][0]))
    return [_finding(code, severity, entries) for (code, severity), entries in order]


def _finding(code: str, severity: str, entries: list[tuple[Cell, Reason]]) -> TrustFinding:
    first = entries[0][1]
    cells = tuple(dict.fromkeys(cell.id for cell, _ in entries))
    return TrustFinding(code, severity, str(first.get("evidence") or ""), str(first.get("fix") or ""), cells)


def find(folder: Folder) -> Answer:
    """The answer; there always is one."""
    found, total = counts(folder), len(folder.cells) + len(folder.works)
    measured = total - found["not measured"]
    words = [f"{found['valid']} of {measured} records {'is' if found['valid'] == 1 else 'are'} valid"]
    words += [f"{found[name]} {name}" for name in ("suspect", "invalid") if found[name]]
    text = ", ".join(words) + "."
    if found["not measured"]:
        text += (
            f" {found['not measured']} of {total} cells {'was' if found['not measured'] == 1 else 'were'} not measured."
        )
    grave = next((one for one in findings(folder) if one.severity != "note"), None)
    if grave is not None:
        text += f" Gravest: {reasons.title(grave.code).lower()} ({grave.evidence.rstrip('.')})."
    return Answer("trust", _QUESTION, (text,))
