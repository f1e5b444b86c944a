"""How what Assay does grows with its work: CPU time at one, ten and a hundred times of it, and the exponent of a fit.

CPU time and not the clock: who else is on the machine takes less part in it. What a program needs to start is measured
with the smallest work that there is, and taken off.
"""

from __future__ import annotations

import json
import os
import statistics
import sys
import tempfile
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

from assay import home
from assay.bench import answers, growth, many, process
from assay.bench.growth import GrowthPoint
from assay.error import BAD_JOB, AssayError, did_you_mean
from assay.record import Record
from assay.untyped import Json

Measure = Callable[[int, Path], GrowthPoint]

TIMES = (1, 10, 100)
"""Amounts of work, in parts of the smallest."""
TWIN = answers.TWINS[0]
REPORT_S, REPORT_BYTES = 10.0, 20e6
"""What a report of 10,000 runs may take."""
ASSAY_START_S, ASSAYER_START_S = 0.150, 0.010
"""What the start of either program may take."""
STARTS = 9


@dataclass(frozen=True)
class ScalingWork:
    """One thing that is done; `smallest` is its first amount, of `unit`."""

    name: str
    unit: str
    smallest: int
    measure: Measure


def measure(repeats: int, only: Sequence[str], told: Callable[[str], object], times: Sequence[int] = TIMES) -> Json:
    """All works, or those that are named, and how long both programs take to start. `told` hears what comes next.

    Raises:
        AssayError: where there is no work of a name.
    """
    known = [work.name for work in every({})]
    for name in only:
        if name not in known:
            raise AssayError(f"there is no work `{name}`", hint=did_you_mean(name, known), code=BAD_JOB)
    with _folder() as folder:
        record = _record()
        works = [work for work in every(record) if not only or work.name in only]
        found = []
        for number, work in enumerate(works, 1):
            told(f"[{number}/{len(works)}] {work.name}: {repeats} x {_amounts(work, times)} {work.unit}")
            found.append(_grown(work, repeats, times, folder))
        starts = _starts()
    return {"bench": "scaling", "works": found, "starts": starts, "repeats": repeats, "load": os.getloadavg()[0]}


def _amounts(work: ScalingWork, times: Sequence[int]) -> str:
    return ", ".join(f"{work.smallest * factor:,}" for factor in times)


def every(record: Record) -> list[ScalingWork]:
    """What is measured. `record` is what result folders are made of."""
    return [
        ScalingWork("null", "operations", 1_000_000, _null),
        ScalingWork("twin", "simulated operations", 10_000, _twin),
        ScalingWork("index", "keys of dash-eh and look-ups", 10_000, _lookups),
        ScalingWork("report", "runs", 100, lambda count, folder: _report(record, count, folder)),
        ScalingWork("query", "runs", 100, lambda count, folder: _query(record, count, folder)),
        ScalingWork("compare", "runs of each side", 100, lambda count, folder: _compare(record, count, folder)),
        ScalingWork("choose", "machines", 100, _choose),
    ]


def _grown(work: ScalingWork, repeats: int, times: Sequence[int], folder: Path) -> Json:
    """One work at all of its amounts. The amounts take turns, so that a drift of the machine bends no exponent."""
    start_s = statistics.median(work.measure(1, folder).cpu_s for _ in range(repeats))
    turns = [(factor, work.measure(work.smallest * factor, folder)) for _ in range(repeats) for factor in times]
    left = growth.net([point for _, point in turns], start_s)
    fitted = growth.fit(left)
    return {
        "name": work.name,
        "unit": work.unit,
        "start_cpu_s": start_s,
        "points": [{"times": factor, "amount": point.amount, "cpu_s": point.cpu_s} for factor, point in turns],
        "exponent": fitted and fitted.exponent,
        "low": fitted and _finite(fitted.low),
        "high": fitted and _finite(fitted.high),
        "n_log_n": fitted and fitted.allowed,
        "worse": bool(fitted and fitted.worse),
        **_limits(work, times, folder),
    }


def _finite(value: float) -> float | None:
    return value if abs(value) != float("inf") else None


def _limits(work: ScalingWork, times: Sequence[int], folder: Path) -> Json:
    """What the largest report took by the clock, and how large it is."""
    if work.name != "report":
        return {}
    largest = folder / f"runs-{work.smallest * max(times)}"
    began = time.monotonic()
    _assay("report", str(largest))
    took_s, size = time.monotonic() - began, (largest / "report.html").stat().st_size
    within = took_s <= REPORT_S and size <= REPORT_BYTES
    return {"largest": {"wall_s": took_s, "bytes": size, "within": within}}


def _record() -> Record:
    """A record of a short run on a twin, in virtual time."""
    job = answers.job_of(TWIN)
    job["window"] = {"measure_s": 0.1, "interval_ms": 100}
    return process.assayer(job)[0]


def _null(count: int, _: Path) -> GrowthPoint:
    """The generator, open and closed loop, each for about as long as so many operations take."""
    seconds = max(count / 50e6, 0.001)
    done = process.run([str(home.binary()), "null", "--seconds", f"{seconds:.6f}"])
    found = json.loads(done.text)
    return GrowthPoint(max((found["ops_per_s"] + found["closed_ops_per_s"]) * seconds, 1.0), done.cpu_s)


