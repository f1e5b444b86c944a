"""What the records of a folder say about a study's claims: runs that did the same, and in what they differ."""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass

from assay.claim.answer import Answers, RunAnswer
from assay.claim.here import stream_of
from assay.claim.model import ClaimStream, ClaimStudy
from assay.claim.question import SweepPoint, points
from assay.record import Class, ClassResult, Record
from assay.results.folder import Cell, Folder
from assay.study.job import path_spec
from assay.units import show as units
from assay.units.parse import parse_bytes, parse_rate

_NONE = "no record did the same (path, operation, pattern, durability); `assay claims --here DIR` measures it"
_STUDY = "assay run dana-long"
# Further off than this, in sizes, threads and depths together, a record says nothing about the claim.
_FARTHEST = math.log(64)
_MODULES = {"pmem100", "pmem200"}


@dataclass(frozen=True)
class _Fit:
    """A record that did the same as a run, how far off its settings are, and in what."""

    cell: Cell
    classes: Mapping[str, ClassResult]
    distance: float
    differs: tuple[str, ...]


def answers(study: ClaimStudy, wanted: set[str], memory: Mapping[str, bool], folder: Folder) -> Answers:
    """Every run of `wanted` from the record that comes nearest; `memory` tells of byte-addressable machines."""
    found: dict[str, list[RunAnswer]] = {}
    for point in points(study, wanted):
        found.setdefault(point.run, []).append(_answer(point, memory[point.settings.machine], folder.measured))
    return Answers(found)


def _answer(point: SweepPoint, on_memory: bool, cells: Sequence[Cell]) -> RunAnswer:
    if point.settings.engine == "simulation":
        return RunAnswer({}, f"it takes from minutes to hours; `{_STUDY}` measures it")
    fits = [fit for cell in cells if (fit := _fit(point, on_memory, cell)) is not None]
    usable = [fit for fit in fits if _status(fit.cell) != "invalid" and fit.distance <= _FARTHEST]
    if not usable:
        return RunAnswer({}, _NONE)
    best = min(usable, key=lambda fit: (round(fit.distance, 6), _status(fit.cell) != "valid"))
    record = best.cell.record or {}
    provenance = str(next(iter(best.classes.values()))["bandwidth"]["provenance"])
    return RunAnswer(
        {alias: stream_of(found) for alias, found in best.classes.items()},
        provenance=provenance,
        status=_status(best.cell),
        machine=point.hardware,
        place=_place(record),
        records=(best.cell.id,),
        differs=(f"{_place(record)} in place of {point.hardware}", *best.differs),
    )


def _status(cell: Cell) -> str:
    return str((cell.record or {"verdict": {}})["verdict"].get("status") or "invalid")


def _place(record: Record) -> str:
    """The device that was measured, by model or name."""
    found = []
    for target in record["job"].get("targets") or ():
        if isinstance(target.get("twin"), dict):
            found.append(str(target["twin"].get("label")))
        elif target.get("kind") in ("memory", "null"):
            found.append(str(target["kind"]))
    for facts in record["environment"].get("targets") or ():
        device, system = facts.get("device") or {}, facts.get("file_system") or {}
        name = str(device.get("model") or "").strip() or str(
            device.get("name") or system.get("kind") or facts.get("path")
        )
        found.append(f"{name} under {system['kind']}" if system.get("kind") and name != system["kind"] else name)
    return ", ".join(dict.fromkeys(found)) or "?"


def _fit(point: SweepPoint, on_memory: bool, cell: Cell) -> _Fit | None:
    record = cell.record or {}
    if on_memory != _is_memory(record) or len(record["classes"]) != len(point.streams):
        return None
    asked = {str(entry.get("name")): entry for entry in record["job"]["classes"]}
    layouts = {str(entry.get("name")): str(entry.get("layout") or "written") for entry in record["job"]["datasets"]}
    left = {str(one["name"]): one for one in record["classes"]}
    chosen: dict[str, ClassResult] = {}
    differs: list[str] = []
    distance = 0.0
    for alias, stream in point.streams.items():
        near = _nearest(point, alias, stream, asked, layouts, left)
        if near is None:
            return None
        name, off, said = near
        chosen[alias] = left.pop(name)
        distance += off
        differs += said
    return _Fit(cell, chosen, distance, tuple(dict.fromkeys(differs)))


