"""`assay predict --points FILE.csv`: thousands of points in one go, one row each."""

from __future__ import annotations

import csv
from collections.abc import Sequence
from pathlib import Path

from assay.binary import Binary
from assay.error import BAD_JOB, AssayError
from assay.target import catalog, names
from assay.twin.point_set import applied
from assay.twin.predict import Point, check, host_of, shown, stream, with_file_system
from assay.untyped import Json

# What stands behind the columns of a point in the table that comes out.
ANSWERS = (
    "host",
    "bandwidth_bytes_per_s",
    "ops_per_s",
    "mean_ns",
    "p50_ns",
    "p99_ns",
    "p999_ns",
    "cycles_per_op",
    "bound_by",
    "band_bandwidth",
    "band_latency",
    "band_tail",
    "extrapolated",
    "refused",
)


def answered(path: Path, common: Point) -> list[Json]:
    """The rows of a table with their answers; what a row does not say, `common` says. A refusal stands in its row.

    Raises:
        AssayError: where the table cannot be read, or names no twin.
    """
    rows = _rows(path)
    asked = [_point(path, number, row, common) for number, row in enumerate(rows, 2)]
    answers = ask_all([point for point in asked if not isinstance(point, AssayError)])
    return [row | _answer(point, answers) for row, point in zip(rows, asked, strict=True)]


def _rows(path: Path) -> list[Json]:
    try:
        with path.open(encoding="utf-8", newline="") as file:
            rows = list(csv.DictReader(line for line in file if not line.startswith("#")))
    except (OSError, UnicodeDecodeError, csv.Error) as error:
        raise AssayError(f"{path} cannot be read: {error}", hint="name a table in UTF-8", code=BAD_JOB) from error
    if not rows:
        raise AssayError(f"{path} holds no points", hint="give a line of names and a line for each point", code=BAD_JOB)
    return rows


def _point(path: Path, number: int, row: Json, common: Point) -> Point | AssayError:
    """The point of a row; a row that means none is refused in its place."""
    if None in row or None in row.values():
        problem = f"{path}, line {number}, has not as many fields as the first line"
        raise AssayError(problem, hint="give a field for each name", code=BAD_JOB)
    given = {key: value.strip() for key, value in row.items() if value.strip()}
    on = given.pop("on", common.on)
    if not on:
        problem = f"{path}, line {number}, names no twin"
        raise AssayError(problem, hint="give a column `on`, or --on", code=BAD_JOB)
    known = Point(**{**vars(common), "on": on})
    try:
        point = with_file_system(applied(known, [f"{key}={value}" for key, value in given.items()]))
        check(point, names.target(point.on))
    except AssayError as error:
        return error
    return point


def ask_all(points: Sequence[Point]) -> dict[Point, Json]:
    """Answers of all points from one process; points that stand twice are asked once."""
    targets: dict[str, int] = {}
    hosts: dict[tuple[object, ...], int] = {}
    document: Json = {"version": catalog.VERSION, "targets": [], "hosts": [], "questions": []}
    order = list(dict.fromkeys(points))
    for point in order:
        if point.on not in targets:
            targets[point.on] = len(targets)
            document["targets"].append(names.target(point.on))
        target = document["targets"][targets[point.on]]
        vcpus = (names.vcpus(target) or {}).get("value")
        who = (point.host, point.cores, point.clock_hz, names.family(target), vcpus)
        if who not in hosts:
            hosts[who] = len(hosts)
            document["hosts"].append(host_of(point, target))
        streams = [stream(point, names.is_memory(target))]
        document["questions"].append({"target": targets[point.on], "host": hosts[who], "streams": streams})
    if not order:
        return {}
    answers = Binary.find().document("predict", "-", given=document)["answers"]
    called = [document["hosts"][question["host"]]["name"] for question in document["questions"]]
    return {point: answer | {"host": host} for point, answer, host in zip(order, answers, called, strict=True)}


def _answer(point: Point | AssayError, answers: dict[Point, Json]) -> Json:
    empty = dict.fromkeys(ANSWERS, "")
    if isinstance(point, AssayError):
        return empty | {"refused": point.message}
    answer = answers[point]
    if answer["kind"] == "refused":
        return empty | {"host": answer["host"], "refused": answer["reason"]}
    found = shown(point, answer["host"], answer["solution"])
    return empty | {
        "host": found["host"],
        "bandwidth_bytes_per_s": found["bandwidth_bytes_per_s"],
        "ops_per_s": found["iops"],
        **{f"{name}_ns": value for name, value in found["latency_ns"].items()},
        "cycles_per_op": found["cycles_per_op"],
        "bound_by": found["bound_by"],
        **{f"band_{name}": found["band"][name] for name in ("bandwidth", "latency", "tail")},
        "extrapolated": "; ".join(found["extrapolated"]),
    }
