"""One side of a comparison: runs that were made under the same conditions."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import dataclass, field, replace
from pathlib import Path

from assay.compare.error import CompareError
from assay.results import folder, row, work, work_cell
from assay.results.folder import VERSION, Cell, Folder
from assay.results.row import Row


@dataclass(frozen=True)
class Side:
    """`name` is A or B, `label` what it stands for; `chosen` says that single cells were named."""

    name: str
    label: str
    directory: Path
    rows: tuple[Row, ...]
    planned: tuple[Cell, ...]
    problems: tuple[str, ...] = field(default=())
    chosen: bool = False

    @property
    def runs(self) -> set[str]:
        """Ids of the runs."""
        return {run_id(one) for one in self.rows}


def run_id(one: Row) -> str:
    """Id of the run that a row comes from."""
    return str(one.record["run"].get("id") or one.cell.id)


def read(name: str, text: str, inside: Path | None) -> Side:
    """A side as it was typed: a result folder, `FOLDER/CELL`, or a cell of the folder `inside`."""
    path = Path(text)
    if path.is_dir():
        return of_folder(name, text, opened(path), lambda _: True)
    if inside is not None and "/" not in text:
        return of_cell(name, text, inside, text)
    if any((path.parent / one).exists() for one in ("plan.json", work.FOLDER)):
        return of_cell(name, text, path.parent, path.name)
    hint = "name a result folder, a cell as FOLDER/CELL, or a cell of the folder that --in names"
    raise CompareError(f"`{text}` is neither a result folder nor a cell of one", hint)


def of_cell(name: str, label: str, directory: Path, cell: str) -> Side:
    """All repeats of one cell; a repeat may be named in its place, and then stands for its cell."""
    found = opened(directory)
    groups = {_group(one) for one in every(found)}
    wanted = cell if cell in groups else _of_file(cell, found) or cell.rpartition("-r")[0]
    if wanted not in groups:
        from assay.error import did_you_mean

        hint = did_you_mean(cell, groups)
        raise CompareError(f"there is no cell `{cell}` in {directory}", hint)
    return replace(of_folder(name, label, found, lambda one: _group(one) == wanted), chosen=True)


def every(found: Folder) -> tuple[Cell, ...]:
    """All cells of a folder: of I/O, and those of its work records."""
    return (*found.cells, *work_cell.cells(found.works))


def _of_file(name: str, found: Folder) -> str:
    """The cell of a work record that was named by its file."""
    stem = name.removesuffix(".json")
    labels = ((one, one.record["job"].get("labels") or {}) for one in work_cell.cells(found.works) if one.record)
    return next((_group(one) for one, said in labels if said.get("work") == stem), "")


def of_folder(name: str, label: str, found: Folder, wanted: Callable[[Cell], bool]) -> Side:
    """The cells of a folder that are wanted."""
    planned = tuple(cell for cell in every(found) if wanted(cell))
    rows = tuple(_distinct(row.rows(planned)))
    return Side(name, label, found.directory, rows, planned, tuple(_problems(found, planned)))


def _distinct(rows: Iterable[Row]) -> list[Row]:
    """Every run once: a record that was copied under another name is no second run."""
    seen: set[tuple[str, str]] = set()
    found = []
    for one in rows:
        key = (run_id(one), one.name)
        if key not in seen:
            seen.add(key)
            found.append(one)
    return found


def _group(cell: Cell) -> str:
    return cell.id.rpartition("-r")[0] or cell.id


def _problems(found: Folder, planned: tuple[Cell, ...]) -> list[str]:
    """What is wrong with a folder, and how far it was cut short."""
    missing = [cell for cell in planned if cell.record is None]
    problems = [f"{found.directory}: {problem}" for problem in found.problems]
    if missing:
        left = f"{len(missing)} of {len(planned)} cells left no record"
        problems.append(f"{found.directory}: {left}; the first, {missing[0].id}: {missing[0].reason}")
    return problems


def opened(directory: Path) -> Folder:
    """A result folder whose records are of the version that this program reads.

    Raises `CompareError` where one is of another version: its fields may mean something else.
    """
    found = folder.read(directory)
    if found.others:
        path, version = found.others[0]
        message = f"{path} has version {version}, and this program compares records of version {VERSION}"
        raise CompareError(message, "compare with the assay that wrote both sides, or measure both sides anew")
    return found
