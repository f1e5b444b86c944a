"""Work records as cells and classes: in that form what compares I/O compares indexes, engines and databases too.

The whole of a run is a class of the name `whole`, and each kind of operation one of its own name.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from typing import cast

from assay.record import Record, WorkPart
from assay.results.folder import Cell
from assay.results.work import Work, problem_parameters
from assay.untyped import Json

WHOLE = "whole"
# What is drawn anew for each run, and no question of its own.
_DRAWN = {"seed"}


def cells(works: Sequence[Work]) -> tuple[Cell, ...]:
    """A cell for each record. Records of the same question are its repeats, from 1, in the order in which they ran."""
    varied, several = _varied(works), len({work.durability for work in works}) > 1
    groups: dict[str, list[tuple[Work, Json]]] = {}
    for work in sorted(works, key=_started):
        factors: Json = {"on": work.on, "subject": work.subject} | problem_parameters(work.parameters)
        factors |= {name: _plain(work.settings[name]) for name in varied if name in work.settings}
        factors |= {"durability": work.durability} if several else {}
        groups.setdefault(repr((work.kind, work.workload, sorted(factors.items(), key=str))), []).append(
            (work, factors)
        )
    names = _names([group[0][0] for group in groups.values()])
    return tuple(
        _cell(work, factors, f"{name}-r{repeat}", repeat)
        for name, group in zip(names, groups.values(), strict=True)
        for repeat, (work, factors) in enumerate(group, start=1)
    )


def _started(work: Work) -> str:
    return str(work.record["run"].get("started_at") or "")


def _varied(works: Sequence[Work]) -> list[str]:
    """Settings that are not the same in all records of a folder: what it was made to compare."""
    seen: dict[str, set[str]] = {}
    for work in works:
        for name, value in work.settings.items():
            seen.setdefault(name, set()).add(str(_plain(value)))
    return [name for name, values in seen.items() if len(values) > 1]


def _plain(value: object) -> object:
    return value if isinstance(value, (bool, int, float, str)) else str(value)


def _names(firsts: Iterable[Work]) -> Iterator[str]:
    """`assay-tpcc`, and where a folder holds several questions of that name `assay-tpcc-2`."""
    used: dict[str, int] = {}
    for work in firsts:
        base = f"{work.subject}-{work.workload}".replace("/", "-")
        used[base] = used.get(base, 0) + 1
        yield base if used[base] == 1 else f"{base}-{used[base]}"


def _cell(work: Work, factors: Json, name: str, repeat: int) -> Cell:
    record = cast("Record", _record(work, factors, repeat))
    return Cell(name, work.kind, work.workload, repeat, factors, "finished", "", "", record)


def _record(work: Work, factors: Json, repeat: int) -> Json:
    """The record with a job and classes as one of I/O has them."""
    asked = {name: value for name, value in work.parameters.items() if name not in _DRAWN}
    job = {
        "name": f"{work.subject} {work.workload}",
        "labels": _labels(work, factors, repeat),
        "subject": dict(work.record["subject"]),
        "workload": asked,
        "durability": work.durability,
        "classes": [],
        "targets": [],
    }
    parts = [_part(one, work.provenance) for one in work.record["parts"] if isinstance(one, dict)]
    return cast("Json", dict(work.record)) | {"job": job, "classes": [_whole(work), *parts]}


def _labels(work: Work, factors: Json, repeat: int) -> dict[str, str]:
    """As a study labels its jobs; `work` is the name of the record's file."""
    said = {f"factor.{name}": str(value) for name, value in factors.items()}
    known = {"study": work.kind, "scenario": work.workload, "repeat": str(repeat), "on": work.on, "work": work.id}
    return known | said


def _whole(work: Work) -> Json:
    found = _figures(cast("Json", work.record["figures"])) | {"name": WHOLE, "provenance": work.provenance}
    if work.rate is not None and work.rate[0] not in work.record["figures"]:
        found[work.rate[0]] = work.rate[1]
    return found | {"cpu": work.record.get("cpu") or {}, "intervals": work.record.get("intervals") or []}


def _part(part: WorkPart, provenance: str) -> Json:
    kept = {name: part.get(name) for name in ("service", "response") if part.get(name)}
    return _figures(cast("Json", part["figures"])) | kept | {"name": part["name"], "provenance": provenance}


def _figures(figures: Json) -> Json:
    """Under the names that metrics have: an operation's rate is `ops_rate` everywhere."""
    return {("ops_rate" if name == "ops_per_s" else name): value for name, value in figures.items()}
