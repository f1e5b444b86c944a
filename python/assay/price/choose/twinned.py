"""Latencies by twins: mean and 99th percentile of reads under the load that a plan puts on a device.

Every twin that a choice may need is asked once, for a grid of loads: shares of reads, and shares of what the device
does at most. A plan's load lies between four points of the grid; what is between them is interpolated. Cloud instances
with local NVMe drives that have no twin of their own are answered by the twin of another instance at the same share of
its IOPS, and labelled so. An instance with a twin of its own has the twin's rates: reads as measured, writes collected.
"""

from __future__ import annotations

import bisect
from collections.abc import Collection, Iterable, Sequence
from dataclasses import dataclass, replace

from assay.executor.dispatch import Dispatcher
from assay.target import catalog, names
from assay.target.host import HostWish
from assay.twin.instance_table import twin_name
from assay.twin.predict import Point, stream
from assay.untyped import Json

from .candidate import Candidate
from .latency import Ask, Latencies, LatencyFigure
from .plan import STATED_IO_BYTES

STAND_IN = "i4i-2xlarge"
VOLUMES = {"gp3": "gp3", "io2": "io2"}
SHARES = (0.05, 0.25, 0.5, 0.75, 0.9, 1.0)
LOADS = (0.02, 0.3, 0.5, 0.7, 0.8, 0.9, 0.95, 0.99)
_THREADS, _DEPTH = 256, 4


@dataclass(frozen=True)
class TwinCurve:
    """A twin's answers on the grid, by share of reads and load: mean and 99th percentile, ns; and its bands."""

    mean_ns: Sequence[Sequence[float]]
    p99_ns: Sequence[Sequence[float]]
    band: float
    tail_band: float

    def at(self, values: Sequence[Sequence[float]], share: float, load: float) -> float:
        """Between the four nearest points; beyond the ends the nearest counts."""
        row, across = _between(SHARES, share)
        column, along = _between(LOADS, load)
        low, high = ((1 - along) * line[column] + along * line[column + 1] for line in (values[row], values[row + 1]))
        return (1 - across) * low + across * high


def _between(grid: Sequence[float], value: float) -> tuple[int, float]:
    """The cell of a grid that a value lies in, and how far in it."""
    held = min(max(value, grid[0]), grid[-1])
    cell = min(bisect.bisect_right(grid, held) - 1, len(grid) - 2)
    return cell, (held - grid[cell]) / (grid[cell + 1] - grid[cell])


def with_twin(candidate: Candidate, known: Collection[str]) -> Candidate:
    """A candidate with the twin that stands for its local storage, where one does."""
    if candidate.cloud == "own" or not candidate.nvme or not candidate.local_bytes:
        return candidate
    own = twin_name(candidate.name.partition("/")[2])
    if own not in known:
        return replace(candidate, twin=STAND_IN, twin_lent=True)
    device = catalog.twin(own)["device"]
    if device["family"] != "cloud-instance":
        return replace(candidate, twin=STAND_IN, twin_lent=True)
    source = f"{candidate.source}; rates of local storage: twin:{own}, writes collected"
    writes = collected_writes(device)
    return replace(candidate, twin=own, read_iops=device["read_iops"]["value"], write_iops=writes, source=source)


def collected_writes(device: Json) -> float:
    """Random writes a second of an instance whose drives have used up their free blocks, 4 KiB."""
    drive, drives = device["drive"], device["drives"]["value"]
    copies = drive["collection"]["write_amplification"]["value"]
    sustained = drive["sustained_bytes_per_s"]["value"] / copies / STATED_IO_BYTES
    return float(min(drives * min(sustained, drive["write_iops"]["value"]), device["write_iops"]["value"]))


