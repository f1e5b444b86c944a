"""A device that is not here: a twin, or a bare limit. It says how long it would be busy with a demand."""

from __future__ import annotations

from dataclasses import dataclass

from assay.dbms.predict.demand import Demand
from assay.error import BAD_JOB, AssayError
from assay.twin.predict import Point, predict
from assay.units.parse import Rate, parse_rate

LIMIT = "limit:"
# A limit is a promise of somebody's: how far it is kept is not known better.
LIMIT_BAND = 0.1


@dataclass(frozen=True)
class Busy:
    """Seconds in which a device is busy with a demand, and the relative half-width of its band."""

    seconds: float
    width: float


def busy(device: str, demand: Demand) -> Busy:
    """How long the device of that name would be busy.

    Raises:
        AssayError: where there is no such device.
    """
    if device.startswith(LIMIT):
        return _limited(parse_rate(device.removeprefix(LIMIT)), demand)
    if not device.startswith("twin:"):
        hint = "name twin:NAME (`assay list twins`), or a limit such as limit:200MB/s or limit:3000/s"
        raise AssayError(f"`{device}` is no twin", hint=hint, code=BAD_JOB)
    parts = [part for part in (_reads(device, demand), _writes(device, demand)) if part is not None]
    seconds = sum(part.seconds for part in parts)
    width = max((part.width for part in parts), default=0.0)
    return Busy(seconds, width)


def _limited(rate: Rate, demand: Demand) -> Busy:
    if rate.bytes_per_s is not None:
        return Busy((demand.read_bytes + demand.written_bytes) / rate.bytes_per_s, LIMIT_BAND)
    count = _count(demand.read_bytes, demand.read_size_bytes) + _count(demand.written_bytes, demand.write_size_bytes)
    return Busy(count / (rate.ops_per_s or 1.0), LIMIT_BAND)


def _count(moved: float, size: float) -> float:
    return moved / size if size > 0 else 0.0


def _reads(device: str, demand: Demand) -> Busy | None:
    if demand.read_bytes <= 0:
        return None
    return _asked(device, demand, "read", demand.read_bytes, demand.read_size_bytes, "none")


def _writes(device: str, demand: Demand) -> Busy | None:
    """Writes that a flush follows wait for it; the others do not."""
    count = _count(demand.written_bytes, demand.write_size_bytes)
    if count <= 0:
        return None
    durable = min(1.0, demand.flushes / count)
    size, moved = demand.write_size_bytes, demand.written_bytes
    parts = [
        _asked(device, demand, "write", moved * share, size, durability)
        for share, durability in ((durable, "fdatasync"), (1 - durable, "none"))
        if share > 0
    ]
    return Busy(sum(part.seconds for part in parts), max(part.width for part in parts))


def _asked(device: str, demand: Demand, operation: str, moved: float, size: float, durability: str) -> Busy:
    """The demand's own number of operations in flight, of the size that the measured device saw."""
    point = Point(
        on=device,
        operation=operation,
        sequential=demand.sequential and operation == "read",
        size_bytes=max(512, round(size / 512) * 512),
        threads=max(1, round(demand.concurrency)),
        path="pread+direct",
        durability=durability,
    )
    found = predict(point)
    return Busy(moved / float(found["bandwidth_bytes_per_s"]), float(found["band"]["bandwidth"]))
