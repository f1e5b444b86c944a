"""A run of a study in virtual time: what changes while it runs (write caches, garbage collection)."""

from __future__ import annotations

from collections.abc import Sequence

from assay.claim.answer import RunAnswer, StreamAnswer
from assay.claim.drop import drop_s
from assay.claim.model import ClaimStream
from assay.claim.question import SweepPoint
from assay.claim.value import ClaimValue
from assay.study.job import FORMAT_VERSION, path_spec
from assay.target import catalog, names
from assay.units.parse import parse_bytes, parse_rate, parse_seconds
from assay.untyped import Json

# Points of a series: enough to see a fall to half a percent of the run.
_INTERVALS = 200


def answer_of(ended: Json) -> RunAnswer:
    """What a run gives that has ended (`Dispatcher.runs`); a refusal becomes the sentence of the answer."""
    last: Json = ended["last"]
    if last.get("event") != "finished":
        return RunAnswer({}, last.get("reason") or ended["said"] or "the simulation gave no record")
    return RunAnswer({found["name"]: _stream(found) for found in last["record"]["classes"]})


def job_of(point: SweepPoint, target: Json, host: Json) -> Json:
    """The job of a point."""
    seconds = parse_seconds(point.settings.duration)
    twin = {"version": catalog.VERSION, "label": names.PREFIX + point.machine.on, "target": target, "host": host}
    if point.settings.file_system:
        twin["file_system"] = point.settings.file_system
    return {
        "version": FORMAT_VERSION,
        "name": f"{point.run}#{point.index}",
        "targets": [{"id": "main", "kind": "twin", "members": [], "twin": twin}],
        "datasets": [_dataset(size) for size in sorted({stream.working_set for stream in point.streams.values()})],
        "classes": [_class(point, alias, stream) for alias, stream in point.streams.items()],
        "window": {"measure_s": seconds, "interval_ms": max(1, round(seconds * 1000 / _INTERVALS))},
        "cache": "bypassed",
    }


def _dataset(working_set: str) -> Json:
    """Streams that work on as many bytes work on the same ones. The catalog's sizes are multiples of every page."""
    return {"name": _data(working_set), "target": "main", "bytes": parse_bytes(working_set)}


def _data(working_set: str) -> str:
    return f"data-{working_set}"


def _class(point: SweepPoint, alias: str, stream: ClaimStream) -> Json:
    size = parse_bytes(stream.size)
    spec = path_spec(point.settings.path) | {"direct": True}
    found: Json = {
        "name": alias,
        "dataset": _data(stream.working_set),
        "path": spec,
        "operation": {"kind": stream.op},
        "pattern": {"kind": "sequential" if stream.pattern == "sequential" else "uniform"},
        "size": size,
        "threads": stream.threads or point.settings.threads or 1,
        "depth": stream.depth,
        "batch": stream.batch,
    }
    if stream.rate:
        rate = parse_rate(stream.rate).operations(size)
        found["arrivals"] = {"kind": "fixed", "rate_per_s": rate, "scope": "total"}
    return found


def _stream(found: Json) -> StreamAnswer:
    bandwidth = found["bandwidth"]
    band = bandwidth.get("band")
    width = band["high"] / bandwidth["value"] - 1 if band and bandwidth["value"] else 0.0
    metrics = {
        "bandwidth": ClaimValue(bandwidth["value"], width),
        "rate": ClaimValue(found["ops_rate"]["value"], width),
        "latency": ClaimValue(found["service"]["mean_ns"], width),
    }
    at = drop_s(found["intervals"])
    if at is not None:
        metrics["drop_s"] = ClaimValue(at, width)
    series = tuple((float(one["at_s"]), one["bytes"] / one["length_s"]) for one in _whole(found["intervals"]))
    return StreamAnswer(metrics, series=series)


def _whole(intervals: Sequence[Json]) -> Sequence[Json]:
    """Without the last interval where it is a splinter: it holds no or few operations, and looks like a fall."""
    if len(intervals) > 1 and intervals[-1]["length_s"] < intervals[0]["length_s"] / 2:
        return intervals[:-1]
    return intervals
