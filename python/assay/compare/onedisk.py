"""Whether both sides of a comparison are places on one disk: then no factor between them is one between drives."""

from __future__ import annotations

from collections.abc import Sequence

from assay.compare.comparison import Comparison
from assay.results.row import Row


def of(comparison: Comparison) -> str:
    """The disk, where two targets of one paired run lie on it; empty otherwise.

    Two folders of results are left alone: between them anything may have changed, on the same disk too.
    """
    if comparison.a.directory != comparison.b.directory:
        return ""
    return shared(comparison.a.rows, comparison.b.rows)


def shared(a: Sequence[Row], b: Sequence[Row]) -> str:
    """The disk beneath the rows of both sides, which name different places."""
    if not a or not b or _places(a) & _places(b):
        return ""
    first, second = _disks(a), _disks(b)
    return ", ".join(sorted(name for name, *_ in first)) if first and first == second else ""


def _places(rows: Sequence[Row]) -> set[str]:
    return {str(target.get("path")) for one in rows for target in one.record["environment"].get("targets") or ()}


def _disks(rows: Sequence[Row]) -> set[tuple[str, str, str]]:
    """Device, serial number and file system of every target; nothing where one of them has none."""
    found: set[tuple[str, str, str]] = set()
    for one in rows:
        for target in one.record["environment"].get("targets") or ():
            device, system = target.get("device") or {}, target.get("file_system") or {}
            if not device.get("name"):
                return set()
            found.add((str(device["name"]), str(device.get("serial") or ""), str(system.get("kind") or "")))
    return found