class TwinLatencies:
    """Twins where they know, otherwise who knew before them."""

    def __init__(
        self, twins: Iterable[str], page_bytes: float, otherwise: Latencies, dispatcher: Dispatcher | None = None
    ) -> None:
        self._otherwise = otherwise
        self._dispatcher = dispatcher or Dispatcher()
        self._page = page_bytes
        self._wanted = sorted({*twins, *VOLUMES.values()} - {""})
        self._curves: dict[str, TwinCurve] | None = None

    def under(self, ask: Ask) -> LatencyFigure:
        """Latency of a read under that load."""
        twin = ask.twin or VOLUMES.get(ask.device, "")
        if not twin:
            return self._otherwise.under(ask)
        curve = self._known()[twin]
        mean = curve.at(curve.mean_ns, ask.read_share, ask.busy)
        p99 = curve.at(curve.p99_ns, ask.read_share, ask.busy)
        whose = " at the same share of its IOPS, for want of its own" if ask.lent else ""
        source = f"twin:{twin}{whose}; {ask.busy:.0%} busy, {ask.read_share:.0%} reads"
        return LatencyFigure(mean, "modelled", source, None, p99, curve.band, curve.tail_band)

    def _known(self) -> dict[str, TwinCurve]:
        if self._curves is None:
            self._curves = curves(self._wanted, self._page, self._dispatcher)
        return self._curves


def curves(twins: Sequence[str], page_bytes: float, dispatcher: Dispatcher | None = None) -> dict[str, TwinCurve]:
    """The grid of each twin, in two questions to the binary: what each does at most, and then under load."""
    dispatcher = dispatcher or Dispatcher()
    targets = [names.target(f"{names.PREFIX}{twin}") for twin in twins]
    hosts = [HostWish("", None, None).document(target) for target in targets]
    most = _ask(dispatcher, targets, hosts, [[_load(page_bytes, 100 * share)] for share in SHARES])
    asked: list[tuple[int, list[Json]]] = []
    for number, found in enumerate(most):
        for share, solution in zip(SHARES, found, strict=True):
            peak = solution["streams"][0]["ops_per_s"]
            asked += [(number, _pair(page_bytes, share, load * peak)) for load in LOADS]
    answers = iter(_solutions(dispatcher, targets, hosts, asked))
    grids = [[[next(answers)["streams"][0] for _ in LOADS] for _ in SHARES] for _ in targets]
    return {twin: _curve(grid) for twin, grid in zip(twins, grids, strict=True)}


def _curve(grid: Sequence[Sequence[Json]]) -> TwinCurve:
    band = grid[0][0]["band"]
    means = [[float(point["mean_ns"]) for point in line] for line in grid]
    tails = [[float(point["p99"]["mid_ns"]) for point in line] for line in grid]
    return TwinCurve(means, tails, float(band["latency"]), float(band["tail"]))


def _load(page_bytes: float, read_percent: float) -> Json:
    return stream(
        Point(on="", size_bytes=int(page_bytes), threads=_THREADS, depth=_DEPTH, read_percent=read_percent), False
    )


def _pair(page_bytes: float, share: float, rate: float) -> list[Json]:
    """Reads, and writes beside them, at rates that sum up."""
    reads = _load(page_bytes, 100) | {"name": "reads", "rate_per_s": share * rate}
    writes = _load(page_bytes, 0) | {"name": "writes", "rate_per_s": (1 - share) * rate}
    return [reads] if share >= 1 else [reads, writes]


def _ask(
    dispatcher: Dispatcher, targets: Sequence[Json], hosts: Sequence[Json], loads: Sequence[list[Json]]
) -> list[list[Json]]:
    asked = [(number, load) for number in range(len(targets)) for load in loads]
    found = iter(_solutions(dispatcher, targets, hosts, asked))
    return [[next(found) for _ in loads] for _ in targets]


def _solutions(
    dispatcher: Dispatcher, targets: Sequence[Json], hosts: Sequence[Json], asked: Sequence[tuple[int, list[Json]]]
) -> list[Json]:
    questions = [{"target": number, "host": number, "streams": streams} for number, streams in asked]
    document = {"version": catalog.VERSION, "targets": targets, "hosts": hosts, "questions": questions}
    return [answer["solution"] for answer in dispatcher.solutions(document)]
