"""Repeats of one cell that disagree: the verdict `noisy-machine`."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from typing import Any

from assay.record import Record
from assay.results.files import read_json, write_json
from assay.stats.spread import LIMIT, spread
from assay.study.cell import Cell
from assay.untyped import Json

CODE = "noisy-machine"

_SEVERITIES = ("invalid", "suspect", "note")
_STATUS = {"invalid": "invalid", "suspect": "suspect", "note": "valid"}


def judge(cells: Iterable[Cell], records: Path) -> int:
    """Puts the verdict on the spread of repeats into the stored records; returns how many cells are noisy.

    Judging again after more repeats replaces what was found before.
    """
    groups: dict[str, list[Path]] = {}
    for cell in cells:
        path = records / f"{cell.id}.json"
        if path.is_file():
            groups.setdefault(cell.group, []).append(path)
    return sum(_judge_group(paths) for paths in groups.values())


def _judge_group(paths: Sequence[Path]) -> bool:
    documents = {path: read_json(path) for path in paths}
    usable = [document for document in documents.values() if not _interrupted(document)]
    reasons = _reasons(usable)
    for path, document in documents.items():
        verdict = with_reasons(document["verdict"], [] if _interrupted(document) else reasons)
        if verdict != document["verdict"]:
            write_json(path, document | {"verdict": verdict})
    return bool(reasons)


def _interrupted(record: Record) -> bool:
    return any(reason["code"] == "interrupted" for reason in record["verdict"]["reasons"])


def _reasons(records: Sequence[Record]) -> list[Json]:
    rates: dict[str, list[float]] = {}
    for record in records:
        for result in record["classes"]:
            rates.setdefault(result["name"], []).append(float(result["ops_rate"]["value"]))
    return [_reason(name, values) for name, values in rates.items() if spread(values) > LIMIT]


def _reason(name: str, values: Sequence[float]) -> Json:
    seen, low, high = spread(values), min(values), max(values)
    return {
        "code": CODE,
        "severity": "suspect",
        "class": name,
        "evidence": f"{len(values)} repeats of class `{name}` lie between {low:.0f} and {high:.0f} operations per "
        f"second; two of them differ by {_beyond(seen)} of the median in the mean; more than {LIMIT:.0%} is noise.",
        "fix": "Stop what else runs on the machine, lengthen the window, or use a machine with "
        "CPUs and disks of its own.",
        "numbers": {"spread_ratio": seen, "ops_per_s_min": low, "ops_per_s_max": high, "repeats": float(len(values))},
    }


def _beyond(seen: float) -> str:
    """A spread in per cent, with the digits that show it above the limit: 15.2 %, not 15 %."""
    digits = next((count for count in range(6) if round(100 * seen, count) > 100 * LIMIT), 6)
    return f"{seen:.{digits}%}"


def with_reasons(verdict: Mapping[str, Any], added: Sequence[Json]) -> Json:
    """A verdict with these reasons for noise and no others, gravest first, and the status that follows."""
    kept = [reason for reason in verdict["reasons"] if reason["code"] != CODE]
    reasons = sorted([*kept, *added], key=lambda reason: _SEVERITIES.index(reason["severity"]))
    status = _STATUS[reasons[0]["severity"]] if reasons else "valid"
    return {"status": status, "reasons": reasons}
