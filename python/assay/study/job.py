"""From a resolved study to the job that the measuring program reads."""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping
from typing import Any

from assay.error import BAD_JOB, AssayError
from assay.study.model import ClassTable, DatasetTable, Objective, Pattern, WindowTable
from assay.study.pin import parse_pin
from assay.units.parse import parse_bytes, parse_rate, parse_seconds
from assay.untyped import Json

FORMAT_VERSION = 1


_PERSIST = {"nt": "nt", "clwb": "clwb", "clflushopt": "clflushopt", "nopersist": "none"}
_POLL = ("iopoll", "sqpoll")
_FLAGS = ("direct", "fixed", "fenced")
_REACH = ("vfio", "no_iommu", "uio")


class JobError(AssayError):
    """A class or data set that cannot be made into a job."""

    def __init__(self, message: str, hint: str) -> None:
        super().__init__(message, hint=hint, code=BAD_JOB)


def path_spec(text: str, advice: str = "normal", poll_sleep_s: float = 0.0) -> Json:
    """`io_uring+direct+fixed` as the job's path."""
    kind, *options = text.split("+")
    spec: Json = {"kind": kind}
    for option in options:
        if option in _FLAGS:
            spec[option] = True
        elif option in _POLL:
            spec["poll"] = option
        elif option in _REACH:
            spec["reach"] = option
        elif option in _PERSIST:
            spec["persist"] = _PERSIST[option]
        else:
            advice = option
    if poll_sleep_s > 0:
        spec["poll_sleep_us"] = max(1, round(poll_sleep_s * 1e6))
    return spec | ({"advice": advice} if advice != "normal" else {})


def sizes_of(table: ClassTable) -> list[tuple[int, int]]:
    """Sizes of a class's operations in bytes with their weights."""
    if isinstance(table.size, list):
        return [(parse_bytes(share.bytes), int(share.weight)) for share in table.size]
    return [(parse_bytes(table.size), 1)]


def mean_bytes(table: ClassTable) -> float:
    """Mean size of an operation, bytes."""
    sizes = sizes_of(table)
    return sum(size * weight for size, weight in sizes) / sum(weight for _, weight in sizes)


def write_share(table: ClassTable) -> float:
    """Share of operations that write, 0 to 1."""
    return {"read": 0.0, "write": 1.0, "mix": int(table.write_percent) / 100, "trim": 0.0}[table.operation]


def rate_per_s(table: ClassTable) -> float | None:
    """Operations per second of the whole class; none where arrivals are closed."""
    if table.rate is None:
        return None
    rate = parse_rate(table.rate).operations(mean_bytes(table))
    return rate * int(table.threads) if table.rate_scope == "thread" else rate


def class_job(name: str, table: ClassTable) -> Json:
    """A class as the job states it."""
    sizes = sizes_of(table)
    if any(size == 0 for size, _ in sizes):
        raise JobError(f"class `{name}`: an operation of 0 bytes moves nothing", "give it a size above 0")
    found: Json = {
        "name": name,
        "dataset": table.dataset,
        "path": path_spec(table.path, table.advice, parse_seconds(table.poll_sleep)),
        "operation": _operation(name, table),
        "pattern": _pattern(table.pattern),
        "size": sizes[0][0] if len(sizes) == 1 else [{"bytes": size, "weight": weight} for size, weight in sizes],
        "threads": int(table.threads),
        "depth": int(table.depth),
        "batch": int(table.batch),
        "arrivals": _arrivals(name, table),
        "durability": _durability(table),
        "buffer_bytes": parse_bytes(table.buffer),
        "dirty_bytes": parse_bytes(table.dirty),
        "start_s": parse_seconds(table.start),
    }
    if think := _think(name, table):
        found["think"] = think
    if pin := parse_pin(table.pin):
        found["pin"] = pin
    return found | ({"objective": _objective(table.objective)} if table.objective else {})


def _operation(name: str, table: ClassTable) -> Json:
    if table.operation != "mix":
        return {"kind": table.operation}
    percent = int(table.write_percent)
    if percent > 100:
        raise JobError(f"class `{name}`: write_percent is {percent}", "give a share between 0 and 100")
    pure = {0: "read", 100: "write"}.get(percent)
    return {"kind": pure} if pure else {"kind": "mix", "write_percent": percent}


def _pattern(pattern: str | Pattern) -> Json:
    if isinstance(pattern, str):
        return {"kind": pattern}
    if pattern.kind == "zipf":
        return {"kind": "zipf", "theta": float(pattern.theta)}
    return {
        "kind": "hot-spot",
        "operations_percent": int(pattern.operations_percent),
        "pages_percent": int(pattern.pages_percent),
    }


