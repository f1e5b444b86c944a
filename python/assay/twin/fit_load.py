"""`assay fit --points`: a twin of a drive from published latencies under load, and how far it is off on other rates."""

from __future__ import annotations

import copy
import math
import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path

import numpy as np

from assay.binary import Binary
from assay.error import FAILED, AssayError
from assay.target import catalog
from assay.twin import load_file, under_load
from assay.twin.document import parameter, rounded, to_toml
from assay.twin.under_load import UnderLoad, UnderLoadRow
from assay.untyped import Json

# What is asked of every twin: percentiles by the share of operations beyond them.
RANKS = {"p50": 0.5, "p99": 0.01, "p999": 0.001}
# The host that plays whoever measured, and how: its share of a latency is taken off before the rest is the drive's.
HOST, PATH = "i9-9900k", "io_uring"
# Writers of a load, and what each has in flight at least; and how many more than the mean a load at a rate may have.
LOAD_THREADS, LOAD_DEPTH, ROOM_IN_FLIGHT = 8, 64, 1.25
# Bands hold this share of what they are asked.
COVERED = 0.9
# No band is narrower: what two measurements of one drive differ by.
LEAST = {"bandwidth": 0.03, "latency": 0.05, "tail": 0.1}
# Rows beyond this share of the most that was seen lie at the knee, and tell nothing of what lies below it.
AT_THE_KNEE = 0.97
# Where only one or two rates are known nothing is left over to say how far the curve is off.
UNKNOWN = {"bandwidth": 0.3, "latency": 0.5, "tail": 1.0}
FITTED = "Fitted to rows of "
# Where a data sheet says nothing: a PCIe 4.0 drive of its class, so that neither limits small collected writes.
SHEET = {"read_iops": 900_000.0, "read_bytes_per_s": 6.0e9, "write_amplification": 3.0, "capacity_bytes": 960e9}


@dataclass(frozen=True)
class Residual:
    """One figure of a row: predicted over published, and whether it lay in the band."""

    asked: float
    figure: str
    published: float
    predicted: float
    width: float

    @property
    def error(self) -> float:
        """Relative."""
        return self.predicted / self.published - 1.0

    @property
    def inside(self) -> bool:
        """Within a factor of 1 + width either way."""
        return abs(math.log(self.predicted / self.published)) <= math.log1p(self.width)


def fit_table(path: Path, drive: str, rows: str, sheet: dict[str, float], name: str, binary: Binary) -> Json:
    """The twin of a drive of a table from the rows of some rates, with bands from rows left out one by one.

    Raises:
        AssayError: where the table cannot be read, or lacks the drive or a rate.
    """
    title, every = load_file.read(path, drive)
    seen = load_file.chosen(every, rows)
    found = under_load.fit(seen)
    bands, method = conformal(seen)
    source = _Source(path, title, len(seen), load_file.citation(path))
    twin = _twin(found, source, SHEET | sheet, sheet, name or _slug(title), bands, method, seen)
    return calibrated(twin, found, binary)


@dataclass(frozen=True)
class _Source:
    """Where the figures come from."""

    path: Path
    title: str
    rows: int
    citation: str

    def parameter(self, value: float, **more: float) -> Json:
        words = f"{self.citation}: {self.title}, latencies under load at {self.rows} rates"
        return parameter(value, "fitted", words, f"{datetime.now(UTC):%Y-%m}", **more)


def conformal(rows: Sequence[UnderLoadRow]) -> tuple[dict[str, float], str]:
    """Half-widths that hold nine of ten figures of rows that were left out of a fit, one at a time.

    Split conformal prediction: of n residuals the one of rank ceil(0.9 (n + 1)) is the width.
    """
    misses: dict[str, list[float]] = {"latency": [], "tail": []}
    most = max(row.reached for row in rows)
    on_curve = [row for row in rows if row.reaches and row.reached < AT_THE_KNEE * most]
    for left in on_curve if len(rows) > 2 else []:
        fitted = under_load.fit([row for row in rows if row is not left])
        share = left.reached / fitted.writes_per_s
        for figure, rare in RANKS.items():
            if rare in left.read_ns:
                miss = abs(math.log(under_load.read_ns(fitted, share, rare) / left.read_ns[rare]))
                misses["latency" if figure == "p50" else "tail"].append(miss)
    short = [row.reached for row in rows if not row.reaches]
    bands = {"bandwidth": UNKNOWN["bandwidth"] if not short else max(LEAST["bandwidth"], _spread(short))}
    for kind, values in misses.items():
        bands[kind] = max(LEAST[kind], math.expm1(_quantile(values))) if values else UNKNOWN[kind]
    counted = sum(len(values) for values in misses.values())
    return bands, f"Conformal at {COVERED:.0%} over {counted} figures of rates that were left out one at a time"


