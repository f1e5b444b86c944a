"""Which file system, or none."""

from __future__ import annotations

from assay.advise.advice import Evidence, RuleFinding, gain, joined
from assay.advise.facts import RuleFacts, ids, where
from assay.advise.rule import Rule
from assay.results import group
from assay.results.group import Point
from assay.results.row import Row
from assay.units import show

_ALIKE = ("study", "scenario", "class", "operation", "pattern", "size", "threads", "depth", "path", "durability")


def _find(facts: RuleFacts) -> RuleFinding | None:
    """The same load over several file systems; a class with a rate can gain nothing."""
    found = []
    for part in group.by(where(facts.rows, lambda one: one.closed and bool(_system(one))), _ALIKE).values():
        over = ((name, group.point(rows, "bandwidth")) for name, rows in _by_system(part).items())
        having: dict[str, Point] = {name: point for name, point in over if point is not None}
        if len(having) > 1:
            found.append(having)
    if not found:
        return None
    gains, evidence = [], []
    for points in found:
        ordered = sorted(points.values(), key=lambda point: point.value)
        gains.append(gain(ordered[-1], ordered[0], "the bandwidth of the slowest file system"))
        evidence.append(Evidence(_said(points), ids(*points.values())))
    wins = [_fastest(points) for points in found]
    best = max(set(wins), key=wins.count)
    return RuleFinding(
        f"{best} was fastest in {wins.count(best)} of {len(wins)} loads.", tuple(evidence), joined(gains)
    )


def _fastest(points: dict[str, Point]) -> str:
    return max(points, key=lambda name: points[name].value)


def _by_system(rows: list[Row]) -> dict[str, list[Row]]:
    found: dict[str, list[Row]] = {}
    for one in rows:
        found.setdefault(_system(one), []).append(one)
    return found


def _system(one: Row) -> str:
    """File systems beneath a record; `none` for a bare device; empty where it cannot be told."""
    targets = one.record["job"].get("targets") or ()
    if any(target.get("kind") == "block-device" for target in targets):
        return "none"
    twins = [target["twin"] for target in targets if isinstance(target.get("twin"), dict)]
    if twins:
        return str(twins[0].get("file_system") or "none")
    members = one.record["environment"].get("targets") or ()
    kinds = {str((member.get("file_system") or {}).get("kind") or "") for member in members}
    return ", ".join(sorted(kinds - {""}))


def _said(points: dict[str, Point]) -> str:
    first = next(iter(points.values())).rows[0]
    parts = (f"{name} {show.rate(point.value)}" for name, point in points.items())
    return f"{first.name}, {first.path_label}: {', '.join(parts)}"


RULE = Rule(
    id="file-system",
    title="Choose the file system by the load",
    source="Haas, Haubenschild, Leis, CIDR 2020, table 4: none and XFS ahead of F2FS and ext4, Btrfs last",
    costs="Moving the data; without a file system, tools for backup and for growing.",
    check="`assay compare --study dana-filesystems --on A --on B` on folders of both.",
    wants="assay run dana-filesystems --on FOLDER-ON-EXT4 --on FOLDER-ON-XFS",
    find=_find,
)