def _twin(count: int, _: Path) -> GrowthPoint:
    job = answers.job_of(TWIN)
    job["window"] = {"measure_s": max(count / 500e3, 0.001), "interval_ms": 1000}
    record, done = process.assayer(job)
    notes = [one["numbers"] for one in record["verdict"]["reasons"] if one["code"] == "modelled-target"]
    return GrowthPoint(float(notes[0]["simulated_operations"]), done.cpu_s)


def _lookups(count: int, _: Path) -> GrowthPoint:
    """A table of so many keys in memory, and as many look-ups: the window's CPU, by the run's own account."""
    job = {
        "version": 1, "name": "scaling", "index": "dash-eh", "target": "/dev/shm", "workload": "lookup",  # noqa: S108
        "keys": count, "threads": 1, "warmup_s": 0.1, "window": {"operations": count}, "counted_operations": 0,
        "checked_entries": 100,
    }  # fmt: skip
    done = process.run([str(home.binary()), "index", "-"], json.dumps(job))
    events = [json.loads(line) for line in done.text.splitlines() if line.startswith("{")]
    record = next(event["record"] for event in events if "record" in event)
    return GrowthPoint(count, record["figures"]["cpu_ns_per_op"]["value"] * count / 1e9)


def _runs(record: Record, count: int, folder: Path, side: str = "") -> Path:
    """The folder of so many runs; it is made once."""
    made = folder / f"runs-{count}{side}"
    return made if made.exists() else many.runs(made, record, count, side)


def _report(record: Record, count: int, folder: Path) -> GrowthPoint:
    return GrowthPoint(count, _assay("report", str(_runs(record, count, folder))))


def _query(record: Record, count: int, folder: Path) -> GrowthPoint:
    """With the tables made anew, as they are when a folder is asked for the first time."""
    made = _runs(record, count, folder)
    for table in made.glob("*.parquet"):
        table.unlink()
    return GrowthPoint(count, _assay("query", "select count(*) from classes", "--in", str(made)))


def _compare(record: Record, count: int, folder: Path) -> GrowthPoint:
    sides = [str(_runs(record, count, folder, side)) for side in ("", "-b")]
    return GrowthPoint(count, _assay("compare", *sides, "--no-page", codes=(0, 3, 4)))


def _choose(count: int, folder: Path) -> GrowthPoint:
    workload = folder / "workload.toml"
    workload.write_text(many.WORKLOAD, encoding="utf-8")
    machines = many.machines(folder / f"machines-{count}.toml", count)
    return GrowthPoint(
        count, _assay("choose", "--workload", str(workload), "--cloud", "none", "--hardware", str(machines))
    )


def _assay(*arguments: str, codes: Sequence[int] = (0,)) -> float:
    """CPU seconds of one command of Assay's."""
    command = [sys.executable, "-m", "assay", *arguments]
    return process.run(command, codes=codes).cpu_s


def _starts() -> list[Json]:
    """How long the programs take to say what they can, by the clock; the median of some."""
    programs = (("assay --help", [sys.executable, "-m", "assay", "--help"], ASSAY_START_S),
                ("assayer --help", [str(home.binary()), "--help"], ASSAYER_START_S))  # fmt: skip
    return [_start(name, command, most_s) for name, command, most_s in programs]


def _start(name: str, command: list[str], most_s: float) -> Json:
    took = []
    for _ in range(STARTS):
        began = time.monotonic()
        done = process.run(command)
        took.append((time.monotonic() - began, done.cpu_s))
    wall_s, cpu_s = (statistics.median(each) for each in zip(*took, strict=True))
    return {"name": name, "wall_s": wall_s, "cpu_s": cpu_s, "most_s": most_s, "within": wall_s <= most_s}


@contextmanager
def _folder() -> Iterator[Path]:
    with tempfile.TemporaryDirectory(prefix="assay-scaling-") as name:
        yield Path(name)


def words(result: Json) -> str:
    """What the table amounts to."""
    lines = []
    for start in result["starts"]:
        verdict = "within" if start["within"] else "beyond"
        lines.append(
            f"{start['name']}: {start['wall_s'] * 1e3:.0f} ms by the clock, {start['cpu_s'] * 1e3:.0f} ms of CPU "
            f"({verdict} {start['most_s'] * 1e3:.0f} ms)"
        )
    for work in result["works"]:
        if largest := work.get("largest"):
            verdict = "within" if largest["within"] else "beyond"
            lines.append(
                f"the largest report: {largest['wall_s']:.1f} s, {largest['bytes'] / 1e6:.1f} MB "
                f"({verdict} {REPORT_S:.0f} s and {REPORT_BYTES / 1e6:.0f} MB)"
            )
    worse = [work["name"] for work in result["works"] if work["worse"]]
    lines.append(f"grows faster than n log n: {', '.join(worse) or 'nothing'}")
    lines.append(f"{result['repeats']} turns; load of the machine {result['load']:.1f}")
    return "\n".join(lines)