def _quantile(values: Sequence[float]) -> float:
    ordered = sorted(values)
    rank = math.ceil(COVERED * (len(ordered) + 1))
    return ordered[min(rank, len(ordered)) - 1] * (1.0 if rank <= len(ordered) else 1.25)


def _spread(values: Sequence[float]) -> float:
    return max(values) / min(values) - 1.0


def _slug(title: str) -> str:
    return re.sub(r"[^a-z0-9]+", "-", title.lower()).strip("-")


def _stated(sheet: dict[str, float], given: dict[str, float], key: str) -> Json:
    """A figure of the data sheet, or what stands for it."""
    kind, words = ("datasheet", "Given to the fit") if key in given else ("assumed", "Not in the table; of its class")
    return parameter(sheet[key], kind, words, f"{datetime.now(UTC):%Y-%m}")


def _assumed(value: float, words: str) -> Json:
    return parameter(value, "assumed", words, f"{datetime.now(UTC):%Y-%m}")


def _device(found: UnderLoad, source: _Source, sheet: dict[str, float], given: dict[str, float]) -> Json:
    """`[device]`: what the table says, the data sheet, and what stands for what neither does."""
    cap, copies = found.writes_per_s, sheet["write_amplification"]
    idle, write = float(found.curve.latency_ns[-1]), under_load.write_ns(found, 0.0, 0.5)
    quick = source.parameter(cap * 4096 * copies)
    quick["source"] += "; the writes that are reached, times what they copy"
    sense = 0.6 * idle
    return {
        "family": "nand",
        "read_delay_ns": source.parameter(0.3 * idle),
        "dies": _assumed(
            max(32.0, round(1.3 * sheet["read_iops"] * sense / 1e9)), "As many as the rate of reads needs"
        ),
        "read_ns": source.parameter(sense),
        "page_bytes": _assumed(16384, "Page size of 3D flash dies"),
        "program_ns": _assumed(561000, "As other TLC drives"),
        "channel_bytes_per_s": _assumed(1.2e9, "Channels of this generation"),
        "read_iops": _stated(sheet, given, "read_iops"),
        "write_iops": _assumed(max(400_000.0, 4 * cap), "Into the buffer"),
        "read_bytes_per_s": _stated(sheet, given, "read_bytes_per_s"),
        "write_bytes_per_s": quick,
        "sustained_bytes_per_s": quick,
        "buffer_bytes": _assumed(16777216, "Not published"),
        "write_latency_ns": source.parameter(write),
        "collection": {
            "write_amplification": _stated(sheet, given, "write_amplification"),
        },
        "flush": {
            "power_loss_protection": _assumed(1, "Drives for servers protect their buffer"),
            "base_ns": _assumed(20000, "As other drives for servers"),
        },
        "under_load": _under_load(found, source),
    }


def _twin(
    found: UnderLoad,
    source: _Source,
    sheet: dict[str, float],
    given: dict[str, float],
    name: str,
    bands: dict[str, float],
    method: str,
    rows: Sequence[UnderLoadRow],
) -> Json:
    date = f"{datetime.now(UTC):%Y-%m}"
    asked = ", ".join(f"{row.asked:.0f}" for row in sorted(rows, key=lambda row: row.asked))
    notes = [f"{FITTED}{source.path.name}, {source.title}, asked rates {asked}", method]
    if not found.saturated:
        notes.append("No rate that was fitted was beyond what the drive reaches: what it reaches is extrapolated")
    width = {key: parameter(value, "fitted", method, date) for key, value in bands.items()}
    return {
        "version": catalog.VERSION,
        "name": name,
        "title": source.title,
        "notes": notes,
        "capacity_bytes": _stated(sheet, given, "capacity_bytes"),
        "device": _device(found, source, sheet, given),
        "bounds": {
            "size_bytes": [4096, 4096],
            "in_flight": [1, 1024],
            "write_percent": [0, 100],
            "duration_s": [0, 86400],
        },
        "band": width,
    }


def _under_load(found: UnderLoad, source: _Source) -> Json:
    origin = {key: value for key, value in source.parameter(1.0).items() if key != "value"}
    curve = found.curve
    return {
        "writes_per_s": source.parameter(found.writes_per_s),
        "knee": source.parameter(found.knee),
        "reads": {
            "rare_over_share": [rounded(value) for value in curve.rare_over_share.tolist()],
            "latency_ns": [rounded(value) for value in curve.latency_ns.tolist()],
            "rise": rounded(curve.rise),
        }
        | origin,
        "rows": [_load_row(share, row) | origin for share, row in found.rows],
    }


def _load_row(share: float, row: UnderLoadRow) -> Json:
    def lists(kind: str, values: dict[float, float]) -> Json:
        places = sorted(values, reverse=True)
        return {f"{kind}_rare": places, f"{kind}_ns": [rounded(values[place]) for place in places]} if values else {}

    return {"share": float(f"{share:.6g}")} | lists("read", row.read_ns) | lists("write", row.write_ns)


