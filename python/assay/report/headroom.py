"""Headroom: what the next better configuration reaches, so that the ladder shows where the gain is lost."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace

from assay.report.answer import layers
from assay.report.figures.rungs import places
from assay.results import group, labels, pick, row
from assay.results.folder import Folder
from assay.results.group import Point
from assay.results.row import Row
from assay.results.work import Work
from assay.units import show
from assay.untyped import Json

# Work that reads less than this share of the best has its data in memory: it is no rung of a ladder of reads.
_HARDLY = 0.01


@dataclass(frozen=True)
class Rung:
    """One configuration: what it reaches, and what the next better one does. Bandwidth in bytes/s, rates in 1/s."""

    name: str
    value: float
    said: str
    share: float
    better: str
    factor: float
    status: str
    provenance: str
    anchor: str
    after: str = ""

    @property
    def gain(self) -> str:
        """How many times more the next better one reaches; empty at the top."""
        return show.times(self.factor) if self.better else ""

    def document(self) -> Json:
        """As `--json` prints it."""
        return {
            "rung": self.name,
            "value": self.value,
            "share_of_best": self.share,
            "next_better": self.better or None,
            "next_better_factor": self.factor if self.better else None,
            "verdict": self.status,
            "provenance": self.provenance,
            "record": self.anchor,
        }


@dataclass(frozen=True)
class Headroom:
    """One ladder from what was best to what was worst, and where most is lost."""

    id: str
    title: str
    unit: str
    rungs: tuple[Rung, ...]
    left_out: tuple[Rung, ...] = ()

    @property
    def lost(self) -> str:
        """The widest step, in a sentence; empty where no step loses a tenth."""
        steps = [rung for rung in self.rungs if rung.better and not self._apart(rung)]
        worst = max(steps, key=lambda rung: rung.factor, default=None)
        if worst is None or worst.factor < 1.1:
            return ""
        return f"Most is lost between {worst.better} and {worst.name}: {worst.gain}."

    def _apart(self, rung: Rung) -> bool:
        """Whether a rung and the next are two pieces of work in a ladder of reads: neither stands on the other."""
        return self.id == "reads" and rung.anchor.startswith("work-") and rung.after.startswith("work-")

    def document(self) -> Json:
        """As `--json` prints it."""
        return {
            "ladder": self.id,
            "title": self.title,
            "unit": self.unit,
            "lost": self.lost.replace("\u00a0", " "),
            "left_out": [rung.document() for rung in self.left_out],
            "rungs": [rung.document() for rung in self.rungs],
        }


@dataclass(frozen=True)
class _Step:
    """A configuration before it is ranked."""

    name: str
    value: float
    status: str
    provenance: str
    anchor: str


def find(folder: Folder) -> list[Headroom]:
    """Every ladder with at least two rungs; invalid records are no rung."""
    rows = row.rows(folder.cells)
    found = [
        _thirsty(
            _ranked("reads", "Reads, from the device to what stands on it", "bytes/s", _reads(rows, folder.works))
        ),
        _ranked("point-reads", "Point reads of 4 KiB", "ops/s", _points(rows)),
        *_commits(rows),
        *_work(folder.works),
        *_declared(folder),
    ]
    return [one for one in found if len(one.rungs) > 1]


def _ranked(id_: str, title: str, unit: str, steps: Iterable[_Step]) -> Headroom:
    """Best first; of one name the best counts."""
    best: dict[str, _Step] = {}
    for step in steps:
        if step.status != "invalid" and step.value > 0 and step.value > getattr(best.get(step.name), "value", 0.0):
            best[step.name] = step
    ordered = sorted(best.values(), key=lambda step: -step.value)
    rungs = []
    for place, step in enumerate(ordered):
        above = ordered[place - 1] if place else None
        rungs.append(
            Rung(
                name=step.name,
                value=step.value,
                said=show.rate(step.value) if unit == "bytes/s" else f"{show.count(step.value)}/s",
                share=step.value / ordered[0].value,
                better=above.name if above else "",
                factor=above.value / step.value if above else 1.0,
                status=step.status,
                provenance=step.provenance,
                anchor=step.anchor,
                after=above.anchor if above else "",
            )
        )
    return Headroom(id_, title, unit, tuple(rungs))


def _thirsty(ladder: Headroom) -> Headroom:
    """Without work that hardly reads: its data lie in memory, and no gain of the device is lost on it."""
    rungs = tuple(one for one in ladder.rungs if one.share >= _HARDLY or not one.anchor.startswith("work-"))
    return replace(ladder, rungs=rungs, left_out=tuple(one for one in ladder.rungs if one not in rungs))


def _step(name: str, point: Point) -> _Step:
    return _Step(name, point.value, point.status, point.provenance, point.anchor)


def _of_paths(rows: Sequence[Row], metric: str) -> Iterable[_Step]:
    for part in group.by(rows, ("on", "path")).values():
        points = [group.point(cell, metric) for cell in group.by(part, ("study", "size", "threads", "depth")).values()]
        best = max((point for point in points if point is not None), key=lambda point: point.value, default=None)
        if best is not None:
            first = best.rows[0]
            yield _step(f"{first.path_label}, {pick.in_flight(first)} in flight", best)


def _reads(rows: Sequence[Row], works: Sequence[Work]) -> Iterable[_Step]:
    """Scans by path, scans in company, and what engines and databases read from their devices."""
    lone = [one for one in pick.lone(rows) if pick.does(one, "read", "sequential") and pick.cache(one) != "warm"]
    yield from _of_paths([one for one in lone if one.closed], "bandwidth")
    company = [one for one in rows if len(one.record["classes"]) > 1 and pick.does(one, "read") and one.closed]
    company = [one for one in company if pick.in_flight(one) > 1]
    for part in group.by(company, ("on", "study", "class", "path")).values():
        point = group.point(part, "bandwidth")
        if point is not None:
            first = point.rows[0]
            yield _step(f"{first.name} beside others ({first.cell.study}), {first.path_label}", point)
    yield from (found for one in works if (found := _read_by(one)) is not None)


def _read_by(one: Work) -> _Step | None:
    """What work read from its devices a second; by its own count where it has one, for a device is shared."""
    seconds = float(one.record.get("measured_s") or 0)
    own = one.figure("device_read_bytes")
    moved = _moved(one, "read_bytes") if own is None else min(own, _moved(one, "read_bytes"))
    if moved <= 0 or seconds <= 0:
        return None
    name = f"{one.subject}, {one.workload}: read by its devices"
    return _Step(name, moved / seconds, one.status, one.provenance, one.anchor)


def _points(rows: Sequence[Row]) -> Iterable[_Step]:
    reads = [one for one in pick.lone(rows) if pick.does(one, "read", "uniform") and pick.cache(one) != "warm"]
    yield from _of_paths([one for one in reads if one.closed and pick.size(one) == 4096], "ops_rate")


def _commits(rows: Sequence[Row]) -> Iterable[Headroom]:
    """One thread's durable writes by means and layout, for each size."""
    writes = [one for one in pick.lone(rows) if pick.does(one, "write", "sequential") and one.closed]
    writes = [one for one in writes if pick.durability(one)["kind"] != "none" and one.asked.get("threads", 1) == 1]
    for (size,), own in group.by(writes, ("size",)).items():
        said = show.block(float(str(size))) if isinstance(size, (int, float)) else labels.sizes(size)
        steps = []
        for part in group.by(own, ("study", "on", "path", "durability", *_factors(own))).values():
            point = group.point(part, "ops_rate")
            if point is not None:
                first = point.rows[0]
                layout = {"grow": ", growing file", "preallocated": ", preallocated file"}.get(pick.layout(first), "")
                steps.append(_step(f"{first.path_label}, {labels.durability(pick.durability(first))}{layout}", point))
        yield _ranked(f"commits-{said.replace(' ', '-')}", f"Durable writes of {said}, one thread", "ops/s", steps)


