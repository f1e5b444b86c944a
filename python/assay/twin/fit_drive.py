"""Fitting the parameters of a drive to measured points. The model is the measuring program's own, asked in batches."""

from __future__ import annotations

import copy
import dataclasses
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy.optimize import least_squares

from assay.binary import Binary
from assay.error import FAILED, AssayError
from assay.executor.work import WorkExecutor
from assay.target.catalog import VERSION
from assay.twin.fit_points import Measured
from assay.untyped import Json

Array = NDArray[np.float64]

# In units of a relative error: decides only what the points leave open.
_PRIOR = 0.01
_STEP = 1e-2
_ROUNDS = 40
# Errors beyond this count by their size, not its square: one odd point does not bend the rest.
_SOFT = 0.1
# How a larger read reaches the dies: bytes of a page, dies that ask for 4 KiB each.
LAYOUTS = ((16384.0, 1.0), (16384.0, 4.0), (65536.0, 1.0), (1048576.0, 1.0))
# A flush that adds less than this finds a buffer that need not go out.
PROTECTED_NS = 100_000.0
# Pages of one die take different times by the bits of a cell: the slowest less the fastest over twice the mean.
MOST = {"read_range": 0.6}
# No drive programs less than is written to it, and none has less than a die.
LEAST = {"write_amplification": 1.0, "dies": 1.0}
_PROGRAM_NS = 561_000.0


@dataclass(frozen=True)
class DriveFit:
    """Parameters of a flash drive as the fit found them, and what the model then says of every point, by name."""

    values: dict[str, float]
    answers: dict[str, Json]

    def error(self, point: Measured) -> float:
        """Predicted rate over the best one measured, less one."""
        return float(self.answers[point.name]["ops_per_s"]) / point.best - 1.0


def solve(twins: Sequence[Json], host: Json, points: Sequence[Measured], binary: Binary) -> list[list[Json]]:
    """Answers of several twins to all points: for each twin and point the solution of the first stream."""
    questions = [
        {"target": index, "host": 0, "streams": point.streams} for index in range(len(twins)) for point in points
    ]
    targets = [{"kind": "device", "twin": twin, "modules": 1} for twin in twins]
    document = {"version": VERSION, "targets": targets, "hosts": [host], "questions": questions}
    answers = binary.document("predict", "-", given=document)["answers"]
    refused = next((answer for answer in answers if answer["kind"] == "refused"), None)
    if refused is not None:
        raise AssayError(f"the model refuses a point: {refused['reason']}", hint=refused["fix"], code=FAILED)
    first = [answer["solution"]["streams"][0] for answer in answers]
    return [first[at : at + len(points)] for at in range(0, len(first), len(points))]


def fit(
    points: Sequence[Measured], host: Json, capacity_bytes: float, binary: Binary, executor: WorkExecutor | None = None
) -> DriveFit:
    """The parameters under which the points that are not held out come out best.

    The number of dies is whole, so the rest is fitted once more after it was rounded. `executor` tries
    the layouts beside each other, and without it they are tried one after the other.
    """
    seen = [point for point in points if not point.held_out]
    start = first_guess(seen)
    problem = _Problem(seen, host, capacity_bytes, binary)
    starts = [start | {"page_bytes": page, "spread_dies": wide} for page, wide in LAYOUTS]
    if executor is None:
        tries = [problem.best(begin, _ROUNDS) for begin in starts]
    else:
        asked: Json = {"points": [dataclasses.asdict(point) for point in seen], "host": host}
        asked |= {"capacity_bytes": capacity_bytes}
        tries = [(one["values"], one["cost"]) for one in executor.do(tried, [asked | {"start": one} for one in starts])]
    values, _ = min(tries, key=lambda found: found[1])
    values["dies"] = float(max(1, round(values["dies"])))
    values, _ = problem.best(values, _ROUNDS, fixed=("dies",))
    values = _pause(points, values, host, capacity_bytes, binary)
    answers = solve([twin(values, capacity_bytes)], host, points, binary)[0]
    return DriveFit(values, {point.name: answer for point, answer in zip(points, answers, strict=True)})


def tried(order: Json) -> Json:
    """The best parameters near one start, and the cost that is left: a piece of a fit, for whoever computes."""
    points = [Measured(**point) for point in order["points"]]
    problem = _Problem(points, order["host"], order["capacity_bytes"], Binary.find())
    values, cost = problem.best(order["start"], _ROUNDS)
    return {"values": values, "cost": cost}


