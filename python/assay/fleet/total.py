"""What hosts did together in a cell: sums over those that were there for all of it, and who was not, with the reason.

Histograms are merged; percentiles never are. A host that was lost, began late or stopped early is in no sum.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, cast

from assay.record import ClassResult, Record
from assay.results import histogram
from assay.untyped import Json

LATE_SHARE = 0.01
"""Of the window: who opened it later than that, beyond what clocks may be wrong by, was not there for all of it."""
_WHOLE_STOPS = ("limit", "operations")
_PERCENTILES = {"p50_ns": 50.0, "p99_ns": 99.0, "p999_ns": 99.9}


@dataclass(frozen=True)
class Seat:
    """What a host brought from a cell: its record, or why there is none."""

    host: str
    state: str
    reason: str = ""
    record: Record | None = None

    @property
    def labels(self) -> Json:
        """What the fleet wrote into the job."""
        found: Json = ((self.record or {}).get("job") or {}).get("labels") or {}
        return found

    @property
    def attempt(self) -> int:
        """Which start it comes from; 0 where there is no record."""
        return int(self.labels.get("fleet.attempt", 0))

    @property
    def virtual(self) -> bool:
        """Whether it was played on twins, where no moment is common."""
        targets = ((self.record or {}).get("job") or {}).get("targets") or ()
        return any(target["kind"] == "twin" for target in targets)


@dataclass(frozen=True)
class FleetWindow:
    """A host's window in seconds of the scheduler's clock, from the moment at which all were to open it."""

    opened_s: float
    closed_s: float
    asked_s: float
    error_s: float

    @property
    def late(self) -> bool:
        """Whether it opened later than can be excused."""
        return self.opened_s > LATE_SHARE * self.asked_s + self.error_s

    @property
    def short(self) -> bool:
        """Whether it closed before all were to close it."""
        return self.closed_s < (1 - LATE_SHARE) * self.asked_s - self.error_s


def window_of(seat: Seat) -> FleetWindow | None:
    """A host's window; none where it has none, or one in virtual time."""
    found = (seat.record or {}).get("window") or {}
    if "opened_monotonic_ns" not in found or "fleet.start_ns" not in seat.labels:
        return None
    asked = (seat.record or {})["job"]["window"]
    zero_ns = int(seat.labels["fleet.start_ns"]) + int(float(asked["warmup_s"]) * 1e9)
    ahead_ns, error_ns = (int(seat.labels[f"fleet.{name}_ns"]) for name in ("ahead", "error"))

    def here(edge: str) -> float:
        return (int(cast("Json", found)[f"{edge}_monotonic_ns"]) - ahead_ns - zero_ns) / 1e9

    return FleetWindow(here("opened"), here("closed"), float(asked["measure_s"]), error_ns / 1e9)


def absent(seat: Seat, attempt: int) -> str:
    """Why a host was not there for the whole window; empty where it was."""
    if seat.record is None:
        return seat.reason or seat.state
    if seat.attempt != attempt:
        return "its record is of an earlier attempt, in another window"
    stop = str(seat.record["window"]["stop"])
    if stop not in _WHOLE_STOPS:
        return f"it ended early ({stop})"
    window = window_of(seat)
    if window is None:
        return "" if seat.virtual else "its record does not say when its window was"
    if window.late:
        return f"it began {window.opened_s:.3f} s late"
    return "its window closed early" if window.short else ""


def of_cell(seats: Sequence[Seat]) -> Json:
    """The totals of a cell, by class, with every host and its window."""
    attempt = max((seat.attempt for seat in seats), default=0)
    reasons = {seat.host: absent(seat, attempt) for seat in seats}
    whole = [seat for seat in seats if not reasons[seat.host]]
    names = dict.fromkeys(str(one["name"]) for seat in whole for one in (seat.record or {})["classes"])
    return {
        "hosts": [_host(seat, reasons[seat.host]) for seat in seats],
        "in_total": [seat.host for seat in whole],
        "not_in_total": {host: reason for host, reason in reasons.items() if reason},
        "coincide": _coincide(whole),
        "vague": _vague(whole),
        "classes": [_class(name, whole) for name in names],
    }


def _host(seat: Seat, reason: str) -> Json:
    found: Json = {"host": seat.host, "state": seat.state, "in_total": not reason, "reason": reason}
    if seat.record is None:
        return found
    if (window := window_of(seat)) is not None:
        edges = {"opened_s": window.opened_s, "closed_s": window.closed_s, "clock_error_s": window.error_s}
        found |= {key: round(value, 6) for key, value in edges.items()}
    found["verdict"] = seat.record["verdict"]["status"]
    found["classes"] = [_rates(one) for one in seat.record["classes"]]
    return found


def _rates(result: ClassResult) -> Json:
    return {
        "class": result["name"],
        "ops_per_s": float(result["ops_rate"]["value"]),
        "bytes_per_s": float(result["bandwidth"]["value"]),
    }


def _coincide(seats: Sequence[Seat]) -> float | None:
    """Share of the longest window in which all windows were open; none where no moment is common."""
    windows = [window_of(seat) for seat in seats]
    known = [window for window in windows if window is not None]
    if not known or len(known) < len(windows):
        return None
    common = min(one.closed_s for one in known) - max(one.opened_s for one in known)
    return round(max(0.0, common) / max(one.closed_s - one.opened_s for one in known), 6)


def _vague(seats: Sequence[Seat]) -> dict[str, float]:
    """Hosts of whose windows less is known than what makes a host late, with what is known of them, s."""
    windows = {seat.host: window_of(seat) for seat in seats}
    return {host: one.error_s for host, one in windows.items() if one and one.error_s > LATE_SHARE * one.asked_s}


def _class(name: str, seats: Sequence[Seat]) -> Json:
    results = {seat.host: one for seat in seats for one in (seat.record or {})["classes"] if one["name"] == name}
    rates = {host: float(one["ops_rate"]["value"]) for host, one in results.items()}
    slowest = min(rates, key=lambda host: rates[host])
    return {
        "class": name,
        "hosts": list(results),
        "ops_per_s": sum(rates.values()),
        "bytes_per_s": sum(float(one["bandwidth"]["value"]) for one in results.values()),
        "slowest": slowest,
        "slowest_ops_per_s": rates[slowest],
        "fastest_ops_per_s": max(rates.values()),
        "service": _merged([one.get("service") for one in results.values()]),
        "response": _merged([one.get("response") for one in results.values()]),
    }


def _merged(distributions: Sequence[Any]) -> Json | None:
    """Percentiles of all operations of all hosts: of the merged histogram, and of nothing else."""
    if not distributions or any(one is None for one in distributions):
        return None
    merged = histogram.merge(distributions)
    if merged is None:
        return None
    found = {name: int(merged.get_value_at_percentile(share)) for name, share in _PERCENTILES.items()}
    return {"count": int(merged.get_total_count()), "max_ns": int(merged.get_max_value()), **found}
