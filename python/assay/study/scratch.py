"""Assay's own folders on the targets: leftovers of killed runs are found, what a run made is removed."""

from __future__ import annotations

import contextlib
from collections.abc import Iterable, Iterator
from pathlib import Path

from assay import lease
from assay.binary import Binary
from assay.error import FAILED, AssayError
from assay.study.cell import Cell
from assay.study.work import declared
from assay.units.parse import format_bytes
from assay.untyped import Json


def folders_of_cells(cells: Iterable[Cell]) -> list[str]:
    """Folders that the jobs of a plan write to."""
    return list(dict.fromkeys(member for cell in cells for member in _members(cell)))


def _members(cell: Cell) -> list[str]:
    if cell.driven:
        return []  # It holds the folders that it makes places in itself, and cleans them.
    if cell.program:
        return declared.members(cell.job)
    return [member for target in cell.job["targets"] if target["kind"] == "folder" for member in target["members"]]


@contextlib.contextmanager
def held(folders: Iterable[str]) -> Iterator[None]:
    """Nobody else measures there meanwhile."""
    try:
        with lease.taken(folders):
            yield
    except lease.TakenError as error:
        hint = "wait until that has ended, or stop it; `assay doctor` shows what else is busy"
        raise AssayError(str(error), hint=hint, code=FAILED) from error


def leftovers(binary: Binary, folders: Iterable[str]) -> list[Json]:
    """Scratch folders whose owner is gone."""
    there = [folder for folder in folders if Path(folder).is_dir()]
    found = binary.document("scratch", "list", *there) if there else []
    return [entry for entry in found if not entry.get("alive")]


def clean(binary: Binary, folders: Iterable[str]) -> list[Json]:
    """Removes scratch folders whose owner is gone; says what became of each."""
    there = [folder for folder in folders if Path(folder).is_dir()]
    found: list[Json] = binary.document("scratch", "clean", *there) if there else []
    return found


def offer(found: Iterable[Json]) -> str:
    """A sentence about leftovers; empty where there are none."""
    paths = [Path(entry["path"]) for entry in found]
    if not paths:
        return ""
    size = format_bytes(sum(float(entry.get("bytes") or 0) for entry in found))
    parents = " ".join(sorted({str(path.parent) for path in paths}))
    names = ", ".join(map(str, paths))
    return f"a killed run left {names} ({size}); `assay clean {parents}` removes it"
