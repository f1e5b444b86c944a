"""Work records of what is driven from Python: queries, other programs' benchmarks."""

from __future__ import annotations

import os
import secrets
import time
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import UTC, datetime
from pathlib import Path
from typing import Any, cast

from assay.binary import Binary
from assay.record import Figure, WorkRecord
from assay.study.work import judge
from assay.untyped import Json
from assay.version import __version__

Figures = dict[str, Figure]
VERSION = 1


def figure(
    value: float,
    unit: str,
    provenance: str = "measured",
    method: str = "loop",
    band: tuple[float, float] | None = None,
) -> Figure:
    """A figure: the number in `unit` (`s`, `bytes`, `ops/s`, `count`, `ratio`, ...), where it came from, and which
    instrument gave it (`loop`, `kernel-accounting`, `rusage`, `derived`, ...)."""
    document: Json = {"value": float(value), "unit": unit, "provenance": provenance, "method": method}
    if band is not None:
        document["band"] = {"low": float(band[0]), "high": float(band[1])}
    return cast("Figure", document)


def part(
    name: str,
    figures: Figures,
    *,
    succeeded: int = 1,
    empty: int = 0,
    failed: int = 0,
    facts: Mapping[str, str] | None = None,
) -> Json:
    """One kind of operation, transaction or query."""
    document: Json = {"name": name, "succeeded": succeeded, "empty": empty, "failed": failed, "figures": figures}
    if facts:
        document["facts"] = dict(facts)
    return document


def check(name: str, passed: bool, evidence: str) -> Json:
    """Something that was checked, with what was seen in a sentence."""
    return {"name": name, "passed": passed, "evidence": evidence}


@dataclass
class WorkDraft:
    """A work record in the making. The clock of its wall time starts when it is made."""

    kind: str
    subject: str
    subject_version: str
    workload: str
    settings: Json = field(default_factory=dict)
    parameters: Json = field(default_factory=dict)
    targets: list[Json] = field(default_factory=list)
    durability: str = "none"
    figures: Figures = field(default_factory=dict)
    parts: list[Json] = field(default_factory=list)
    checks: list[Json] = field(default_factory=list)
    devices: list[Json] = field(default_factory=list)
    not_measured: list[Json] = field(default_factory=list)
    reasons: list[Json] = field(default_factory=list)
    prepare_s: float = 0.0
    measured_s: float = 0.0
    places: list[Path] = field(default_factory=list)
    _began: float = field(default_factory=time.monotonic)
    _started: datetime = field(default_factory=lambda: datetime.now(UTC))

    def lies_on(self, role: str, target: str, place: Path, emulated: bool = False) -> None:
        """Says where a part of it lies; the place is described in the record's environment."""
        self.targets.append({"role": role, "target": target, "emulated": emulated})
        self.places.append(place)

    def lacks(self, what: str, reason: str, fix: str) -> None:
        """Says what could not be measured, why, and what would make it possible."""
        self.not_measured.append({"what": what, "reason": reason, "fix": fix})

    def record(self, binary: Binary, more: Mapping[str, Any] | None = None) -> WorkRecord:
        """The record, judged. `more` holds `cpu` or `driver_cpu` where there is such an account."""
        document = {
            "version": VERSION,
            "kind": self.kind,
            "run": self._run(),
            "subject": {"name": self.subject, "version": self.subject_version, "settings": self.settings},
            "workload": {"name": self.workload, "parameters": self.parameters},
            "targets": self.targets,
            "durability": self.durability,
            "environment": environment(binary, self.places),
            "measured_s": self.measured_s,
            "figures": self.figures,
            "parts": self.parts,
            "devices": self.devices,
            "checks": self.checks,
            "not_measured": self.not_measured,
            "verdict": judge.verdict(self.reasons, self.checks, self.parts, self.targets),
            **(more or {}),
        }
        return cast("WorkRecord", document)

    def _run(self) -> Json:
        stamp = self._started.isoformat(timespec="milliseconds").replace("+00:00", "Z")
        nanoseconds = int(self._started.timestamp() * 1e9)
        return {
            "id": f"{nanoseconds:016x}-{os.getpid():06x}-{secrets.token_hex(4)}",
            "started_at": stamp,
            "assayer_version": __version__,
            "wall_s": time.monotonic() - self._began,
            "prepare_s": self.prepare_s,
        }


def environment(binary: Binary, places: Iterable[Path]) -> Json:
    """The machine and the places, as the measuring program describes them."""
    arguments: Sequence[str] = [word for place in places for word in ("--on", str(place))]
    document: Json = binary.document("facts", *arguments)
    return document
