"""What came out of runs, by the names that claims use: `RUN.STREAM.METRIC`; `RUN.METRIC` is all streams together."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

from assay.claim.drop import SHARE
from assay.claim.value import ClaimValue
from assay.error import FAILED, AssayError

# From what is worth most to what is worth least.
_PROVENANCES = ("measured", "emulated", "modelled")
_STATUSES = ("", "valid", "suspect", "invalid")

# Metrics of a stream. Bandwidth in bytes/s, rate in 1/s, times in ns, drop_s in s.
METRICS = ("bandwidth", "rate", "latency", "p50", "p99", "p999", "flush", "cycles_per_byte", "drop_s")


@dataclass(frozen=True)
class StreamAnswer:
    """Metrics of one stream; a metric that could not be had is absent.

    `time_ns` is where an operation's time goes (host, wait, queue, device, flush), `series` pairs of seconds and
    bytes/s; both only of twins.
    """

    metrics: Mapping[str, ClaimValue]
    time_ns: Mapping[str, float] = field(default_factory=dict)
    series: tuple[tuple[float, float], ...] = ()


@dataclass(frozen=True)
class RunAnswer:
    """One point of a run: its streams, or the sentence that says why there is none.

    `provenance` is that of every figure of the run; `status` the verdict on its record, empty where there is no record.
    `machine` is the hardware that was wanted, `place` what served in its stead; both are empty on twins. `records`
    names the records that it comes from, `differs` what is not as the study had it.
    """

    streams: Mapping[str, StreamAnswer]
    refused: str = ""
    provenance: str = "modelled"
    status: str = ""
    machine: str = ""
    place: str = ""
    records: tuple[str, ...] = ()
    differs: tuple[str, ...] = ()


class UnansweredError(AssayError):
    """A claim needs something that no run gave."""


@dataclass(frozen=True)
class Answers:
    """Points of every run, in the order of their sweeps."""

    runs: Mapping[str, Sequence[RunAnswer]]

    def leaf(self, name: str) -> ClaimValue | list[ClaimValue]:
        """What a name in an expression stands for; a list where the run sweeps.

        Raises:
            UnansweredError: where a run was refused, or does not give that metric.
        """
        run, stream, metric = self._split(name)
        found = [_metric(name, point, stream, metric) for point in self.runs[run]]
        return found[0] if len(found) == 1 else found

    def origin(self, names: Sequence[str]) -> tuple[str, str]:
        """Provenance and verdict of what stands behind names: of several, what is worth less."""
        runs = {name.split(".", maxsplit=1)[0] for name in names}
        points = [point for run in runs for point in self.runs[run]]
        provenance = max((point.provenance for point in points), key=_PROVENANCES.index)
        return provenance, max((point.status for point in points), key=_STATUSES.index)

    def points(self, names: Sequence[str]) -> list[RunAnswer]:
        """Every point that stands behind names."""
        runs = dict.fromkeys(name.split(".", maxsplit=1)[0] for name in names)
        return [point for run in runs for point in self.runs.get(run, ())]

    def confused(self, names: Sequence[str]) -> str:
        """Why names cannot be compared: different hardware was wanted, and one and the same served for it."""
        found = [point for point in self.points(names) if point.machine and not point.refused]
        served: dict[str, str] = {}
        for point in found:
            first = served.setdefault(point.place, point.machine)
            if first != point.machine:
                return f"it compares {first} with {point.machine}, and {point.place} would stand for both"
        return ""

    def _split(self, name: str) -> tuple[str, str, str]:
        parts = name.split(".")
        if parts[0] not in self.runs or len(parts) not in (2, 3) or parts[-1] not in METRICS:
            raise UnansweredError(
                f"`{name}` names no run, stream and metric", hint="correct catalog/claims", code=FAILED
            )
        return parts[0], parts[1] if len(parts) == 3 else "", parts[-1]


def _metric(name: str, point: RunAnswer, stream: str, metric: str) -> ClaimValue:
    if point.refused:
        raise UnansweredError(point.refused)
    if stream:
        if stream not in point.streams:
            raise UnansweredError(f"`{name}`: the run has no stream `{stream}`", hint="correct catalog/claims")
        return _of(name, point.streams[stream], metric)
    return _total(name, list(point.streams.values()), metric)


def _of(name: str, stream: StreamAnswer, metric: str) -> ClaimValue:
    if metric not in stream.metrics:
        raise UnansweredError(_absent(name, metric))
    return stream.metrics[metric]


def _absent(name: str, metric: str) -> str:
    if metric == "drop_s":
        return f"`{name}`: the simulated series does not fall by {1 - SHARE:.0%} or more"
    return f"`{name}`: the run gives no {metric.replace('_', ' ')}"


def _total(name: str, streams: Sequence[StreamAnswer], metric: str) -> ClaimValue:
    if metric in ("bandwidth", "rate"):
        return _sum([_of(name, stream, metric) for stream in streams])
    if metric == "cycles_per_byte":
        cycles = [_of(name, stream, metric) * _of(name, stream, "bandwidth") for stream in streams]
        return _sum(cycles) / _sum([_of(name, stream, "bandwidth") for stream in streams])
    if len(streams) == 1:
        return _of(name, streams[0], metric)
    raise UnansweredError(f"`{name}`: name the stream whose {metric} is meant", hint="correct catalog/claims")


def _sum(values: Sequence[ClaimValue]) -> ClaimValue:
    """Streams of one run share their twin: its errors do not cancel, so the widest band stays."""
    number = sum(value.number for value in values)
    extrapolated = tuple(dict.fromkeys(sentence for value in values for sentence in value.extrapolated))
    return ClaimValue(number, max(value.width for value in values), extrapolated)
