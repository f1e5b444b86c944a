"""What was not measured, why, and what would make it possible; cells with one reason are said together."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace

from assay.results import labels
from assay.results.folder import Cell


@dataclass(frozen=True)
class Gap:
    """Cells or figures that are missing for one reason."""

    what: str
    reason: str
    fix: str
    count: int
    cells: tuple[str, ...]
    of_cells: bool


def find(cells: Sequence[Cell]) -> list[Gap]:
    """Cells without a record first, then figures that records say they lack."""
    missing: dict[tuple[str, str], list[Cell]] = {}
    for cell in cells:
        if cell.record is None:
            missing.setdefault((cell.reason, cell.fix), []).append(cell)
    found = [
        Gap(_what(part), reason, fix, len(part), _ids(part), of_cells=True) for (reason, fix), part in missing.items()
    ]
    return found + _figures(cells)


def everywhere(sections: Sequence[Sequence[Gap]]) -> list[Gap]:
    """Figures that most of several studies lack for the same reason: they are said once, with the machine."""
    found: dict[tuple[str, str, str], list[Gap]] = {}
    for gap in (gap for gaps in sections for gap in gaps if not gap.of_cells):
        found.setdefault((gap.what, gap.reason, gap.fix), []).append(gap)
    common = [same for same in found.values() if len(same) >= 3 and 2 * len(same) > len(sections)]
    return [
        replace(same[0], count=sum(gap.count for gap in same), cells=tuple(cell for gap in same for cell in gap.cells))
        for same in common
    ]


def without(gaps: Sequence[Gap], said: Sequence[Gap]) -> list[Gap]:
    """Gaps that were not said elsewhere."""
    known = {(gap.what, gap.reason, gap.fix) for gap in said}
    return [gap for gap in gaps if gap.of_cells or (gap.what, gap.reason, gap.fix) not in known]


def _figures(cells: Sequence[Cell]) -> list[Gap]:
    lacking: dict[tuple[str, str, str], list[Cell]] = {}
    for cell in cells:
        for entry in (cell.record or {}).get("not_measured") or ():
            key = (str(entry.get("what") or "?"), str(entry.get("reason") or ""), str(entry.get("fix") or ""))
            lacking.setdefault(key, []).append(cell)
    return [
        Gap(what, reason, fix, len(part), _ids(part), of_cells=False) for (what, reason, fix), part in lacking.items()
    ]


def _ids(cells: Sequence[Cell]) -> tuple[str, ...]:
    return tuple(cell.id for cell in cells)


def _what(cells: Sequence[Cell]) -> str:
    """What the cells have in common, in words."""
    first = cells[0]
    shared = [name for name in first.factors if len({repr(cell.factors.get(name)) for cell in cells}) == 1]
    said = [f"{labels.dimension(name)} {labels.value(name, first.factors[name])}" for name in shared]
    scenarios = list(dict.fromkeys(cell.scenario for cell in cells))
    said += [f"scenario {', '.join(scenarios)}"] if scenarios != ["all"] and len(scenarios) <= 4 else []
    count = f"{len(cells)} cell{'s' if len(cells) > 1 else ''}"
    return f"{count}: {', '.join(said)}" if said else count
