"""Whether the figures of a passport can be true: by laws that hold for every drive, and beside a twin."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from assay.binary import Binary
from assay.passport.document import Passport, PassportFigure
from assay.passport.read import as_folder
from assay.results import pick, row
from assay.results.row import Row
from assay.target import catalog, names
from assay.target.host import HostWish
from assay.twin.predict import Point, shown, stream
from assay.untyped import Json

Guess = tuple[float, float, float]
"""A value with the low and the high end of its band."""

# No request is quicker than a store to memory, and no volume faster than a socket's memory.
_QUICKEST_NS, _FASTEST_BYTES_PER_S = 100.0, 1e12
# Figures of one run that follow from each other, and how far rounding and edges of the window may part them.
_NEAR = 0.02
_FLIGHT = 0.3
# A twin whose band is left by so much more is another device.
SLACK = 3.0

ASKED: Mapping[str, Json] = {
    "read.service_p50": {"path": "pread+direct"},
    "reads.ops_rate": {"path": "io_uring+direct", "depth": 32},
    "commit.service_p50": {"path": "pread", "operation": "write", "sequential": True, "durability": "fdatasync"},
    "scan.bandwidth": {"path": "io_uring+direct", "sequential": True, "size_bytes": 256 << 10, "depth": 8},
    "mix.ops_rate": {"path": "io_uring+direct", "read_percent": 70.0, "depth": 16},
}
"""What a twin is asked for each figure that both know."""


@dataclass(frozen=True)
class BesideTwin:
    """A figure beside what a twin says: value, with the band that the twin itself gives."""

    figure: PassportFigure
    value: float
    low: float
    high: float

    @property
    def ratio(self) -> float:
        """Measured over modelled."""
        return self.figure.value / self.value

    @property
    def inside(self) -> bool:
        """Whether the figure lies in the twin's band."""
        return self.low <= self.figure.value <= self.high

    def document(self) -> Json:
        """As `--json` prints it."""
        return {"figure": self.figure.id, "value": self.figure.value, "twin": self.value, "low": self.low,
                "high": self.high, "ratio": self.ratio, "inside": self.inside}  # fmt: skip


def predicted(twin: str) -> dict[str, Guess]:
    """What a twin gives for each figure that both know; nothing of memory, which takes no requests."""
    return predictions([twin])[twin]


def predictions(twins: Sequence[str]) -> dict[str, dict[str, Guess]]:
    """The same of many twins, in one question to the binary; figures that a twin refuses are left out."""
    asked = [(twin, name) for twin in twins if not names.is_memory(names.target(twin)) for name in ASKED]
    found: dict[str, dict[str, Guess]] = {twin: {} for twin in twins}
    for (twin, name), answer in zip(asked, _answers(asked), strict=True):
        if answer["kind"] != "refused":
            point, host = Point(on=names.PREFIX + twin, **ASKED[name]), ""
            found[twin][name] = _figure(name, shown(point, host, answer["solution"]))
    return found


def _answers(asked: Sequence[tuple[str, str]]) -> list[Json]:
    if not asked:
        return []
    places = {twin: place for place, twin in enumerate(dict.fromkeys(twin for twin, _ in asked))}
    targets = [names.target(twin) for twin in places]
    hosts = [HostWish().document(target) for target in targets]
    questions = [
        {
            "target": places[twin],
            "host": places[twin],
            "streams": [stream(Point(on=twin, **ASKED[name]), memory=False)],
        }
        for twin, name in asked
    ]
    given = {"version": catalog.VERSION, "targets": targets, "hosts": hosts, "questions": questions}
    answers: list[Json] = Binary.find().document("predict", "-", given=given)["answers"]
    return answers


def _figure(name: str, answer: Json) -> Guess:
    if name.endswith("service_p50"):
        low, high = answer["latency_band_ns"]["p50"]
        return float(answer["latency_ns"]["p50"]), float(low), float(high)
    width = 1 + answer["band"]["bandwidth"]
    value = float(answer["bandwidth_bytes_per_s" if name.endswith("bandwidth") else "iops"])
    return value, value / width, value * width


def beside(found: Passport, known: Mapping[str, Guess]) -> list[BesideTwin]:
    """The figures of a passport beside those of a twin."""
    return [BesideTwin(one, *known[one.id]) for one in found.figures if one.id in known]


def twin_of(found: Passport) -> str:
    """The twin of the catalog whose title names the same model; empty where none does."""
    wanted = _words(found.device.model)
    if len(wanted) < 2:
        return ""
    return next((one["name"] for one in catalog.everything() if wanted <= _words(one["title"])), "")


def _words(text: str) -> set[str]:
    return {word.strip(",;()").lower() for word in text.split()} - {""}


def complaints(found: Passport, path: Path, twin: str) -> list[str]:
    """Everything that speaks against the figures; empty where they may be true."""
    problems = list(_impossible(found))
    for one in row.rows(as_folder(found, path).cells):
        problems += [f"run {one.cell.id}: {problem}" for problem in _inconsistent(one)]
    if twin:
        problems += [_far(one, twin) for one in beside(found, predicted(twin)) if _is_far(one)]
    return problems


def _impossible(found: Passport) -> Iterator[str]:
    for one in found.figures:
        if one.unit == "ns" and one.value < _QUICKEST_NS:
            yield f"`{one.id}` is {one.value:g} ns, quicker than memory"
        if one.unit == "bytes/s" and one.value > _FASTEST_BYTES_PER_S:
            yield f"`{one.id}` is {one.value:g} bytes/s, faster than memory"
    rising = [found.figure(f"read.service_{name}") for name in ("p50", "p99", "p999")]
    values = [one.value for one in rising if one is not None]
    if values != sorted(values):
        yield "the percentiles of one read do not rise"


def _inconsistent(one: Row) -> Iterator[str]:
    """Figures of a run that contradict each other: bytes and operations, and Little's law."""
    rate, bandwidth, size = one.metric("ops_rate"), one.metric("bandwidth"), pick.size(one)
    if rate and bandwidth and size and abs(bandwidth / (rate * size) - 1) > _NEAR:
        yield f"{rate:g} operations of {size} bytes a second are not {bandwidth:g} bytes/s"
    mean, depth = one.metric("service_mean"), pick.in_flight(one)
    if rate and mean and one.closed and rate * mean / 1e9 > depth * (1 + _FLIGHT):
        flight = rate * mean / 1e9
        yield f"{rate:g} operations a second of {mean:g} ns each would be {flight:.3g} in flight, not {depth}"


def _is_far(one: BesideTwin) -> bool:
    return not one.low / SLACK <= one.figure.value <= one.high * SLACK


def _far(one: BesideTwin, twin: str) -> str:
    return (
        f"`{one.figure.id}` is {one.figure.value:g}; twin:{twin} gives {one.value:g} "
        f"(band {one.low:g} to {one.high:g}), and more than {SLACK:g} times beyond the band is another device"
    )
