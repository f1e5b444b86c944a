"""The table of a study's cells: every figure with its unit, verdict and what stands against it."""

from __future__ import annotations

import shlex
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import lru_cache
from itertools import repeat
from typing import NamedTuple

from markupsafe import Markup, escape

from assay.record import NotMeasured, Reason, Record
from assay.report.answer import trust
from assay.report.figures.choose import factors, varying
from assay.results import labels, reasons, row
from assay.results.folder import Cell
from assay.results.row import Row
from assay.units import show

_COLUMNS = (
    "bandwidth",
    "ops_rate",
    "service_p50",
    "service_p99",
    "service_p999",
    "response_p99",
    "flush_p50",
    "flush_p99",
    "achieved_depth",
    "cycles_per_op",
    "cycles_per_byte",
    "tlb_misses_per_op",
    "system_calls_per_op",
    "context_switches_per_op",
)
_HEADS = {
    "bandwidth": "bandwidth",
    "ops_rate": "ops/s",
    "service_p50": "p50",
    "service_p99": "p99",
    "service_p999": "p99.9",
    "response_p99": "response p99",
    "flush_p50": "flush p50",
    "flush_p99": "flush p99",
    "achieved_depth": "in flight",
    "cycles_per_op": "cycles/op",
    "cycles_per_byte": "cycles/byte",
    "tlb_misses_per_op": "TLB misses/op",
    "system_calls_per_op": "syscalls/op",
    "context_switches_per_op": "switches/op",
}


class CellValue(NamedTuple):
    """One figure of the table."""

    text: str
    title: str
    weak: bool


@dataclass(frozen=True)
class ClassLine:
    """One class of a cell."""

    name: str
    values: tuple[CellValue, ...]


@dataclass(frozen=True)
class Why:
    """One reason of a verdict, in words."""

    title: str
    severity: str
    code: str
    about: str
    evidence: str
    fix: str


@dataclass(frozen=True)
class TableCell:
    """A cell of the table."""

    anchor: str
    name: str
    place: tuple[str, ...]
    lines: tuple[ClassLine, ...]
    status: str
    mark: str
    provenance: str
    why: tuple[Why, ...]
    missing: tuple[tuple[str, str, str], ...]
    command: str
    facts: str


@dataclass(frozen=True)
class ColumnHead:
    """Head of a column of figures, with what most of them say of themselves."""

    name: str
    title: str


@dataclass(frozen=True)
class StudyTable:
    """The table of a study."""

    place: tuple[str, ...]
    columns: tuple[ColumnHead, ...]
    entries: tuple[TableCell, ...]


def table(cells: Sequence[Cell], rows: Sequence[Row]) -> StudyTable | None:
    """Cells that left a record; columns that nobody has are left out. None where there is no record."""
    if not rows:
        return None
    place = varying(rows, [*factors(rows), "scenario", "repeat"]) or ["scenario"]
    columns = [name for name in _COLUMNS if any(one.metric(name) is not None for one in rows)]
    measured = [cell for cell in cells if cell.record is not None]
    figures, heads = _columns(rows, columns)
    own: dict[int, list[tuple[Row, ClassLine]]] = {}
    for one, values in zip(rows, zip(*figures, strict=True) if figures else repeat(()), strict=False):
        own.setdefault(id(one.cell), []).append((one, ClassLine(one.name, values)))
    entries = _said_once([_entry(cell, own.get(id(cell), []), place) for cell in measured])
    return StudyTable(tuple(labels.dimension(name) for name in place), heads, tuple(entries))


def _columns(rows: Sequence[Row], names: Sequence[str]) -> tuple[list[list[CellValue]], tuple[ColumnHead, ...]]:
    """Each column's figures, a row each, and its head: what most figures say of themselves the head says for them."""
    figures, heads = [], []
    for name in names:
        found = [_value(one, name) for one in rows]
        usual = _usual(found)
        heads.append(ColumnHead(_HEADS[name], usual))
        figures.append([CellValue(one.text, "", one.weak) if one.title == usual else one for one in found])
    return figures, tuple(heads)


def _said_once(entries: list[TableCell]) -> list[TableCell]:
    """Entries without what all of them lack: the study's own list says that, and a page of many records stays small."""
    if len(entries) < 2:
        return entries
    shared = set(entries[0].missing).intersection(*(entry.missing for entry in entries[1:]))
    return [replace(entry, missing=tuple(one for one in entry.missing if one not in shared)) for entry in entries]


