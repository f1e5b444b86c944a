"""Latency over load of random reads: from a file, from a twin, or from the records of a folder.

Each gives points of operations a second and mean latency. The fastest point within a bound counts; nothing between or
beyond the points is made up.
"""

from __future__ import annotations

import csv
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from assay.price.error import PriceError

DEPTHS = (1, 2, 4, 8, 12, 16, 24, 32, 48, 64, 96, 128, 192, 256)


@dataclass(frozen=True)
class Point:
    """One load: operations per second at a mean latency, and CPU cycles of an operation where they are known."""

    iops: float
    latency_s: float
    cycles: float | None = None


@dataclass(frozen=True)
class Curve:
    """Points with where they come from."""

    points: tuple[Point, ...]
    provenance: str
    source: str
    problems: tuple[str, ...] = ()


def usable_iops(points: Sequence[Point], bound_s: float) -> Point:
    """The fastest point within the bound; refused where none is, because nothing is extrapolated."""
    within = [point for point in points if point.latency_s <= bound_s]
    if not within:
        best = min((point.latency_s for point in points), default=float("nan"))
        hint = f"the lowest latency of the curve is {best * 1e6:.4g} us; give a larger bound, or measure smaller depths"
        raise PriceError(f"no point of the curve is within {bound_s * 1e6:.4g} us", hint)
    return max(within, key=lambda point: point.iops)


def of_file(path: Path) -> Curve:
    """A file with the columns `iops` and `latency_us`."""
    try:
        with path.open(encoding="utf-8", newline="") as file:
            rows = csv.DictReader(file)
            points = tuple(Point(float(row["iops"]), float(row["latency_us"]) / 1e6) for row in rows)
    except (OSError, KeyError, TypeError, ValueError) as error:
        hint = "write a CSV file with the columns iops and latency_us, one line per load"
        raise PriceError(f"{path} is no curve of latency over load ({error})", hint) from error
    return Curve(points, "assumed", str(path))


def of_twin(name: str, page_bytes: float) -> Curve:
    """A twin under random reads of a page, one thread for each that is in flight."""
    from assay.binary import Binary
    from assay.target import catalog, names
    from assay.target.host import HostWish
    from assay.twin.predict import Point as Asked
    from assay.twin.predict import stream

    target = names.target(name)
    if names.is_memory(target):
        raise PriceError(f"{name} is memory: it has no queue of reads", "name the twin of a drive, or give --iops")
    host = HostWish("", None, None).document(target)
    loads = [stream(Asked(on=name, size_bytes=int(page_bytes), depth=depth), False) for depth in DEPTHS]
    questions = [{"target": 0, "host": 0, "streams": [load]} for load in loads]
    given = {"version": catalog.VERSION, "targets": [target], "hosts": [host], "questions": questions}
    answers = Binary.find().document("predict", "-", given=given)["answers"]
    found = [answer["solution"]["streams"][0] for answer in answers if answer["kind"] != "refused"]
    points = tuple(Point(one["ops_per_s"], one["mean_ns"] / 1e9, one["cycles_per_op"]) for one in found)
    return Curve(points, "modelled", f"{names.PREFIX}{name.removeprefix(names.PREFIX)} on {host['name']}")


def of_records(directory: Path, page_bytes: float) -> Curve:
    """The random reads of a result folder that had the device for themselves, at the page's size."""
    from assay.results import folder, pick, row

    found = folder.read(directory)
    lone = pick.lone(row.rows(found.cells))
    reads = [
        one
        for one in lone
        if pick.does(one, "read", "uniform") and one.closed and pick.direct(one) and one.status != "invalid"
        and pick.size(one) == page_bytes
    ]  # fmt: skip
    pairs = [(one.metric("ops_rate"), one.metric("service_mean_ns"), one.metric("cycles_per_op")) for one in reads]
    points = tuple(Point(rate, mean / 1e9, cycles) for rate, mean, cycles in pairs if rate and mean)
    if not points:
        hint = "run `assay run raw-depth` into it, or give --page the size that was measured"
        raise PriceError(f"{directory} has no random reads of {page_bytes:g} B past the page cache", hint)
    return Curve(points, reads[0].provenance, f"{len(points)} records of {directory}", found.problems)
