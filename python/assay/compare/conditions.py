"""In what the sides differ besides their figures: the machine, and what was asked of it."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from assay.compare.side import Side
from assay.record import Record
from assay.results.row import Row
from assay.untyped import Json

# What changes from run to run without a meaning for the figures, and what sets runs apart by design.
_VOLATILE = {"load_average", "available_bytes", "swap_used_bytes", "free_bytes", "memlock_bytes", "tsc_hz"}
# So many facts of one side alone are named one by one.
_NAMED = 3
_OWN = {"labels", "seed", "name", "scratch", "keep_scratch", "acknowledgements"}


@dataclass(frozen=True)
class Difference:
    """One thing that is not the same; values in order of appearance."""

    what: str
    a: tuple[str, ...]
    b: tuple[str, ...]

    def document(self) -> Json:
        """As `--json` prints it."""
        return {"what": self.what, "a": list(self.a), "b": list(self.b)}

    @property
    def said(self) -> str:
        """In words."""
        return f"{self.what}: {_joined(self.a)} (A), {_joined(self.b)} (B)"


@dataclass(frozen=True)
class OneSided:
    """Facts that the records of one side alone hold: of a log, or of another target, that the other side has not."""

    side: str
    facts: tuple[Difference, ...]

    @property
    def said(self) -> str:
        """In one line, counted by what they are facts of."""
        counts = Counter(" ".join(one.what.split()[:2]) for one in self.facts)
        shown = ", ".join(f"{what} {count}" for what, count in counts.most_common(_NAMED))
        more = f" and {sum(counts.values()) - sum(count for _, count in counts.most_common(_NAMED))} more"
        return f"{len(self.facts)} facts that only {self.side} has: {shown}{more if len(counts) > _NAMED else ''}"


def summed_up(found: Sequence[Difference]) -> tuple[list[Difference], list[OneSided]]:
    """Differences to be read one by one, and those that are counted, as one side has nothing to hold against them.

    A few of those are named all the same.
    """
    alone = {"A": tuple(one for one in found if not one.b), "B": tuple(one for one in found if not one.a)}
    counted = [OneSided(side, facts) for side, facts in alone.items() if len(facts) > _NAMED]
    hidden = {id(one) for each in counted for one in each.facts}
    return [one for one in found if id(one) not in hidden], counted


def environment(a: Side, b: Side) -> list[Difference]:
    """Facts of machine, target and measuring program that differ between the sides, or change within one."""
    return _between([[_environment(one) for one in _records(side.rows)] for side in (a, b)], _VOLATILE)


def asked(a: Sequence[Row], b: Sequence[Row]) -> list[Difference]:
    """What the jobs of both sides ask for differently."""
    return _between([[one["job"] for one in _records(rows)] for rows in (a, b)], _OWN)


def _records(rows: Iterable[Row]) -> list[Record]:
    return list({id(one.record): one.record for one in rows}.values())


def _environment(record: Record) -> Json:
    return {**record["environment"], "assayer_version": record["run"].get("assayer_version")}


def _between(sides: Sequence[Sequence[Mapping[str, Any]]], without: set[str]) -> list[Difference]:
    a, b = sides
    apart = _apart([*a, *b])
    several = {route for document in apart for route in _several(document)}
    return _differences(*(_facts(part, without, several) for part in (apart[: len(a)], apart[len(a) :])))


def _several(node: Any, route: str = "") -> Iterator[str]:
    """Where lists of several members stand: members are named there in all documents, so that like meets like."""
    if isinstance(node, dict):
        for name, value in node.items():
            yield from _several(value, f"{route} {name}")
    elif isinstance(node, list):
        if len(node) > 1:
            yield route
        for value in node:
            yield from _several(value, route)


def _apart(nodes: Sequence[Mapping[str, Any]]) -> list[Json]:
    """Documents without what all of them hold alike, down to what differs: a job holds its whole twin, which is one."""
    first, *rest = nodes or [{}]
    alike = {name for name, value in first.items() if all(name in node and node[name] == value for node in rest)}
    found = [{name: value for name, value in node.items() if name not in alike} for node in nodes]
    for name in list(found[0]) if found else ():
        if all(isinstance(node.get(name), dict) for node in found):
            for node, value in zip(found, _apart([node[name] for node in found]), strict=True):
                node[name] = value
    return found


def _facts(documents: Iterable[Json], without: set[str], several: set[str]) -> dict[str, dict[str, None]]:
    found: dict[str, dict[str, None]] = {}
    for document in documents:
        for path, value in _flat(document, without, several):
            found.setdefault(path, {})[value] = None
    return found


def _flat(
    node: Any, without: set[str], several: set[str], path: str = "", route: str = ""
) -> Iterator[tuple[str, str]]:
    """Every fact with its path; `route` is the path without the names of members."""
    if isinstance(node, Mapping):
        for name, value in node.items():
            if name not in without:
                yield from _flat(value, without, several, f"{path} {name}".strip(), f"{route} {name}")
    elif isinstance(node, list) and any(isinstance(value, (Mapping, list)) for value in node):
        for index, value in enumerate(node):
            own = str(value.get("name") or value.get("target") or index) if isinstance(value, Mapping) else str(index)
            yield from _flat(value, without, several, f"{path} {own}" if route in several else path, route)
    else:
        yield path, _text(node)


def _text(value: Any) -> str:
    return ", ".join(map(str, value)) if isinstance(value, list) else "none" if value in (None, "") else str(value)


def _differences(a: Mapping[str, Mapping[str, None]], b: Mapping[str, Mapping[str, None]]) -> list[Difference]:
    paths = dict.fromkeys([*a, *b])
    found = [(path, tuple(a.get(path, {})), tuple(b.get(path, {}))) for path in paths]
    return [
        Difference(path.replace("_", " "), left, right)
        for path, left, right in found
        if set(left) != set(right) or len(left) > 1
    ]


def _joined(values: Sequence[str]) -> str:
    shown = ", ".join(values[:3]) or "none"
    return f"{shown} and {len(values) - 3} more" if len(values) > 3 else shown
