"""How fast twins answer: simulated operations and analytic points per second of one core."""

from __future__ import annotations

import json

from assay import home
from assay.bench import process
from assay.record import Record
from assay.target import catalog, names
from assay.target.target import parse
from assay.twin.predict import Point, stream
from assay.untyped import Json

TWINS = ("twin:p4610", "twin:p4610*4", "twin:970evoplus", "twin:p5800x", "twin:pmem100-128g*6")
_WINDOW_S = 1000.0


def measure(seconds: float) -> Json:
    """Random 4 KiB reads (256 B on memory), 4 threads, 32 in flight each. Of CPU time: neighbours do not count."""
    return {"bench": "twin", "points": [_point(name, seconds) for name in TWINS], "seconds": seconds}


def _point(name: str, seconds: float) -> Json:
    simulated, record = _simulated(name)
    return {
        "twin": name,
        "simulated_ops_per_s": simulated,
        "simulated_operations": record["classes"][0]["operations"],
        "analytic_points_per_s": _analytic(name, seconds),
        "simulated_bandwidth_bytes_per_s": record["classes"][0]["bandwidth"]["value"],
    }


def _simulated(name: str) -> tuple[float, Record]:
    """Operations per CPU second of a whole run of the program, start and record included."""
    job = job_of(name)
    done = process.run([str(home.binary()), "run", "-"], json.dumps(job))
    record: Record = json.loads(done.text.splitlines()[-1])["record"]
    notes = [reason["numbers"] for reason in record["verdict"]["reasons"] if reason["code"] == "modelled-target"]
    return notes[0]["simulated_operations"] / done.cpu_s, record


def job_of(name: str) -> Json:
    """A job that ends by its number of operations."""
    target = parse(name)
    memory = bool(target.twin) and names.is_memory(target.twin["target"]) if target.twin else False
    size = 256 if memory else 4096
    path = {"kind": "pmem"} if memory else {"kind": "libaio", "direct": True}
    return {
        "version": 1,
        "name": name,
        "targets": [target.job("main")],
        "datasets": [{"name": "data", "target": "main", "bytes": 1 << 36}],
        "classes": [
            {
                "name": "reads",
                "dataset": "data",
                "path": path,
                "operation": {"kind": "read"},
                "pattern": {"kind": "uniform"},
                "size": size,
                "threads": 4,
                "depth": 1 if memory else 32,
            }
        ],
        "window": {"measure_s": _WINDOW_S, "interval_ms": 1000},
        "cache": "bypassed",
    }


def _analytic(name: str, seconds: float) -> float:
    driven = parse(name).twin or {}
    memory = names.is_memory(driven["target"])
    point = Point(on=name, size_bytes=256 if memory else 4096, threads=4, depth=1 if memory else 32)
    document = {
        "version": catalog.VERSION,
        "targets": [driven["target"]],
        "hosts": [driven["host"]],
        "questions": [{"target": 0, "host": 0, "streams": [stream(point, memory)]}],
    }
    done = process.run([str(home.binary()), "predict", "-", "--bench", str(seconds)], json.dumps(document))
    return float(json.loads(done.text)["points_per_s"])
