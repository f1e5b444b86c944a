"""Which index does most."""

from __future__ import annotations

import statistics
from collections.abc import Sequence

from assay.report.answer.model import Answer, Number, Part
from assay.results import labels
from assay.results.folder import Folder
from assay.results.work import Work
from assay.units import show

_QUESTION = "Which index does most?"
# Kinds of work that are answered for, those that tell most first.
_MOST = 4
_FIRST = ("lookup", "insert", "update", "ycsb-a", "ycsb-b", "mixed")
_LAW = "distribution "


def find(folder: Folder) -> Answer | None:
    """The answer; none where no two indexes did the same work."""
    groups: dict[tuple[str, ...], dict[str, list[Work]]] = {}
    for one in folder.works:
        if one.kind == "index" and one.rate is not None and one.status != "invalid":
            place = "" if one.medium == "memory" else " on a drive"
            name = f"{one.subject} {one.way}".strip() + place
            groups.setdefault((one.workload, *one.problem), {}).setdefault(name, []).append(one)
    raced = [(key, found) for key, found in groups.items() if len({name.split()[0] for name in found}) > 1]
    chosen = _chosen(raced)
    parts: list[Part] = []
    for key, found in chosen:
        parts += [*(["; "] if parts else []), *_clause(key, found)]
    return Answer("indexes", _QUESTION, (*parts, f". {_conditions(chosen)}".rstrip())) if parts else None


_Race = tuple[tuple[str, ...], dict[str, list[Work]]]


def _chosen(raced: Sequence[_Race]) -> list[_Race]:
    """One race for each kind of work: of most indexes, then of most threads."""

    def threads(race: _Race) -> int:
        return max(int(one.parameters.get("threads") or 1) for works in race[1].values() for one in works)

    best: dict[str, _Race] = {}
    for race in sorted(raced, key=lambda race: (-len(race[1]), -threads(race), race[0])):
        best.setdefault(race[0][0], race)
    order = [*_FIRST, *sorted(best)]
    return [best[name] for name in dict.fromkeys(order) if name in best][:_MOST]


def _conditions(chosen: Sequence[_Race]) -> str:
    """What all of them have in common: sizes and threads."""
    common = [one for one in chosen[0][0][1:] if all(one in key for key, _ in chosen) and not one.startswith(_LAW)]
    return f"All with {', '.join(common)}." if common else ""


def _clause(key: tuple[str, ...], found: dict[str, list[Work]]) -> list[Part]:
    ranked = sorted(found, key=lambda name: -_rate(found[name]))
    best, second = ranked[0], ranked[1]
    ratio = _number(found[best], found[second], show.times(_rate(found[best]) / _rate(found[second])))
    done = _number(found[best], found[best], f"{show.count(_rate(found[best]))}/s")
    laws = [f"{one.removeprefix(_LAW)} keys" for one in key if one.startswith(_LAW)]
    return [f"{' of '.join([key[0], *laws])}: {best} with ", done, ", ", ratio, f" what {second} does"]


def _rate(works: Sequence[Work]) -> float:
    return statistics.median([one.rate[1] for one in works if one.rate is not None])


def _number(works: Sequence[Work], beside: Sequence[Work], text: str) -> Number:
    status = labels.worst([one.status for one in (*works, *beside)])
    sure = "one run, no interval" if min(len(works), len(beside)) < 2 else f"median of {len(works)} runs"
    return Number(text, "", sure, works[0].anchor, status, works[0].provenance)
