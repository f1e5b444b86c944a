"""What a fit of a published grid found: held-out errors, and the kinds of access as a catalog wants them."""

from __future__ import annotations

from datetime import UTC, datetime
from pathlib import Path

from assay.twin.document import to_toml
from assay.twin.fit_grid import fit_kind, hold_out
from assay.twin.grid_file import read_grid
from assay.twin.grid_operations import Known, Origin, operations
from assay.untyped import Json

# A fit whose points are missed by more than this is not certified.
CERTIFIED = 0.15


def fit_file(path: Path, source: str = "") -> Json:
    """Fits every kind of access of a grid; the document holds errors and `[device.operations]` as TOML."""
    grid = read_grid(path)
    fits = {kind: fit_kind(kind, points) for kind, points in sorted(grid.items())}
    held = {kind: hold_out(kind, points) for kind, points in sorted(grid.items())}
    origin = Origin("fitted", source or f"Fitted to {path.name}", datetime.now(UTC).strftime("%Y-%m"))
    kinds = [
        {
            "kind": kind,
            "points": len(grid[kind]),
            "modules": sorted({point.modules for point in grid[kind]}),
            "error_median": fits[kind].error,
            "held_out": None if (out := held[kind]) is None else _errors(out.mean, out.median, out.p90, out.worst),
        }
        for kind in fits
    ]
    return {
        "file": str(path),
        "kinds": kinds,
        "certified": all(fit.error <= CERTIFIED for fit in fits.values()),
        "provenance": "fitted",
        "toml": to_toml({"device": {"operations": operations(Known(fits, held), origin)}}),
    }


def _errors(mean: float, median: float, p90: float, worst: float) -> Json:
    return {"mean": mean, "median": median, "p90": p90, "worst": worst}
