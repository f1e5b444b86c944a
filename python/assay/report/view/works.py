"""Indexes, engines and databases on the page: one section for each kind, one entry for each record."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from assay.charts.model import Figure
from assay.charts.palette import Palette
from assay.record import Figure as Measured
from assay.record import NotMeasured, Reason, WorkPart
from assay.report.view import workfigures
from assay.report.view.cells import Why
from assay.results import bound, labels, reasons
from assay.results.work import Work
from assay.units import show
from assay.untyped import Json

_TITLES = {"index": "Indexes", "engine": "The storage engine", "database": "Databases"}
_FIRST = ("transactions_per_s", "new_orders_per_s", "queries_per_s", "ops_per_s")
_MOST_PARTS = 40
_WIDEST = 24


@dataclass(frozen=True)
class WorkRow:
    """One kind of operation, transaction or query."""

    name: str
    counts: str
    latency: str
    figures: tuple[tuple[str, str], ...]
    facts: str


@dataclass(frozen=True)
class WorkEntry:
    """One record."""

    anchor: str
    id: str
    subject: str
    workload: str
    where: str
    rate: str
    status: str
    provenance: str
    figures: tuple[tuple[str, str, str], ...]
    parts: tuple[WorkRow, ...]
    checks: str
    failed: tuple[str, ...]
    why: tuple[Why, ...]
    missing: tuple[tuple[str, str, str], ...]
    facts: str


@dataclass(frozen=True)
class WorkSection:
    """All records of one kind."""

    anchor: str
    title: str
    entries: tuple[WorkEntry, ...]
    figures: tuple[Figure, ...]


def sections(works: Sequence[Work], palette: Palette) -> list[WorkSection]:
    """One section for each kind of work that the folder holds."""
    found = []
    for kind, title in _TITLES.items():
        own = [one for one in works if one.kind == kind]
        if own:
            entries = tuple(entry(one) for one in own)
            found.append(WorkSection(f"work-of-{kind}", title, entries, tuple(workfigures.draw(kind, own, palette))))
    return found


def entry(one: Work) -> WorkEntry:
    """A record in words."""
    record = one.record
    checks = [each for each in record["checks"] if isinstance(each, dict)]
    failed = tuple(f"{each.get('name')}: {each.get('evidence')}" for each in checks if not each.get("passed"))
    return WorkEntry(
        anchor=one.anchor,
        id=one.id,
        subject=labels.clean(f"{one.subject} {record['subject'].get('version') or ''}".strip() + f", {one.workload}"),
        workload=labels.clean(_with(one.workload, one.parameters)),
        where=labels.clean(_where(one)),
        rate=rate_said(one),
        status=one.status,
        provenance=one.provenance,
        figures=tuple(_figures(record["figures"])),
        parts=tuple(_part(each) for each in record["parts"][:_MOST_PARTS] if isinstance(each, dict)),
        checks=f"{len(checks) - len(failed)} of {len(checks)} checks held" if checks else "nothing was checked",
        failed=failed,
        why=tuple(_why(each) for each in record["verdict"].get("reasons") or ()),
        missing=tuple(_missing(each) for each in record["not_measured"] if isinstance(each, dict)),
        facts=_facts(one),
    )


def rate_said(one: Work) -> str:
    """What was done a second, in words; empty where the record has no such figure."""
    if one.rate is None:
        return ""
    name, value = one.rate
    return f"{show.count(value)} {name.removesuffix('_per_s').replace('_', ' ')}/s".replace("ops/s", "operations/s")


def _where(one: Work) -> str:
    """Its folders; where they were named from the folder that one was in, as the record found them."""
    members = [each for each in one.record["environment"].get("targets") or () if isinstance(each, dict)]
    found = ", ".join(dict.fromkeys(str(each.get("path") or "") for each in members)).strip(", ")
    return found if one.on.startswith(".") and found else one.on


def _with(name: str, parameters: Json) -> str:
    said = ", ".join(
        f"{key.replace('_', ' ')} {_plain(value)}" for key, value in parameters.items() if _short(key, value)
    )
    return f"{name} ({said})" if said else name


def _short(key: str, value: Any) -> bool:
    """Sentences among the parameters stand in the record; the line above it has what fits."""
    return key != "seed" and len(_plain(value)) <= _WIDEST


def _plain(value: Any) -> str:
    if isinstance(value, dict):
        kinds = [str(each) for key, each in value.items() if key == "kind"]
        return ", ".join([*kinds, *(f"{key} {each}" for key, each in value.items() if key != "kind")])
    if isinstance(value, list):
        alike = len(value) == 2 and value[0] == value[1]
        return str(value[0]) if alike else ", ".join(map(str, value)) if len(value) <= 6 else f"{len(value)} entries"
    if isinstance(value, bool):
        return "yes" if value else "no"
    return f"{value:g}" if isinstance(value, float) else str(value)


def _figures(figures: Mapping[str, Measured]) -> Iterable[tuple[str, str, str]]:
    for name, found in sorted(figures.items(), key=lambda item: (item[0] not in _FIRST, item[0])):
        value = found.get("value") if isinstance(found, dict) else None
        if isinstance(value, (int, float)):
            said = show.figure(float(value), str(found.get("unit") or ""))
            method = labels.METHODS.get(str(found.get("method") or ""), "")
            yield labels.clean(name.replace("_", " ")), said, ", ".join(filter(None, (found.get("provenance"), method)))


def _part(each: WorkPart) -> WorkRow:
    done = {"succeeded": each.get("succeeded"), "empty": each.get("empty"), "failed": each.get("failed")}
    counts = [f"{int(count):,} {name}" for name, count in done.items() if count]
    service = each.get("response") or each.get("service")
    latency = ""
    if isinstance(service, dict):
        latency = " / ".join(bound.time(service, name) for name in ("p50_ns", "p99_ns"))
    figures = tuple((name, said) for name, said, _ in _figures(each.get("figures") or {}))
    facts = ", ".join(f"{key.replace('_', ' ')} {value}" for key, value in (each.get("facts") or {}).items())
    return WorkRow(labels.clean(str(each.get("name") or "?")), ", ".join(counts), latency, figures, labels.clean(facts))


def _why(reason: Reason) -> Why:
    code = str(reason.get("code") or "")
    words = (str(reason.get(name) or "") for name in ("evidence", "fix"))
    return Why(reasons.title(code), str(reason.get("severity") or "note"), code, "", *words)


def _missing(each: NotMeasured) -> tuple[str, str, str]:
    return str(each.get("what") or ""), str(each.get("reason") or ""), str(each.get("fix") or "")


def _facts(one: Work) -> str:
    run, cpu = one.record["run"], (one.record["environment"].get("cpu") or {})
    settings = ", ".join(f"{name} {_plain(value)}" for name, value in one.settings.items())
    parts = [
        f"run {run.get('id')} at {run.get('started_at')}",
        f"{show.duration(float(one.record.get('measured_s') or 0))} measured",
        f"durability {one.durability}" if one.durability else "",
        f"settings: {settings}" if settings else "",
        f"{one.record['environment'].get('host')}, {cpu.get('model')}, {cpu.get('usable')} CPUs",
    ]
    return labels.clean("; ".join(part for part in parts if part))
