"""Latencies of a drive beside random writes: the curve that reads lie on, and the rows of writes.

A read meets a program with a chance that grows with the writes, and waits for what is left of it, which does not. So
the share of reads that take longer than x is s K(x), with the writes s as a share of what the drive reaches, and reads
of all rates lie on one curve of the latency over `rare / s`.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field

import numpy as np
from numpy.typing import NDArray

Array = NDArray[np.float64]

# A row reaches what it asks for where it is short of it by no more.
REACHES = 0.97
# Reads of a row that are off the curve of the rows below by more than this factor have left it: writes wait, and reads
# with them.
OFF_THE_CURVE = 1.8
# Where nobody saw a drive short of what it was asked for, it reaches a tenth more than was seen.
BEYOND_SEEN = 1.1
# Share of what a drive reaches up to which it keeps to its curve where nobody saw it leave it.
NEAR_SATURATION = 0.985
# Points of the curve are thinned to steps of this factor of `rare / s`.
STEP = 1.25
# Up to as many reads as `s` wait behind a program; where no point lies near, those beyond take a lone read's time and a
# fifth: of five drives, reads at `rare / s` of 1 to 1.3 took 1.0 to 1.4 times that.
ALL, NEAR, LONE = 1.1, (0.95, 2.5), 1.22


@dataclass(frozen=True)
class UnderLoadRow:
    """What was measured at one rate: rates in writes a second, latencies in ns by the share of operations beyond."""

    asked: float
    reached: float
    read_ns: dict[float, float] = field(default_factory=dict)
    write_ns: dict[float, float] = field(default_factory=dict)

    @property
    def reaches(self) -> bool:
        """The drive kept up."""
        return self.reached >= REACHES * self.asked


@dataclass(frozen=True)
class LoadedCurve:
    """Latency of reads over `rare / s`, both ascending in the first, and its growth with the share of the writes."""

    rare_over_share: Array
    latency_ns: Array
    rise: float

    def at(self, share: float, rare: float) -> float:
        """Latency that a share `rare` of the reads exceeds, ns."""
        return float(
            np.exp(np.interp(np.log(rare / share), np.log(self.rare_over_share), np.log(self.latency_ns)))
            * np.exp(self.rise * share)
        )


@dataclass(frozen=True)
class UnderLoad:
    """What `device.under_load` of a twin holds."""

    writes_per_s: float
    knee: float
    curve: LoadedCurve
    rows: tuple[tuple[float, UnderLoadRow], ...]
    saturated: bool


def fit(rows: Sequence[UnderLoadRow]) -> UnderLoad:
    """The curve and rows of what was measured; `rows` in any order, at least one."""
    rows = sorted(rows, key=lambda row: row.asked)
    short = [row for row in rows if not row.reaches]
    most = max(row.reached for row in rows)
    cap = float(np.median([row.reached for row in short])) if short else BEYOND_SEEN * most
    cap = max(cap, most)
    below, beyond = _parted([row for row in rows if row.reaches], cap)
    if not below:
        below = [rows[0]]
    curve = _curve([(row.reached / cap, row) for row in below])
    full = [(min(row.reached / cap, 1.0), row) for row in beyond]
    if short:
        full = [(share, row) for share, row in full if share < 1.0] + [(1.0, _median(short, cap))]
    last = below[-1].reached / cap
    knee = _left(last, full[0][0]) if beyond else _knee(last, bool(short))
    kept = [
        (row.reached / cap, UnderLoadRow(row.asked, row.reached, {}, row.write_ns))
        for row in below
        if row.reached < 0.999 * cap
    ]
    return UnderLoad(cap, knee, curve, tuple(_ascending([*kept, *full])), bool(short))


def _left(last: float, beyond: float) -> float:
    """Half way between the last row on the curve and the first one off it; near saturation just before the latter."""
    return max(float(np.sqrt(last * beyond)), NEAR_SATURATION if beyond > NEAR_SATURATION else 0.0)


def _knee(last: float, saturated: bool) -> float:
    """Where nobody saw the way into saturation it is short: drives keep to their curve until the last percent."""
    return max(NEAR_SATURATION, (last + 1.0) / 2) if saturated else 2.0


def _ascending(rows: list[tuple[float, UnderLoadRow]]) -> Iterator[tuple[float, UnderLoadRow]]:
    before = -1.0
    for share, row in sorted(rows, key=lambda each: each[0]):
        if share > before + 1e-4 and row.write_ns:
            before = share
            yield share, row


def _parted(rows: Sequence[UnderLoadRow], cap: float) -> tuple[list[UnderLoadRow], list[UnderLoadRow]]:
    """Rows on the curve, and those from the first one on that left it."""
    for index in range(1, len(rows)):
        curve = _curve([(row.reached / cap, row) for row in rows[:index]])
        share = rows[index].reached / cap
        low, high = curve.rare_over_share[0], curve.rare_over_share[-1]
        off = [
            abs(np.log(value / curve.at(share, rare)))
            for rare, value in rows[index].read_ns.items()
            if low / 4 <= rare / share <= high and rare >= 0.005
        ]
        if off and float(np.max(off)) > np.log(OFF_THE_CURVE) and share > 0.2:
            return list(rows[:index]), list(rows[index:])
    return list(rows), []


def _median(rows: Sequence[UnderLoadRow], cap: float) -> UnderLoadRow:
    def middle(of: Sequence[dict[float, float]]) -> dict[float, float]:
        return {rare: float(np.median([each[rare] for each in of if rare in each])) for rare in of[0]}

    return UnderLoadRow(cap, cap, middle([row.read_ns for row in rows]), middle([row.write_ns for row in rows]))


def _curve(rows: Sequence[tuple[float, UnderLoadRow]]) -> LoadedCurve:
    """One falling curve through all points, after the growth with the share was taken off."""
    share, place, value = (np.array(column) for column in zip(*_points(rows), strict=True))
    rise = _rise(share, np.log(place), np.log(value))
    lone = float(np.min(value))
    if not np.any((place > NEAR[0]) & (place < NEAR[1])) and np.max(place) > NEAR[1]:
        share, place, value = np.append(share, 0.0), np.append(place, ALL), np.append(value, LONE * lone)
    return LoadedCurve(*_falling(place, np.log(value) - rise * share), rise)


def _points(rows: Sequence[tuple[float, UnderLoadRow]]) -> Iterator[tuple[float, float, float]]:
    for share, row in rows:
        for rare, value in row.read_ns.items():
            yield share, rare / share, value


def _rise(share: Array, place: Array, value: Array) -> float:
    """The growth with the share under which points of different rates lie nearest to one curve; none from one rate."""
    if len(np.unique(np.round(share, 3))) < 3:
        return 0.0
    order = np.argsort(place)
    place, value, share = place[order], value[order], share[order]
    inside = (place > np.quantile(place, 0.05)) & (place < np.log(ALL))

    def rough(rise: float) -> float:
        steps = np.abs(np.diff((value - rise * share)[inside]))
        return float(steps.sum())

    tries = np.linspace(-0.3, 0.6, 46)
    return float(tries[int(np.argmin([rough(each) for each in tries]))])


def _falling(place: Array, value: Array) -> tuple[Array, Array]:
    """Means of neighbours, falling with `rare / s` (pools of adjacent violators)."""
    order = np.argsort(place)
    bins = np.round(np.log(place[order]) / np.log(STEP))
    values = value[order]
    x = np.array([np.exp(np.mean(np.log(place[order])[bins == each])) for each in np.unique(bins)])
    y = np.array([float(np.median(values[bins == each])) for each in np.unique(bins)])
    blocks: list[list[float]] = []
    for each in y:
        blocks.append([each, 1.0])
        while len(blocks) > 1 and blocks[-2][0] < blocks[-1][0]:
            (first, many), (second, more) = blocks[-2], blocks[-1]
            blocks[-2:] = [[(first * many + second * more) / (many + more), many + more]]
    flat = np.concatenate([np.full(int(many), level) for level, many in blocks])
    return x, np.exp(flat)


def read_ns(load: UnderLoad, share: float, rare: float) -> float:
    """As `UnderLoad::read_ns` of the simulator."""
    beyond = [(at, row) for at, row in load.rows if row.read_ns]
    if share >= load.knee and beyond:
        return _between([(at, _at(row.read_ns, rare)) for at, row in beyond], share)
    return load.curve.at(max(share, 1e-3), rare)


def write_ns(load: UnderLoad, share: float, rare: float) -> float:
    """As `UnderLoad::write_ns` of the simulator."""
    return _between([(at, _at(row.write_ns, rare)) for at, row in load.rows], share)


def mean_ns(rare: Sequence[float], latency_ns: Sequence[float]) -> float:
    """Mean of latencies that shares `rare` of the operations exceed, as curves between them say, ns."""
    places = np.geomspace(min(rare), 1.0, 200)
    order = np.argsort(rare)
    logs = np.interp(np.log(places), np.log(np.take(rare, order)), np.log(np.take(latency_ns, order)))
    return float(np.trapezoid(np.exp(logs), places))


def _at(values: dict[float, float], rare: float) -> float:
    places = sorted(values)
    logs = np.log([values[place] for place in places])
    return float(np.exp(np.interp(np.log(rare), np.log(places), logs)))


def _between(values: Sequence[tuple[float, float]], share: float) -> float:
    return float(np.exp(np.interp(share, [at for at, _ in values], np.log([value for _, value in values]))))