def _arrivals(name: str, table: ClassTable) -> Json:
    kind = table.arrivals or ("closed" if table.rate is None else "fixed")
    if kind == "closed":
        if table.rate is not None:
            raise JobError(f"class `{name}` has a rate, but its arrivals are closed", "remove one of the two")
        return {"kind": "closed"}
    if table.rate is None:
        raise JobError(f"class `{name}`: {kind} arrivals need a rate", "add rate and rate_scope")
    if table.rate_scope is None:
        hint = 'say what the rate counts: rate_scope = "total" (of the class) or "thread" (of each thread)'
        raise JobError(f"class `{name}` has a rate without rate_scope", hint)
    rate = parse_rate(table.rate).operations(mean_bytes(table))
    burst = {"burst": int(table.burst)} if kind == "burst" else {}
    return {"kind": kind, "rate_per_s": rate, "scope": table.rate_scope} | burst


def _think(name: str, table: ClassTable) -> Json:
    pause_s = parse_seconds(table.think)
    if pause_s == 0:
        return {}
    if table.rate is not None:
        raise JobError(f"class `{name}` has a rate and a pause (think)", "remove one of the two")
    if int(table.depth) > 1:
        raise JobError(f"class `{name}` has a pause (think) and depth {table.depth}", "use depth 1 and more threads")
    return {"pause_s": pause_s, "every": int(table.think_every)}


def _durability(table: ClassTable) -> Json:
    """Of a class that writes nothing: none, whatever the study says for its other cells."""
    if write_share(table) == 0:
        return {"kind": "none", "every": 1}
    if isinstance(table.durability, str):
        return {"kind": table.durability, "every": 1}
    return {"kind": table.durability.kind, "every": int(table.durability.every)}


def _objective(objective: Objective) -> Json:
    """A bound without a unit is in the metric's own."""
    if not isinstance(objective.bound, str):
        return {"metric": objective.metric, "bound": float(objective.bound)}
    if objective.metric.endswith("_ns"):
        return {"metric": objective.metric, "bound": parse_seconds(objective.bound) * 1e9}
    rate = parse_rate(objective.bound)
    wanted = rate.bytes_per_s if objective.metric == "bandwidth_bytes_per_s" else rate.ops_per_s
    if wanted is None:
        raise JobError(f"the objective's bound `{objective.bound}` is not in the unit of {objective.metric}",
                       "give bytes per second for a bandwidth, operations per second for ops_per_s")  # fmt: skip
    return {"metric": objective.metric, "bound": wanted}


def dataset_job(name: str, table: DatasetTable, users: Iterable[ClassTable]) -> Json:
    """A data set as the job states it. Its bytes are rounded down to a multiple of every size that is used on it."""
    unit = math.lcm(*(size for user in users for size, _ in sizes_of(user)))
    asked = parse_bytes(table.bytes)
    if asked < unit:
        raise JobError(f"data set `{name}` has {asked} bytes, less than one operation of {unit}", "make it larger")
    return {
        "name": name,
        "target": table.target,
        "bytes": asked - asked % unit,
        "files": int(table.files),
        "layout": table.layout,
        "placement": table.placement,
        "stripe_bytes": parse_bytes(table.stripe),
        "content": table.content,
    }


def window_job(table: WindowTable) -> Json:
    """The window as the job states it."""
    return {
        "warmup_s": parse_seconds(table.warmup),
        "measure_s": parse_seconds(table.measure),
        "steady_after_s": parse_seconds(table.steady_after),
        "interval_ms": max(1, round(parse_seconds(table.interval) * 1000)),
        "bytes_at_most": parse_bytes(table.bytes),
    }


def state_job(cache_limit: Any, cool_down: Any, trim: bool) -> Json:
    """State of cache and drive as the job states it; what was not asked for has no mention."""
    limit, rest = parse_bytes(cache_limit), parse_seconds(cool_down)
    found: Json = {"cache_bytes": limit} if limit else {}
    return found | ({"cool_down_s": rest} if rest else {}) | ({"trim": True} if trim else {})


def memory_bytes(job: Mapping[str, Any]) -> int:
    """Bytes of memory that a job takes: its buffers, and its data where the target is memory."""
    buffers = sum(_buffer_bytes(entry) for entry in job["classes"])
    in_memory = {target["id"] for target in job["targets"] if target["kind"] == "memory"}
    data = sum(entry["bytes"] * entry["files"] for entry in job["datasets"] if entry["target"] in in_memory)
    return int(buffers + data)


def _buffer_bytes(entry: Mapping[str, Any]) -> int:
    size = entry["size"] if isinstance(entry["size"], int) else max(share["bytes"] for share in entry["size"])
    return int(entry["threads"]) * max(int(entry["buffer_bytes"]), int(size) * int(entry["depth"]))