def _work(works: Sequence[Work]) -> Iterable[Headroom]:
    """The same work by other subjects, with another durability, or in another place."""
    keyed: dict[tuple[str, ...], list[Work]] = {}
    for one in works:
        if one.rate is not None:
            keyed.setdefault((one.workload, one.rate[0], *one.problem), []).append(one)
    for key, own in keyed.items():
        steps = [
            _Step(_configured(one), one.rate[1], one.status, one.provenance, one.anchor)
            for one in own
            if one.rate is not None
        ]
        title = f"{key[0]}, {key[1].removesuffix('_per_s').replace('_', ' ')} a second"
        yield _ranked(
            "-".join(("work", key[0], *key[2:])).replace(" ", "-"), ", ".join((title, *key[2:])), "ops/s", steps
        )


def _configured(one: Work) -> str:
    return f"{one.subject}, durability {one.durability or 'unsaid'}, on {one.medium or one.on}"


def _factors(rows: Sequence[Row]) -> list[str]:
    return list(dict.fromkeys(name for one in rows for name in one.cell.factors))


def _moved(one: Work, name: str) -> float:
    found = 0.0
    for device in one.record.get("devices") or ():
        figure = device.get(name)
        value = figure.get("value") if isinstance(figure, dict) else None
        found += float(value) if isinstance(value, (int, float)) else 0.0
    return found


def _declared(folder: Folder) -> list[Headroom]:
    """The steps of the first ladder that a study declares."""
    found = layers.declared(folder)
    if found is None:
        return []
    study, ask, cells = found
    rows = row.rows(cells)
    ladders: list[Headroom] = []
    for title, steps in places(ask, cells, rows) if rows else []:
        measured = [
            _Step(step.label, step.total, step.status, next(iter(step.classes.values())).provenance, step.anchor)
            for step in steps
            if step.classes
        ]
        named = f"{study.title}, {title}" if title else study.title
        ladders.append(_ranked(f"ladder-{len(ladders) + 1}", named, "bytes/s", measured))
    return ladders
