"""From a result folder to a twin file and a host file, with errors on held-out points."""

from __future__ import annotations

import math
import re
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

from assay.binary import Binary
from assay.executor.work import WorkExecutor
from assay.record import Record
from assay.study import plan
from assay.target.catalog import VERSION
from assay.twin import fit_host
from assay.twin.document import parameter, rounded, to_toml
from assay.twin.fit_drive import DriveFit, device, fit
from assay.twin.fit_knee import Sustained, find
from assay.twin.fit_points import BESIDE, POINTS, SUSTAINED, Measured, points, read, study_of
from assay.twin.fit_verdict import Errors, Verdict, judge
from assay.untyped import Json

_LEAST_BAND = 0.02
_LEAST_TAIL = 0.3
_WHY = "Not told apart by what was measured; the usual of flash drives"
_PROTECTED = "A flush that adds less than 0.1 ms to a write finds a buffer that need not go out"
_UNITS = {"write": ("write", "sustained", "mixed", "flush", "suspend")}


@dataclass(frozen=True)
class FitResult:
    """What a fit found."""

    points: list[Measured]
    drive: DriveFit
    verdict: Verdict
    sustained: Sustained | None
    twin: Json
    host: Json

    def document(self) -> Json:
        """As `--json` prints it."""
        return {
            "name": self.twin["name"],
            "certified": self.verdict.certified,
            "reasons": list(self.verdict.reasons),
            "fitted": self.verdict.fitted.document(),
            "held_out": self.verdict.held_out.document(),
            "spread": self.verdict.spreads.document(),
            "kinds": self.kinds(),
            "points": [self._point(point) for point in self.points],
            "sustained": None if self.sustained is None else self.sustained.told(),
            "parameters": {name: rounded(value) for name, value in self.drive.values.items()},
            "provenance": "fitted",
        }

    def kinds(self) -> list[Json]:
        """Held-out errors and spreads by kind of point."""
        found = []
        for kind in dict.fromkeys(point.kind for point in self.points):
            here = [point for point in self.points if point.kind == kind]
            unseen = Errors.of(self.drive.error(point) for point in here if point.held_out)
            spreads = Errors.of(point.spread for point in here)
            found.append({"kind": kind, "held_out": unseen.document(), "worst_spread": rounded(spreads.at(1.0))})
        return found

    def _point(self, point: Measured) -> Json:
        return {
            "name": point.name,
            "held_out": point.held_out,
            "repeats": len(point.rates),
            "best_ops_per_s": point.best,
            "median_ops_per_s": point.median,
            "spread": round(point.spread, 4),
            "modelled_ops_per_s": rounded(self.drive.answers[point.name]["ops_per_s"]),
            "error": round(self.drive.error(point), 4),
        }

    def twin_toml(self) -> str:
        """The twin file."""
        return to_toml(self.twin)

    def host_toml(self) -> str:
        """The host file."""
        return to_toml(self.host)


def fit_folder(directory: Path, name: str, binary: Binary, executor: WorkExecutor | None = None) -> FitResult:
    """Fits a twin to the records of a folder.

    Raises:
        AssayError: where it holds no points, or the model refuses one.
    """
    records = read(directory)
    found = points(records)
    seen = _device(records)
    date = f"{datetime.now(UTC):%Y-%m-%d}"
    name = name or slug(seen["model"] or seen["name"] or "mine")
    host = fit_host.document(records, f"{name}-host", date)
    drive = fit(found, host, float(seen["bytes"] or 1e12), binary, executor)
    verdict = judge(found, drive, _expected(directory))
    sustained = _sustained(records)
    twin = _twin(name, seen, drive, found, verdict, sustained, date)
    return FitResult(found, drive, verdict, sustained, twin, host)


def slug(text: str) -> str:
    """A name as twins have it."""
    return re.sub(r"[^a-z0-9]+", "-", text.lower()).strip("-") or "mine"


def _device(records: Sequence[Record]) -> Json:
    """Model, kernel name and size of the device. Serial numbers stay in the records."""
    found = records[0]["environment"]["targets"][0].get("device") or {}
    return {"model": found.get("model", "").strip(), "name": found.get("name", ""), "bytes": found.get("bytes", 0)}


def _expected(directory: Path) -> int:
    """Points that the plan had, those refused left out, and those that are the same counted once."""
    cells = [cell for cell in plan.load(directory / "plan.json").cells if cell.study in (POINTS, BESIDE)]
    return len({repr((cell.study, cell.job["classes"])) for cell in cells if cell.refusal is None})


def _sustained(records: Sequence[Record]) -> Sustained | None:
    found = [record for record in records if study_of(record) == SUSTAINED]
    return find(found[0]["classes"][0]["intervals"]) if found else None


