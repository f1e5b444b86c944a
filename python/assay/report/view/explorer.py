"""The cost explorer: loads of the records, and parts with dated prices, for R to be recomputed in the page."""

from __future__ import annotations

import json
from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from assay.price.book import Book, Price, open_book
from assay.price.error import PriceError
from assay.price.part import STORAGE
from assay.results import labels
from assay.results.folder import Folder
from assay.results.row import Row, rows
from assay.results.work import Work
from assay.units import show
from assay.untyped import Json

_MOST = 40
# R of the page starts with what Huang et al. (CIDR 2022) priced.
_START = {"storage": "p4800x-375g", "memory": "ddr4-32g", "cpu": "xeon-6242r"}
_COUNTS = {"storage": 1, "memory": 6}
_FAMILIES = {"storage": STORAGE, "memory": ("dram",), "cpu": ("cpu",)}


@dataclass(frozen=True)
class Explorer:
    """What the page needs: the data block for its script, and what to offer first."""

    data: str
    loads: tuple[Json, ...]
    parts: Json
    start: Json


def explorer(folder: Folder) -> Explorer | None:
    """None where no record has a throughput and a utilisation, or the price book lacks a kind of part."""
    loads = [*_of_works(folder.works), *_of_rows(rows(folder.cells))][:_MOST]
    parts = _parts(open_book())
    if not loads or not all(parts.values()):
        return None
    start = {kind: next((one for one in parts[kind] if one["item"] == _START[kind]), parts[kind][0]) for kind in parts}
    document = {"loads": loads, "parts": parts}
    text = json.dumps(document, separators=(",", ":"), allow_nan=False)
    text = text.replace("<", "\\u003c").replace(">", "\\u003e").replace("&", "\\u0026")
    return Explorer(text, tuple(loads), parts, {**start, "counts": _COUNTS})


def _of_rows(found: Sequence[Row]) -> Iterator[Json]:
    """Closed classes that are valid first, the fastest of each study and path."""
    best: dict[tuple[str, str, str], Row] = {}
    for one in found:
        pace, busy = one.metric("ops_rate"), utilisation(one)
        if not one.closed or not pace or busy is None or one.status == "invalid" or _unreal(one):
            continue
        key = (one.cell.study, one.name, one.path_label)
        if key not in best or pace > (best[key].metric("ops_rate") or 0.0):
            best[key] = one
    for one in best.values():
        what = f"{one.cell.study}: {one.name}, {one.path_label}, {labels.sizes(one.asked.get('size'))}"
        pace, threads = one.metric("ops_rate") or 0.0, int(one.asked.get("threads") or 1)
        yield _load(one.anchor, labels.clean(what), pace, threads, utilisation(one) or 0.0, one.status, one.provenance)


def _unreal(one: Row) -> bool:
    return any(target.get("kind") == "null" for target in one.record["job"].get("targets") or ())


def utilisation(one: Row) -> float | None:
    """CPU seconds of a class, helpers of the kernel included and waits for a start not, by threads and seconds."""
    seconds = float((one.record.get("window") or {}).get("measured_s") or 0)
    used = [one.metric(name) for name in ("user_s", "kernel_s", "helper_s")]
    known = [value for value in used if value is not None]
    if not known or seconds <= 0:
        return None
    busy = (sum(known) - (one.metric("wait_s") or 0.0)) / (seconds * int(one.asked.get("threads") or 1))
    return max(0.0, min(1.0, busy))


def _of_works(works: Sequence[Work]) -> Iterator[Json]:
    for one in works:
        cpu, seconds = one.record.get("cpu"), float(one.record.get("measured_s") or 0)
        if one.rate is None or not isinstance(cpu, dict) or seconds <= 0 or one.status == "invalid":
            continue
        used = sum(_value(cpu.get(name)) for name in ("user_s", "kernel_s", "helper_s"))
        cpus = int((one.record["environment"].get("cpu") or {}).get("usable") or 1)
        what = f"{one.subject}: {one.workload}, {one.durability or 'no'} durability"
        busy = min(1.0, used / (seconds * cpus))
        what_is_done = {"transactions_per_s": "transactions", "queries_per_s": "queries"}.get(one.rate[0], "operations")
        found = _load(one.anchor, labels.clean(what), one.rate[1], cpus, busy, one.status, one.provenance)
        yield found | {"does": what_is_done}


def _value(found: object) -> float:
    value = found.get("value") if isinstance(found, dict) else None
    return float(value) if isinstance(value, (int, float)) else 0.0


def _load(anchor: str, label: str, per_s: float, threads: int, busy: float, status: str, provenance: str) -> Json:
    mark = "" if status == "valid" else f" [{status}]"
    origin = "" if provenance == "measured" else f" [{provenance}]"
    said = f"{label}: {show.count(per_s)}/s{mark}{origin}".replace("\u00a0", " ")
    return {"anchor": anchor, "label": said, "per_s": per_s, "threads": threads, "utilisation": round(busy, 4)}


def _parts(book: Book) -> dict[str, list[Json]]:
    found: dict[str, list[Json]] = {kind: [] for kind in _FAMILIES}
    for item, part in sorted(book.parts.items()):
        kind = next((name for name, families in _FAMILIES.items() if part.family in families), "")
        price = _price(book, item)
        if not kind or price is None:
            continue
        entry = {
            "item": item, "title": part.title, "usd": float(price.usd), "date": price.entry.date,
            "source": price.entry.source, "stale": price.stale, "family": part.family,
        }  # fmt: skip
        if kind == "cpu":
            if part.threads is None:
                continue
            entry["threads"] = float(part.threads.value)
        found[kind].append(entry)
    return found


def _price(book: Book, item: str) -> Price | None:
    try:
        return book.price(item)
    except PriceError:
        return None