def first_guess(points: Sequence[Measured]) -> dict[str, float]:
    """Where the search starts, from single points."""
    found = _reading(points)
    if any(point.stream["write_share"] == 1.0 for point in points):
        found |= _writing(points)
    return found


def _reading(points: Sequence[Measured]) -> dict[str, float]:
    reads = [point for point in points if point.stream["write_share"] == 0.0]
    alone = 1e9 / max(point.best for point in reads if _in_flight(point) == 1 and not point.stream["sequential"])
    iops = max(point.best for point in reads)
    bandwidth = max(point.best * point.stream["size_bytes"] for point in reads)
    sequential = [1e9 / point.best for point in reads if point.stream["sequential"] and _in_flight(point) == 1]
    return {
        "read_delay_ns": 0.3 * alone,
        "read_ns": 0.6 * alone,
        "read_range": 0.2,
        "dies": max(2.0, 1.3 * iops * 0.6 * alone / 1e9),
        "channel_bytes_per_s": max(2e8, bandwidth / 4),
        "read_iops": 1.2 * iops,
        "read_bytes_per_s": 1.05 * bandwidth,
        "sequential_delay_ns": 0.5 * min(sequential, default=alone),
    }


def _writing(points: Sequence[Measured]) -> dict[str, float]:
    writes = [point for point in points if point.stream["write_share"] == 1.0]
    plain = [point for point in writes if point.stream["durability"]["kind"] == "none"]
    alone = 1e9 / max(point.best for point in plain)
    single = next((1e9 / point.best for point in plain if _in_flight(point) == 1), alone)
    bandwidth = max(point.best * point.stream["size_bytes"] for point in plain)
    mean = [point.best * point.stream["size_bytes"] for point in plain if not point.stream["sequential"]]
    flush = flush_ns(points)
    return {
        "write_latency_ns": 0.7 * single,
        "write_iops": 1.2e9 / alone,
        "write_bytes_per_s": 1.1 * bandwidth,
        "sustained_bytes_per_s": bandwidth,
        "write_amplification": min(20.0, max(1.1, bandwidth / max(mean))),
        "flush_base_ns": max(500.0, flush),
        "flush_drain_bytes_per_s": bandwidth,
        "mixed_iops": 0.8 * max((point.best for point in points if 0 < point.stream["write_share"] < 1), default=alone),
    }


def flush_ns(points: Sequence[Measured]) -> float:
    """What a flush adds to a write; 0 where no flush was measured."""
    by_name = {point.name: point for point in points}
    if "flush after 1 write" not in by_name or "write depth 1" not in by_name:
        return 0.0
    return max(0.0, 1e9 / by_name["flush after 1 write"].best - 1e9 / by_name["write depth 1"].best)


def _in_flight(point: Measured) -> int:
    return int(point.stream["threads"]) * int(point.stream["depth"])


class _Problem:
    """Least squares of the logarithm: every point counts by its relative error."""

    def __init__(self, points: Sequence[Measured], host: Json, capacity_bytes: float, binary: Binary) -> None:
        self._points, self._host, self._capacity, self._binary = points, host, capacity_bytes, binary
        self._seen = np.log([point.best for point in points])

    def best(
        self, start: Mapping[str, float], rounds: int, fixed: Sequence[str] = ()
    ) -> tuple[dict[str, float], float]:
        """The best parameters near a start, and the cost that is left."""
        names = [name for name in start if name not in (*fixed, "page_bytes", "spread_dies", "suspend_ns")]
        first = np.log([start[name] for name in names])

        def values(x: Array) -> dict[str, float]:
            return dict(start) | dict(zip(names, np.exp(x).tolist(), strict=True))

        def misses(many: Sequence[Array]) -> Array:
            twins = [twin(values(x), self._capacity) for x in many]
            answers = solve(twins, self._host, self._points, self._binary)
            rates = np.log([[max(answer["ops_per_s"], 1e-9) for answer in row] for row in answers])
            return np.array(
                [[*(row - self._seen), *(_PRIOR * (x - first))] for row, x in zip(rates, many, strict=True)]
            )

        def slopes(x: Array) -> Array:
            shifted = [x, *(x + _STEP * unit for unit in np.eye(len(x)))]
            found = misses(shifted)
            return np.asarray((found[1:] - found[0]).T / _STEP)

        low, high = _limits(names, first)

        def miss(x: Array) -> Array:
            return np.asarray(misses([x])[0])

        found = least_squares(
            miss,
            first,
            jac=slopes,
            bounds=(low, high),
            loss="soft_l1",
            f_scale=_SOFT,
            max_nfev=rounds,
        )
        return values(found.x), float(found.cost)


