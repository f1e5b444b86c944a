"""What the records of index runs say: repeats together, and what a pool between two that were tried would do."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from statistics import fmean

from assay.error import BAD_JOB, AssayError
from assay.record import WorkRecord
from assay.results import way
from assay.study.work import folder
from assay.study.work.index import INDEXES

# What runs may differ in beside index, operations, threads and pool, as their parameters name it.
CONDITIONS = ("keys", "key bytes", "value bytes", "scan length", "as if on")


@dataclass(frozen=True)
class PointFigures:
    """What the records of one index under one workload with so many threads say, repeats together."""

    index: str
    workload: str
    threads: int
    in_memory: bool
    rates: tuple[float, ...]
    utilisation: float
    cpu_ns: float
    reads: float
    writes: float
    emulated: bool
    batch: int = 1
    way: str = ""
    # Of the index, what its pool holds; 1 for an index in memory, which needs none.
    share: float = 1.0
    amplification: float = 1.0
    # Shortest and longest CPU time of an operation among the repeats; none where they are not known.
    cpu_span: tuple[float, float] | None = None

    @property
    def name(self) -> str:
        """The index, and how it was run where that was not as usual."""
        return f"{self.index} {self.way}".strip()

    @property
    def rate(self) -> float:
        """Operations per second, mean of the repeats."""
        return fmean(self.rates)


def seen(*directories: Path) -> list[PointFigures]:
    """The runs of indexes in result folders, without those that were interrupted, as `finished` raises it."""
    return together(finished(*directories)[0])


def finished(*directories: Path) -> tuple[list[WorkRecord], list[WorkRecord]]:
    """The records of index runs that count, and those that were interrupted: they hold less than was asked for, and of
    some not one figure.

    Raises:
        AssayError: where none counts.
    """
    found = [record for one in directories for record in folder.load(one) if _counts(record)]
    whole, cut = [one for one in found if not _cut(one)], [one for one in found if _cut(one)]
    if not whole:
        hint = "make some: assay index run --index dash-eh --workload lookup --out DIR"
        message = f"{', '.join(map(str, directories))} holds no run of an index that is not invalid"
        raise AssayError(message + (f" or interrupted ({names(cut)})" if cut else ""), hint=hint, code=BAD_JOB)
    return whole, cut


def names(records: Sequence[WorkRecord]) -> str:
    """Runs by index, operations and id."""
    return ", ".join(f"{one['subject']['name']} under {one['workload']['name']}, {one['run']['id']}" for one in records)


def _cut(record: WorkRecord) -> bool:
    return any(reason["code"] == "interrupted" for reason in record["verdict"]["reasons"])


def together(found: Sequence[WorkRecord]) -> list[PointFigures]:
    """Runs that differ in nothing but chance as one."""
    differing = {name for name in CONDITIONS if len({_condition(record, name) for record in found} - {""}) > 1}
    groups: dict[tuple[str, str, int, str, int], list[WorkRecord]] = defaultdict(list)
    for record in found:
        words = [
            f"{name} {_condition(record, name)}"
            for name in CONDITIONS
            if name in differing and _condition(record, name)
        ]
        workload = ", ".join([_workload(record), *words])
        threads = int(record["workload"]["parameters"]["threads"])
        groups[record["subject"]["name"], workload, threads, " ".join(way.words(record)), _pool(record)].append(record)
    return [_together(*key[:4], records) for key, records in sorted(groups.items())]


def _counts(record: WorkRecord) -> bool:
    """Runs of this machine: what was played on a twin has its hardware already."""
    ours = record["kind"] == "index" and record["subject"]["name"] in INDEXES
    played = any(str(one["target"]).startswith("twin:") for one in record["targets"])
    return bool(ours and not played and record["verdict"]["status"] != "invalid")


def _workload(record: WorkRecord) -> str:
    """Operations and how keys are picked: lookups of skewed keys are no repeats of uniform ones."""
    law = record["workload"]["parameters"].get("distribution", "")
    return f"{record['workload']['name']} {law}".strip()


def _condition(record: WorkRecord, name: str) -> str:
    """What is named only where the runs of a folder differ in it, and makes other runs of them."""
    if name == "as if on":
        return str(record["subject"]["settings"].get("as_if", {}).get("twin", "this machine"))
    value = record["workload"]["parameters"].get(name.replace(" ", "_"), "")
    return "-".join(map(str, dict.fromkeys(value))) if isinstance(value, list) else str(value)


def _pool(record: WorkRecord) -> int:
    """Bytes in front of a drive; 0 where there is none."""
    on_drive = str(record["subject"]["name"]).startswith("ssd-")
    return int(record["subject"]["settings"]["pool_bytes"]) if on_drive else 0


def _together(index: str, workload: str, threads: int, way: str, records: Sequence[WorkRecord]) -> PointFigures:
    def mean(name: str, otherwise: float = 0.0) -> float:
        found = [float(record["figures"][name]["value"]) for record in records if name in record["figures"]]
        return fmean(found) if found else otherwise

    cpu = [
        float(record["figures"]["cpu_ns_per_op"]["value"]) for record in records if "cpu_ns_per_op" in record["figures"]
    ]
    in_memory = not index.startswith("ssd-")
    names = ("blocks_read_per_op", "blocks_written_per_op") if in_memory else ("reads_per_op", "writes_per_op")
    missing = [name for name in (names[0], "cpu_utilisation", "cpu_ns_per_op") if mean(name, -1.0) < 0]
    if missing:
        what = f"the run of {index} under {workload} with {threads} threads has no {', '.join(missing)}"
        raise AssayError(what, hint="run it again; --count 0 leaves the counting pass out", code=BAD_JOB)
    return PointFigures(
        index,
        workload,
        threads,
        in_memory,
        tuple(float(record["figures"]["ops_per_s"]["value"]) for record in records),
        min(1.0, mean("cpu_utilisation")),
        mean("cpu_ns_per_op"),
        mean(names[0]),
        mean(names[1]),
        any(target.get("emulated", False) for record in records for target in record["targets"]),
        int(records[0]["workload"]["parameters"].get("batch", 1)),
        way,
        min(1.0, _pool(records[0]) / max(1.0, mean("used_bytes"))) if _pool(records[0]) else 1.0,
        mean("space_amplification", 1.0),
        (min(cpu), max(cpu)),
    )


def with_pool(runs: Sequence[PointFigures], share: float) -> PointFigures | None:
    """What runs that differ in their pools alone say of a pool that holds such a share of the index; none where it is
    smaller than any that was tried. A larger one than any is taken to be no better than the largest."""
    ordered = sorted(runs, key=lambda run: run.share)
    above = next((run for run in ordered if run.share >= share), ordered[-1])
    below = next((run for run in reversed(ordered) if run.share <= share), None)
    if below is None or above.share <= below.share:
        return below

    def between(low: float, high: float) -> float:
        return low + (high - low) * (share - below.share) / (above.share - below.share)

    return replace(
        below,
        share=share,
        cpu_ns=between(below.cpu_ns, above.cpu_ns),
        cpu_span=_between_spans(below, above, between),
        reads=between(below.reads, above.reads),
        writes=between(below.writes, above.writes),
    )


def _between_spans(
    below: PointFigures, above: PointFigures, between: Callable[[float, float], float]
) -> tuple[float, float] | None:
    if below.cpu_span is None or above.cpu_span is None:
        return None
    return between(below.cpu_span[0], above.cpu_span[0]), between(below.cpu_span[1], above.cpu_span[1])