def _is_memory(record: Record) -> bool:
    """Whether loads and stores, or files on persistent memory or its stand-ins, were measured."""
    targets = record["job"].get("targets") or ()
    if any(target.get("kind") in ("memory", "device-dax") for target in targets):
        return True
    labels = [str((target.get("twin") or {}).get("label") or "") for target in targets]
    if any(word in label for label in labels for word in _MODULES):
        return True
    members = record["environment"].get("targets") or ()
    return any(
        bool((facts.get("device") or {}).get("dax")) or (facts.get("file_system") or {}).get("kind") == "tmpfs"
        for facts in members
    )


def _nearest(
    point: SweepPoint,
    alias: str,
    stream: ClaimStream,
    asked: Mapping[str, Class],
    layouts: Mapping[str, str],
    left: Mapping[str, ClassResult],
) -> tuple[str, float, list[str]] | None:
    """The class that does the same and is nearest in its settings."""
    having = ((name, asked.get(name) or {}) for name in left)
    same = [(name, one) for name, one in having if _same(point, stream, one, layouts.get(str(one.get("dataset")), ""))]
    found = [(name, *_apart(point, alias, stream, one)) for name, one in same]
    return min(found, key=lambda each: each[1], default=None)


def _same(point: SweepPoint, stream: ClaimStream, asked: Class, layout: str) -> bool:
    """The same operation by the same path, made durable alike."""
    operation, path = asked["operation"], asked.get("path") or {}
    sequential = str((asked.get("pattern") or {}).get("kind")) == "sequential"
    if str(operation.get("kind")) != stream.op or sequential != (stream.pattern == "sequential"):
        return False
    if operation["kind"] == "mix" and int(operation.get("write_percent") or 0) != stream.write_percent:
        return False
    durable = asked.get("durability") or {"kind": "none"}
    if stream.op != "read" and (durable.get("kind") != stream.durability or int(durable.get("every") or 1) != 1):
        return False
    return layout == stream.layout and _path(point) == (str(path.get("kind")), bool(path.get("direct")))


def _path(point: SweepPoint) -> tuple[str, bool]:
    word = point.settings.path
    if word == "spdk":
        return "nvme_polled", False
    spec = path_spec(word.removesuffix("+buffered"))
    buffered = word.endswith("+buffered")
    direct = bool(spec.get("direct")) or (spec["kind"] in ("libaio", "io_uring") and not buffered)
    return str(spec["kind"]), direct


def _apart(point: SweepPoint, alias: str, stream: ClaimStream, asked: Class) -> tuple[float, list[str]]:
    """How far settings are off (the logarithms of their ratios, summed), and in what, in words."""
    wanted: dict[str, float] = {
        "size": float(parse_bytes(stream.size)),
        "threads": float(stream.threads or point.settings.threads or 1),
        "depth": float(stream.depth),
    }
    distance, said = 0.0, []
    for name, value in wanted.items():
        seen = asked.get(name, 1)
        seen = float(seen) if isinstance(seen, (int, float)) else value
        if seen != value:
            distance += abs(math.log(seen / value))
            show = units.block if name == "size" else lambda number: f"{number:g}"
            said.append(f"{alias}: {name} {show(seen)} in place of {show(value)}")
    return distance, said + list(_rates(alias, stream, asked))


def _rates(alias: str, stream: ClaimStream, asked: Class) -> Iterator[str]:
    """Rates that were asked for differ without making the record another run."""
    arrivals = asked.get("arrivals") or {"kind": "closed"}
    seen = None if arrivals["kind"] == "closed" else arrivals.get("rate_per_s")
    wanted = parse_rate(stream.rate).operations(parse_bytes(stream.size)) if stream.rate else None
    if seen is None and wanted is None:
        return
    if seen is None or wanted is None or abs(float(seen) / wanted - 1) > 0.01:
        words = [f"{value:.4g}/s" if value is not None else "no rate" for value in (seen, wanted)]
        yield f"{alias}: {words[0]} in place of {words[1]}"