def _limits(names: Sequence[str], first: Array) -> tuple[Array, Array]:
    """A factor of 30 either way, less where the parameter itself cannot be more."""
    width = float(np.log(30.0))
    most = [np.log(MOST.get(name, np.inf)) for name in names]
    least = [np.log(LEAST.get(name, 1e-300)) for name in names]
    low = np.minimum(np.maximum(first - width, least), first - 1e-6)
    return low, np.maximum(np.minimum(first + width, most), first + 1e-6)


def _pause(
    points: Sequence[Measured], values: dict[str, float], host: Json, capacity_bytes: float, binary: Binary
) -> dict[str, float]:
    """How long a read waits behind a program: under which the slowest reads beside a writer come out best."""
    beside = [point for point in points if point.kind == "beside" and len(point.streams) > 1]
    if not beside:
        return values
    tries = [values | {"suspend_ns": float(pause)} for pause in np.geomspace(1e3, _PROGRAM_NS * 4, 25)]
    answers = solve([twin(each, capacity_bytes) for each in tries], host, beside, binary)
    seen = np.log(float(np.median(beside[0].p999_ns)))
    misses = [abs(np.log(row[0]["p999"]["mid_ns"]) - seen) for row in answers]
    return tries[int(np.argmin(misses))]


def twin(values: Mapping[str, float], capacity_bytes: float) -> Json:
    """A twin that is good enough to ask: every origin is left out."""
    return copy.deepcopy(_document({key: _bare(value) for key, value in values.items()}, _bare, capacity_bytes))


def _bare(value: float) -> Json:
    return {"value": value, "kind": "fitted", "source": "a fit under way", "date": "2000-01"}


def _document(of: Mapping[str, Json], assumed: Any, capacity_bytes: float) -> Json:
    """The document of a flash drive; `of` holds the parameters, `assumed(value)` makes those that are not in it."""
    wide = assumed(1.0)
    return {
        "version": VERSION,
        "name": "fitted",
        "title": "A fit under way",
        "capacity_bytes": assumed(capacity_bytes),
        "device": device(of, assumed),
        "bounds": {"size_bytes": [1, 1e9], "in_flight": [1, 1e6], "write_percent": [0, 100], "duration_s": [0, 1e9]},
        "band": {"bandwidth": wide, "latency": wide, "tail": wide},
    }


def device(of: Mapping[str, Json], assumed: Any) -> Json:
    """`[device]` of a flash drive. What was never written to takes its writes from its reads."""

    def take(name: str, other: float) -> Json:
        return of[name] if name in of else dict(assumed(other))

    reads, read_iops = of["read_bytes_per_s"]["value"], of["read_iops"]["value"]
    base = take("flush_base_ns", 1e6)
    safe = base["value"] < PROTECTED_NS
    found = {
        "family": "nand",
        "read_delay_ns": of["read_delay_ns"],
        "dies": of["dies"],
        "read_ns": of["read_ns"],
        "page_bytes": take("page_bytes", 16384.0),
        "program_ns": assumed(_PROGRAM_NS),
        "channel_bytes_per_s": of["channel_bytes_per_s"],
        "sequential_delay_ns": of["sequential_delay_ns"],
        "read_iops": of["read_iops"],
        "write_iops": take("write_iops", read_iops),
        "read_bytes_per_s": of["read_bytes_per_s"],
        "write_bytes_per_s": take("write_bytes_per_s", reads),
        "sustained_bytes_per_s": take("sustained_bytes_per_s", reads),
        "buffer_bytes": assumed(16777216.0),
        "write_latency_ns": take("write_latency_ns", of["read_delay_ns"]["value"]),
    }
    found |= {name: of[name] for name in ("spread_dies", "read_range", "mixed_iops", "suspend_ns") if name in of}
    found["collection"] = {
        "write_amplification": take("write_amplification", 1.0),
    }
    found["flush"] = {
        "power_loss_protection": assumed(float(safe)),
        "base_ns": base,
    }
    if not safe:
        found["flush"] |= {"drain_bytes_per_s": take("flush_drain_bytes_per_s", reads), "blocking_share": assumed(1.0)}
    return found
