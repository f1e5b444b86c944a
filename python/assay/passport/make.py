"""Out of a result folder: the passport, unsigned."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from datetime import datetime, timedelta
from typing import Any

from assay.error import FAILED, AssayError
from assay.passport import facts, figures, state
from assay.passport.document import VERSION, CountedReason, Made, Missing, Passport, PassportRun, Verdicts
from assay.record import Record
from assay.results import row
from assay.results.folder import Cell, Folder
from assay.untyped import Json
from assay.version import __version__

_KEPT_OF_RUN = ("id", "started_at", "wall_s", "assayer_version")
_KEPT_OF_JOB = ("name", "seed", "datasets", "classes", "window", "cache", "state", "labels")
_KEPT_OF_CLASS = (
    *("name", "provenance", "operations", "reads", "writes", "bytes", "ops_rate", "bandwidth", "achieved_depth"),
    *("asked_depth", "service", "read_service", "write_service"),
)


def passport(found: Folder, *, by: str = "", volume: str = "") -> Passport:
    """The passport of what a folder holds.

    Raises:
        AssayError: where it holds none of the figures of a passport.
    """
    rows = row.rows(found.cells)
    known = figures.of(rows)
    if not known:
        hint = "make one by `assay passport --on FOLDER`"
        raise AssayError(f"{found.directory} holds no figure of a passport", hint=hint, code=FAILED)
    records = [cell.record for cell in found.measured if cell.record is not None]
    environment = records[0]["environment"]
    device = facts.device(environment)
    return Passport(
        version=VERSION,
        made=_made(found, records, by),
        machine=facts.machine(environment),
        device=device,
        volume=facts.volume(environment, volume, of_twin(records)),
        limits=facts.limits(environment, rows),
        state=state.of(rows, device.bytes),
        figures=known,
        verdicts=_verdicts(records),
        not_measured=_missing(found.cells),
        environment=facts.without_names(environment),
        runs=[_run(cell, cell.record) for cell in found.measured if cell.record is not None],
    )


def of_twin(records: Iterable[Mapping[str, Any]]) -> bool:
    """Whether a twin answered."""
    return any(target.get("kind") == "twin" for record in records for target in record["job"].get("targets") or ())


def _made(found: Folder, records: Sequence[Record], by: str) -> Made:
    begun = [str(record["run"].get("started_at") or "") for record in records]
    first = records[0]["run"]
    return Made(
        at=min(begun),
        by=by,
        assay=__version__,
        assayer=str(first.get("assayer_version") or ""),
        study=", ".join(dict.fromkeys(cell.study for cell in found.measured))[:200],
        seconds=_seconds(records),
    )


def _seconds(records: Sequence[Record]) -> float:
    """From the first start to the last end."""
    spans = []
    for record in records:
        try:
            start = datetime.fromisoformat(str(record["run"].get("started_at")))
        except ValueError:
            continue
        spans.append((start, start + timedelta(seconds=float(record["run"].get("wall_s") or 0))))
    return (max(end for _, end in spans) - min(start for start, _ in spans)).total_seconds() if spans else 0.0


def _verdicts(records: Iterable[Record]) -> Verdicts:
    counts: Counter[str] = Counter()
    findings: dict[tuple[str, str], CountedReason] = {}
    for record in records:
        counts[str(record["verdict"].get("status") or "invalid")] += 1
        seen = {(str(one.get("code")), str(one.get("severity"))): one for one in record["verdict"].get("reasons") or ()}
        for key, one in seen.items():
            runs = findings[key].runs if key in findings else 0
            evidence = findings[key].evidence if key in findings else str(one.get("evidence"))[:2000]
            code, severity = key
            findings[key] = CountedReason(code=code, severity=severity, runs=runs + 1, evidence=evidence)  # type: ignore[arg-type]
    return Verdicts(
        valid=counts["valid"],
        suspect=counts["suspect"],
        invalid=counts["invalid"],
        findings=sorted(findings.values(), key=lambda one: (one.severity, one.code)),
    )


def _missing(cells: Iterable[Cell]) -> list[Missing]:
    """Reasons of cells without a record, each once."""
    found = {f"{cell.study}: {cell.reason}": cell for cell in cells if cell.record is None}
    return [Missing(what=cell.study, reason=cell.reason[:2000]) for cell in found.values()][:256]


def _run(cell: Cell, record: Record) -> PassportRun:
    job = {key: value for key, value in record["job"].items() if key in _KEPT_OF_JOB}
    kept: Json = {
        "version": record["version"],
        "run": {key: value for key, value in record["run"].items() if key in _KEPT_OF_RUN},
        "job": {**job, "targets": [_target(dict(one)) for one in record["job"].get("targets") or ()]},
        "window": dict(record["window"]),
        "classes": [{k: v for k, v in one.items() if k in _KEPT_OF_CLASS} for one in record["classes"]],
        "verdict": dict(record["verdict"]),
    }
    return PassportRun(
        id=cell.id,
        study=cell.study,
        scenario=cell.scenario,
        repeat=cell.repeat,
        factors={key: value for key, value in cell.factors.items() if key != "on"},
        record=kept,
    )


def _target(found: Json) -> Json:
    """Kind and role; of a twin its name. Where a folder lies is nobody's business."""
    twin = found.get("twin")
    kept: Json = {"id": found.get("id"), "kind": found.get("kind"), "members": []}
    return kept | ({"twin": {"label": twin.get("label")}} if isinstance(twin, dict) else {})