def streams(asked: float, reached_share: float, depth: int = LOAD_DEPTH) -> list[Json]:
    """Writers at a rate, each with so many in flight, and beside them one who reads and one who writes now and then."""

    def stream(name: str, writes: float, rate: float, threads: int, depth: int) -> Json:
        return {
            "name": name,
            "write_share": writes,
            "size_bytes": 4096.0,
            "sequential": False,
            "threads": threads,
            "depth": depth,
            "path": {"key": PATH},
            "durability": {"kind": "none", "every": 1},
            "rate_per_s": rate,
        }

    load = stream("load", 1.0, asked * reached_share, LOAD_THREADS, depth)
    return [stream("reader", 0.0, 100.0, 1, 4), stream("writer", 1.0, 100.0, 1, 4), load]


def _ask(twin: Json, questions: Sequence[list[Json]], binary: Binary) -> list[list[Json]]:
    document = {
        "version": catalog.VERSION,
        "targets": [{"kind": "device", "twin": twin, "modules": 1}],
        "hosts": [catalog.host(HOST)],
        "questions": [{"target": 0, "host": 0, "streams": each} for each in questions],
    }
    answers = binary.document("predict", "-", given=document)["answers"]
    refused = next((answer for answer in answers if answer["kind"] == "refused"), None)
    if refused is not None:
        raise AssayError(f"the model refuses a point: {refused['reason']}", hint=refused["fix"], code=FAILED)
    return [list(answer["solution"]["streams"]) for answer in answers]


def calibrated(twin: Json, found: UnderLoad, binary: Binary) -> Json:
    """The twin with the host's share of idle latencies taken off the drive's."""
    twin = copy.deepcopy(twin)
    quiet = streams(0.002 * found.writes_per_s, 1.0)
    reader, writer, _ = _ask(twin, [quiet], binary)[0]
    device = twin["device"]
    wanted = {
        "read_delay_ns": (reader, float(found.curve.latency_ns[-1])),
        "write_latency_ns": (writer, under_load.write_ns(found, 0.0, 0.5)),
    }
    for name, (answer, value) in wanted.items():
        changed = float(device[name]["value"]) + value - float(answer["p50"]["mid_ns"])
        device[name]["value"] = rounded(max(changed, 200.0))
    return twin


def check(twin: Json, path: Path, drive: str, binary: Binary) -> tuple[list[Residual], list[Residual]]:
    """The figures of a table beside those of a twin: of rates that it was not fitted to, and of those that it was."""
    _, rows = load_file.read(path, drive)
    known = fitted_rates(twin)
    kept = [row.reached / row.asked for row in rows if row.reaches]
    share = float(np.median(kept)) if kept else 1.0
    depth = _load_depth(twin)
    answers = _ask(twin, [streams(row.asked, share, depth) for row in rows], binary)
    found: tuple[list[Residual], list[Residual]] = ([], [])
    for row, (reader, writer, load) in zip(rows, answers, strict=True):
        found[row.asked in known].extend(_residuals(row, reader, writer, load))
    return found


def _load_depth(twin: Json) -> int:
    """In flight of each writer: a load at a rate has as many as Little's law says of latencies that were measured."""
    known = twin["device"].get("under_load")
    if known is None:
        return LOAD_DEPTH
    reached = [float(known["writes_per_s"]["value"]) * float(row["share"]) for row in known["rows"]]
    means = [under_load.mean_ns(row["write_rare"], row["write_ns"]) for row in known["rows"]]
    most = max(rate * mean / 1e9 for rate, mean in zip(reached, means, strict=True))
    return max(LOAD_DEPTH, math.ceil(ROOM_IN_FLIGHT * most / LOAD_THREADS))


def _residuals(row: UnderLoadRow, reader: Json, writer: Json, load: Json) -> Iterator[Residual]:
    yield Residual(row.asked, "writes/s", row.reached, float(load["ops_per_s"]), float(load["band"]["bandwidth"]))
    for kind, seen, answer in (("read", row.read_ns, reader), ("write", row.write_ns, writer)):
        for figure, rare in RANKS.items():
            if rare in seen:
                width = float(answer["band"]["latency" if figure == "p50" else "tail"])
                yield Residual(row.asked, f"{kind} {figure}", seen[rare], float(answer[figure]["mid_ns"]), width)


def fitted_rates(twin: Json) -> set[float]:
    """Asked rates that a twin was fitted to."""
    for note in twin.get("notes", []):
        if note.startswith(FITTED):
            return {float(text) for text in note.rpartition("asked rates ")[2].split(", ")}
    return set()


def toml(twin: Json) -> str:
    """The twin as a file."""
    return to_toml(twin)
