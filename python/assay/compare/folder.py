"""The result folder of a paired run: compare.json beside the plan says what the sides are."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from assay.compare.error import CompareError
from assay.compare.match import SIDE_LABEL
from assay.compare.paired import SIDES, Sides
from assay.compare.side import Side, of_folder, opened
from assay.results.files import make_folder, read_json, write_json
from assay.results.folder import Cell
from assay.results.journal import CellJournal, last_states
from assay.study import plan
from assay.untyped import Json

VERSION = 1
NAME = "compare.json"
_LEFT = ("none", "started", "interrupted")


@dataclass(frozen=True)
class ComparisonHead:
    """What compare.json says: labels of the sides, pairs planned, seed of the lots, and whether both are the same."""

    labels: tuple[str, str]
    pairs: int
    seed: int
    same: bool

    def document(self) -> Json:
        """As it stands in the file."""
        return {"version": VERSION, "a": self.labels[0], "b": self.labels[1], "pairs": self.pairs, "seed": self.seed,
                "same": self.same}  # fmt: skip


def head_of(sides: Sides) -> ComparisonHead:
    """What compare.json shall say of sides."""
    labels = (sides.label(0), sides.label(1))
    return ComparisonHead(
        labels, sides.pairs, sides.seed, sides.targets[0] == sides.targets[1] and sides.own[0] == sides.own[1]
    )


def begin(directory: Path, head: ComparisonHead) -> None:
    """Makes the folder with compare.json; one that holds a run already is refused."""
    if (directory / "plan.json").exists():
        hint = f"continue it with assay compare --resume {directory}, or choose another folder with --out"
        raise CompareError(f"{directory} holds a run already", hint)
    make_folder(directory)
    write_json(directory / NAME, head.document())


def is_paired(directory: Path) -> bool:
    """Whether a folder holds a paired run."""
    return (directory / NAME).is_file()


def head(directory: Path) -> ComparisonHead:
    """What compare.json of a folder says."""
    path = directory / NAME
    if not path.is_file():
        message = f"{directory} holds no paired run: {NAME} is not there"
        raise CompareError(message, "name two folders, or a folder that `assay compare --study` made")
    found = read_json(path)
    try:
        if found["version"] != VERSION:
            message = f"{path} has version {found['version']}, this program reads version {VERSION}"
            raise CompareError(message, "use the assay that wrote it")
        return ComparisonHead(
            (str(found["a"]), str(found["b"])), int(found["pairs"]), int(found["seed"]), bool(found["same"])
        )
    except (KeyError, TypeError, ValueError) as error:
        raise CompareError(f"{path} is damaged: {error}", "run the comparison anew in another folder") from error


def sides(directory: Path, known: ComparisonHead) -> tuple[Side, Side]:
    """Both sides of a paired run."""
    found = opened(directory)
    a, b = (of_folder(name, label, found, _of(name)) for name, label in zip(SIDES, known.labels, strict=True))
    return a, b


def _of(side: str) -> Callable[[Cell], bool]:
    """Cells of a side: by the label of the record, by the end of the study's name where there is none."""

    def wanted(cell: Cell) -> bool:
        labels = (cell.record or {"job": {}})["job"].get("labels") or {}
        return str(labels.get(SIDE_LABEL) or cell.study[-1:].upper()) == side

    return wanted


def unfinished(*both: Side) -> int:
    """Cells that were planned and are still to come; one that was interrupted is."""
    return sum(1 for side in both for cell in side.planned if _to_come(cell))


def _to_come(cell: Cell) -> bool:
    if cell.record is None:
        return cell.state in _LEFT
    return any(reason.get("code") == "interrupted" for reason in cell.record["verdict"].get("reasons") or ())


def mend(directory: Path) -> int:
    """Before a run is continued: the half of a pair whose partner is missing is run again, so that pairs stay adjacent.

    Returns the number of runs that will be repeated.
    """
    planned = plan.load(directory / "plan.json").cells
    with CellJournal(directory / "journal.ndjson") as journal:
        states = {cell: entry["state"] for cell, entry in last_states(journal.entries).items()}
        halves = [_partnerless(pair, states) for pair in zip(planned[::2], planned[1::2], strict=True)]
        torn = [cell for half in halves for cell in half]
        for cell in torn:
            journal.add(cell, "interrupted", reason="Its partner is missing, and pairs run side by side.")
    return len(torn)


def _partnerless(pair: tuple[Any, Any], states: dict[str, str]) -> list[str]:
    done = [cell.id for cell in pair if states.get(cell.id) == "finished"]
    return done if len(done) == 1 and not any(cell.refusal for cell in pair) else []