def _usual(values: Sequence[CellValue]) -> str:
    """What most figures of a column say of themselves."""
    said = Counter(value.title for value in values if value.text)
    return said.most_common(1)[0][0] if said else ""


def _entry(cell: Cell, said: Sequence[tuple[Row, ClassLine]], place: Sequence[str]) -> TableCell:
    record, rows = cell.record or {}, [one for one, _ in said]
    status = trust.status(cell)
    return TableCell(
        anchor=f"cell-{cell.id}",
        name=cell.id,
        place=tuple(_place(rows, cell, name) for name in place),
        lines=tuple(line for _, line in said),
        status=status,
        mark=labels.STATUS_MARK[status],
        provenance=rows[0].provenance if rows else "assumed",
        why=tuple(_why(reason) for reason in record["verdict"].get("reasons") or ()),
        missing=tuple(_missing(one) for one in record.get("not_measured") or ()),
        command=command(cell),
        facts=_facts(record),
    )


def _place(rows: Sequence[Row], cell: Cell, name: str) -> str:
    value = rows[0].dimension(name) if rows else cell.factors.get(name)
    return labels.value(name, value) if value is not None else ""


def _value(one: Row, name: str) -> CellValue:
    found = one.metric(name)
    if found is None:
        return CellValue("", "not measured", weak=False)
    weak, bound = not one.supported(name), one.at_least(name)
    title = _title(one.provenance, one.method(name), weak, bound)
    return CellValue(("\u2265 " if bound else "") + _said(one, name, found), title, weak)


@lru_cache(maxsize=1024)
def _title(provenance: str, method: str, weak: bool, bound: bool) -> str:
    """What a figure says of itself: few ways of it, and as many figures as records times columns."""
    note = "fewer than 100 operations beyond this percentile" if weak else ""
    least = "a lower bound: some operations never ended" if bound else ""
    return ", ".join(part for part in (provenance, labels.METHODS.get(method, ""), note, least) if part)


def markup(values: Sequence[CellValue]) -> Markup:
    """The figures of a row as the page has them: records times columns of them are too many for a template."""
    return Markup("".join([_element(value) for value in values]))  # noqa: S704  Texts are escaped in `_element`.


def _element(value: CellValue) -> str:
    title = f' title="{_escaped(value.title)}"' if value.title else ""
    text = _escaped(value.text)
    if value.weak:
        return f'<td class="figure-cell weak"{title}>{text}<span class="hidden"> (weakly supported)</span></td>'
    return f'<td class="figure-cell"{title}>{text}</td>'


@lru_cache(maxsize=4096)
def _escaped(text: str) -> str:
    return str(escape(text))


def _said(one: Row, name: str, found: float) -> str:
    if name == "achieved_depth":
        return f"{show.significant(found)} of {one.result.get('asked_depth', '?')}"
    if row.unit(name) in {"bytes/s", "ns"}:
        return show.figure(found, row.unit(name))
    return show.significant(found) if abs(found) < 1000 else show.count(found)


def _why(reason: Reason) -> Why:
    code = str(reason.get("code") or "")
    about = str(reason.get("class") or "")
    words = (str(reason.get(name) or "") for name in ("evidence", "fix"))
    return Why(reasons.title(code), str(reason.get("severity") or "note"), code, about, *words)


def _missing(entry: NotMeasured) -> tuple[str, str, str]:
    return str(entry.get("what") or ""), str(entry.get("reason") or ""), str(entry.get("fix") or "")


def command(cell: Cell) -> str:
    """Runs exactly this cell again, from the job in its record; typed in the result folder."""
    return f"assay run {shlex.quote(f'records/{cell.id}.json')}"


def _facts(record: Record) -> str:
    run, window = record.get("run") or {}, record.get("window") or {}
    skew = float(window.get("edge_skew_ns") or 0)
    parts = [
        f"run {run.get('id')} at {run.get('started_at')}",
        f"seed {(record.get('job') or {}).get('seed')}",
        f"{show.duration(float(window.get('measured_s') or 0))} measured, closed by {window.get('stop')}",
        f"class windows within {show.time(skew)}" if skew else "",
        f"clock drift {float(window.get('clock_drift') or 0):.1e}",
    ]
    return "; ".join(part for part in parts if part)