def _twin(
    name: str,
    seen: Json,
    drive: DriveFit,
    found: Sequence[Measured],
    verdict: Verdict,
    sustained: Sustained | None,
    date: str,
) -> Json:
    title = seen["model"] or seen["name"] or "A device"
    source = f"`assay fit` on {title}, {len(found)} points, every second held out"
    values = dict(drive.values)
    if sustained is not None and sustained.knee_bytes is not None:
        values["write_bytes_per_s"] = max(values["write_bytes_per_s"], sustained.early_bytes_per_s)
        values["sustained_bytes_per_s"] = sustained.late_bytes_per_s
    origins = _origins(values, drive, found, source, date)

    def assumed(value: float) -> Json:
        return parameter(value, "assumed", _WHY, date)

    described = device(origins, assumed)
    described["page_bytes"]["value"] = int(values["page_bytes"])
    described["flush"]["power_loss_protection"]["source"] = _PROTECTED
    if sustained is not None and sustained.knee_bytes is not None:
        described["slc"] = _cache(sustained, source, assumed, date)
    return {
        "version": VERSION,
        "name": name,
        "title": title + ("" if verdict.certified else " (not certified)"),
        "notes": _notes(verdict, sustained, found),
        "capacity_bytes": parameter(float(seen["bytes"] or 1e12), "measured", "What the kernel says", date),
        "device": described,
        "bounds": _bounds(found, sustained),
        "band": _band(drive, found, verdict, date),
    }


def _origins(values: Json, drive: DriveFit, found: Sequence[Measured], source: str, date: str) -> dict[str, Json]:
    """Parameters with the median error of held-out points of their side."""
    held = [point for point in found if point.held_out]
    reads = Errors.of(drive.error(point) for point in held if point.stream["write_share"] == 0.0)
    writes = Errors.of(drive.error(point) for point in held if point.stream["write_share"] > 0.0)
    sides = {name: writes if name.startswith(_UNITS["write"]) else reads for name in values}
    return {
        name: parameter(value, "fitted", source, date, residual=sides[name].at(0.5)) for name, value in values.items()
    }


def _cache(sustained: Sustained, source: str, assumed: Any, date: str) -> Json:
    size = parameter(float(sustained.knee_bytes or 0), "measured", source + ": bytes before the knee", date)
    return {"empty_bytes": size, "full_bytes": size, "fold_bytes_per_s": assumed(sustained.late_bytes_per_s)}


def _notes(verdict: Verdict, sustained: Sustained | None, found: Sequence[Measured]) -> list[str]:
    notes = [f"Not certified: {reason}" for reason in verdict.reasons]
    if sustained is None:
        notes.append("Sustained writes were not measured")
    else:
        notes.append(f"Sustained writes: {sustained.told()}")
    if not any(point.stream["write_share"] > 0 for point in found):
        notes.append("Nothing was written: what it says of writes is taken from its reads")
    notes.append("Delays hold what this machine takes to wake a thread; random writes are those of the device as found")
    return notes


def _bounds(found: Sequence[Measured], sustained: Sustained | None) -> Json:
    """The box that was measured."""
    streams = [point.stream for point in found]
    sizes = [stream["size_bytes"] for stream in streams]
    deep = [stream["threads"] * stream["depth"] for stream in streams]
    shares = [stream["write_share"] * 100 for stream in streams]
    seconds = sustained.seconds if sustained is not None else 1.0
    return {
        "size_bytes": [int(min(sizes)), int(max(sizes))],
        "in_flight": [min(deep), max(deep)],
        "write_percent": [round(min(shares)), round(max(shares))],
        "duration_s": [0, math.ceil(seconds)],
    }


def _band(drive: DriveFit, found: Sequence[Measured], verdict: Verdict, date: str) -> Json:
    """Nine of ten held-out points lie inside; without a certificate, as wide as the worst of what was seen."""
    held = [point for point in found if point.held_out]
    share = 0.9 if verdict.certified else 1.0
    medians = _ratios(drive, held, "p50", lambda point: point.p50_ns)
    tails = _ratios(drive, held, "p99", lambda point: point.p99_ns)
    width = verdict.held_out.at(share) if verdict.certified else max(verdict.held_out.at(1), verdict.spreads.at(1))
    why = f"{len(held)} points that the fit did not see" + ("" if verdict.certified else "; not certified")

    def band(value: float, least: float) -> Json:
        return parameter(max(value, least), "measured", why, date)

    return {
        "bandwidth": band(width, _LEAST_BAND),
        "latency": band(max(Errors.of(medians).at(share), width), _LEAST_BAND),
        "tail": band(Errors.of(tails).at(share), _LEAST_TAIL),
    }


def _ratios(drive: DriveFit, held: Sequence[Measured], name: str, seen: Any) -> Iterable[float]:
    """Larger over smaller of what was modelled and the least that was measured, less one."""
    pairs = [(float(drive.answers[point.name][name]["mid_ns"]), float(min(seen(point)))) for point in held]
    return [max(a, b) / max(min(a, b), 1.0) - 1.0 for a, b in pairs]
