"""What targets differ in, and how much of the device's own difference is left in transactions."""

from __future__ import annotations

import math
import os
import statistics
import time
from collections.abc import Mapping, Sequence
from pathlib import Path

from assay.record import WorkRecord
from assay.stats.welch import LEAST, unpaired
from assay.units import show

# Below this share of time in which a device was busy, equal throughput says nothing about devices.
USED = 0.3
DIFFERENT = "different."
_PROBE_S = 0.5
_PROBE_BYTES = 8192


def durable_writes_per_s(folder: Path) -> float:
    """Durable writes a second of one thread: 8 KiB and fdatasync, over a file that is written already."""
    path = folder / ".assay-probe"
    handle = os.open(path, os.O_RDWR | os.O_CREAT | os.O_EXCL, 0o600)
    page = os.urandom(_PROBE_BYTES)
    try:
        os.pwrite(handle, page * 64, 0)
        os.fsync(handle)
        count, began = 0, time.monotonic()
        while time.monotonic() - began < _PROBE_S:
            os.pwrite(handle, page, count % 64 * _PROBE_BYTES)
            os.fdatasync(handle)
            count += 1
        return count / (time.monotonic() - began)
    finally:
        os.close(handle)
        path.unlink(missing_ok=True)


def throughputs(records: Sequence[WorkRecord]) -> dict[str, list[float]]:
    """Transactions a second of every run, by where the data lay."""
    found: dict[str, list[float]] = {}
    for record in records:
        if "transactions_per_s" in record["figures"]:
            found.setdefault(_place(record), []).append(float(record["figures"]["transactions_per_s"]["value"]))
    return found


def _place(record: WorkRecord) -> str:
    return next((str(one["target"]) for one in record["targets"] if one["role"] == "data"), "elsewhere")


def sentences(records: Sequence[WorkRecord], probes: Mapping[str, float]) -> dict[str, str]:
    """Every target against the first one, in words, by the target."""
    found = throughputs(records)
    names = list(found)
    return {name: _against(names[0], name, found, records, probes) for name in names[1:]}


def note(records: Sequence[WorkRecord], probes: Mapping[str, float]) -> list[WorkRecord]:
    """Writes what was compared into the last record of every target but the first; those records."""
    first = next(iter(throughputs(records)), "")
    noted = []
    for name, words in sentences(records, probes).items():
        record = [one for one in records if _place(one) == name][-1]
        record["workload"]["parameters"] |= {"compared_with": first, "compared_in_words": words}
        noted.append(record)
    return noted


def _against(
    first: str, other: str, found: Mapping[str, list[float]], records: Sequence[WorkRecord], probes: Mapping[str, float]
) -> str:
    ratio = statistics.median(found[other]) / max(statistics.median(found[first]), 1e-9)
    text = f"{other} against {first}: {show.significant(ratio)} times the transactions"
    device = probes.get(other, 0.0) / probes[first] if probes.get(first) else 0.0
    if device > 0:
        text += f"; durable writes of one thread {show.significant(device)} times"
        if abs(math.log(device)) > 0.1:
            text += f", of which {100 * math.log(ratio) / math.log(device):.0f} % (of the logarithm) is left"
    judged = _judged(found[first], found[other])
    return f"{text}. {judged} {_used(records, shown=judged.endswith(DIFFERENT))}"


def _judged(first: Sequence[float], other: Sequence[float]) -> str:
    """Welch's test, in words."""
    found = unpaired(first, other)
    if found is None:
        return f"Fewer than {LEAST} runs each: undecided."
    verdict = DIFFERENT if found.differs else "no difference was shown."
    return f"95 % of the ratio between {show.significant(found.low)} and {show.significant(found.high)}: {verdict}"


def _used(records: Sequence[WorkRecord], *, shown: bool) -> str:
    """How much devices were used; that nothing was `shown` between devices that had nothing to do means nothing."""
    shares = [
        one["figures"]["device_utilisation"]["value"] for one in records if "device_utilisation" in one["figures"]
    ]
    if not shares:
        return "How busy the devices were is not known."
    text = f"The busiest device was busy {100 * max(shares):.0f} % of the time"
    return f"{text}: this says nothing about devices." if max(shares) < USED and not shown else f"{text}."
