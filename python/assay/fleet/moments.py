"""Within a cell: what all hosts did together from moment to moment, and when hosts were lost, on one clock."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from assay.results.files import read_json
from assay.untyped import Json

Floats = NDArray[np.float64]

MOST = 400
"""Moments of a cell that are drawn."""


def of_cell(directory: Path, total: Json, lost: Sequence[Json]) -> Json:
    """Rates of all hosts that are in the total, by class, at moments that are a step apart; s from the common start.

    `missing` names who is not in the total, with the moment at which that was seen where it is known.
    """
    seats = [one for one in total["hosts"] if one["in_total"] and "opened_s" in one]
    series: dict[str, list[tuple[float, Json]]] = {}
    for seat in seats:
        path = directory / "hosts" / str(seat["host"]) / "records" / f"{total['cell']}.json"
        for result in read_json(path)["classes"]:
            points = [(float(seat["opened_s"]), one) for one in result.get("intervals") or ()]
            series.setdefault(str(result["name"]), []).extend(points)
    found = {}
    if seats:
        window = max(float(one["opened_s"]) for one in seats), min(float(one["closed_s"]) for one in seats)
        found = {name: _sums(points, *window) for name, points in series.items() if points}
    return {"cell": total["cell"], "name": total["name"], "classes": found, "missing": _missing(total, lost)}


def _sums(points: Sequence[tuple[float, Json]], first_s: float, last_s: float) -> list[tuple[float, float]]:
    """Moments and operations a second, while all windows were open.

    What an interval counted is spread evenly over it: hosts begin theirs at moments of their own.
    """
    ends = np.array([opened_s + float(one["at_s"]) for opened_s, one in points])
    lengths = np.array([float(one["length_s"]) for _, one in points])
    operations = np.array([float(one["operations"]) for _, one in points])
    step_s = max(float(np.median(lengths)), (last_s - first_s) / MOST)
    steps = max(1, int((last_s - first_s) / step_s))
    edges = first_s + (last_s - first_s) * np.arange(steps + 1) / steps
    rates = _between(ends - lengths, lengths, operations, edges) / np.diff(edges)
    return [(float(at_s), float(rate)) for at_s, rate in zip((edges[:-1] + edges[1:]) / 2, rates, strict=True)]


def _between(begins: Floats, lengths: Floats, amounts: Floats, edges: Floats) -> Floats:
    """How much of all intervals lies between two edges each."""
    # Of each interval, the share that lies before an edge; differences of neighbours lie between them.
    kept = lengths > 0
    shares = (edges[None, :] - begins[kept, None]) / lengths[kept, None]
    before = np.clip(shares, 0.0, 1.0) * amounts[kept, None]
    return np.asarray(np.diff(before.sum(axis=0)), dtype=np.float64)


def _missing(total: Json, lost: Sequence[Json]) -> list[Json]:
    at_s: Mapping[str, Any] = {one["host"]: one.get("at_s") for one in lost if one.get("cell") == total["cell"]}
    closed = {str(one["host"]): one.get("closed_s") for one in total["hosts"]}
    return [
        {"host": host, "reason": reason, "at_s": at_s[host] if at_s.get(host) is not None else closed.get(host)}
        for host, reason in total["not_in_total"].items()
    ]
