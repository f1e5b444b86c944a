"""What a run asked of CPU and device: read out of work records."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from assay.record import CpuUse, WorkPart, WorkRecord

# Size of a request where the device's counters do not tell, by class of the query.
ASSUMED_BYTES = {"sequential": 131_072.0, "random": 8_192.0}


@dataclass(frozen=True)
class Demand:
    """One query, or a whole window of transactions. Seconds, bytes, counts.

    `wait_s` is the part of `wall_s` in which nothing ran, `queued_s` that in which it waited for a CPU, `busy_s` how
    long the device was busy meanwhile; none where its counters do not speak of this work alone. `streams` is how many
    work or read at once. `operations` is what a throughput counts, 0 for a query; `paced` says that they had a rate.
    """

    name: str
    wall_s: float
    wait_s: float
    busy_s: float | None
    read_bytes: float
    read_size_bytes: float
    sequential: bool
    concurrency: float
    written_bytes: float = 0.0
    write_size_bytes: float = 0.0
    flushes: float = 0.0
    operations: float = 0.0
    streams: int = 1
    queued_s: float = 0.0
    paced: bool = False


def demands(record: WorkRecord) -> list[Demand]:
    """Those of a record: one per query of TPC-H, one for a window of anything else; none where it tells too little."""
    if record["workload"]["name"] == "tpch":
        threads = _threads(record)
        return [found for part in record["parts"] if (found := _query(part, threads)) is not None]
    found = _window(record)
    return [found] if found is not None else []


@dataclass(frozen=True)
class Took:
    """How long one query, or a window of so many operations (0 for a query), took where it ran, s."""

    name: str
    wall_s: float
    operations: float


def took(record: WorkRecord) -> list[Took]:
    """Times of a record, whatever it lay on."""
    if record["workload"]["name"] == "tpch":
        times = {one["name"]: one["figures"].get("time_s") for one in record["parts"]}
        return [Took(name, float(time["value"]), 0.0) for name, time in times.items() if time is not None]
    rate, seconds = _rate(record), float(record["measured_s"])
    return [Took(record["workload"]["name"], seconds, rate * seconds)] if rate and seconds > 0 else []


def _rate(record: WorkRecord) -> float | None:
    """Operations a second."""
    return next((float(record["figures"][name]["value"]) for name in _RATES if name in record["figures"]), None)


def _threads(record: WorkRecord) -> int:
    """Threads of a query: those that the engine was given; one where it says nothing of them."""
    threads = record["subject"]["settings"].get("threads", 1)
    return max(1, int(threads)) if str(threads).isdigit() else 1


def _query(part: WorkPart, threads: int) -> Demand | None:
    figures = {name: float(one["value"]) for name, one in part["figures"].items()}
    if "time_s" not in figures or "wait_ratio" not in figures:
        return None
    facts = part.get("facts") or {}
    kind = facts.get("class", "")
    size = figures.get("device_request_bytes") or ASSUMED_BYTES.get(kind, ASSUMED_BYTES["sequential"])
    wall = figures["time_s"]
    sequential = size >= ASSUMED_BYTES["sequential"] / 2
    return Demand(
        name=part["name"],
        wall_s=wall,
        # However long it waited, its CPU time took its share of the workers' time.
        wait_s=wall * min(figures["wait_ratio"], 1 - figures.get("cpu_utilisation_ratio", 0.0)),
        busy_s=figures.get("device_busy_s"),
        read_bytes=figures["device_read_bytes"],
        read_size_bytes=size,
        sequential=sequential,
        concurrency=1.0,
        # Read-ahead is a second stream beside each thread that reads in order.
        streams=threads * 2 if sequential else threads,
        queued_s=min(wall, figures.get("queued_s", 0.0)),
    )


def _window(record: WorkRecord) -> Demand | None:
    """A window of operations: what is not CPU is taken for waiting."""
    rate = _rate(record)
    devices, seconds = record["devices"], float(record["measured_s"])
    if rate is None or not devices or seconds <= 0:
        return None
    cpu = record.get("cpu")
    names = [name for name in ("cpu_s", "server_cpu_s", "driver_cpu_s") if name in record["figures"]]
    used = sum(float(record["figures"][name]["value"]) for name in names) if names else _seconds(cpu)
    usable = float(record["environment"]["cpu"].get("usable") or 1)
    device = max(devices, key=lambda one: one["utilisation"]["value"])
    value = {name: float(one["value"]) for name, one in device.items() if isinstance(one, dict)}
    busy = value["utilisation"] * seconds
    own = _own_share(record, value)
    return Demand(
        name=record["workload"]["name"],
        wall_s=seconds,
        wait_s=max(0.0, seconds - used / usable),
        busy_s=busy if busy > 0 and own == 1 else None,
        read_bytes=value["read_bytes"] * own,
        read_size_bytes=value["read_bytes"] / value["reads"] if value["reads"] else 0.0,
        sequential=False,
        concurrency=max(1.0, value["mean_in_flight"] * seconds / busy) if busy else 1.0,
        written_bytes=value["written_bytes"] * own,
        write_size_bytes=value["written_bytes"] / value["writes"] if value["writes"] else 0.0,
        flushes=value["flushes"] * own,
        operations=rate * seconds,
        streams=_terminals(record),
        paced="asked_per_s" in record["figures"],
    )


def _own_share(record: WorkRecord, device: dict[str, float]) -> float:
    """The part of a device's bytes that is the database's; 1 where others moved no more than it did."""
    names = ("process_read_bytes", "process_written_bytes")
    if not all(name in record["figures"] for name in names):
        return 1.0
    own = sum(float(record["figures"][name]["value"]) for name in names)
    whole = device["read_bytes"] + device["written_bytes"]
    return 1.0 if own * _FOREIGN >= whole else own / whole


# The device's counters speak of the database where others moved at most as much beside it.
_FOREIGN = 2.0


def _terminals(record: WorkRecord) -> int:
    """Sessions or threads that work at once."""
    parameters = record["workload"]["parameters"]
    found = next((parameters[name] for name in ("terminals", "threads") if name in parameters), 1)
    return max(1, min(1024, int(found))) if str(found).isdigit() else 1


_RATES = ("transactions_per_s", "ops_per_s", "tpm_per_s")


def _seconds(cpu: CpuUse | None) -> float:
    return sum(float(cpu[name]["value"]) for name in ("user_s", "kernel_s", "helper_s")) if cpu else 0.0


def usable(records: Sequence[WorkRecord]) -> list[WorkRecord]:
    """Records that speak of a device: measured, and not from memory."""
    found = []
    for record in records:
        hot = str(record["workload"]["parameters"].get("protocol", "")).startswith("hot")
        modelled = any(reason["code"] == "modelled-target" for reason in record["verdict"]["reasons"])
        memory = any(one.get("emulated") for one in record["targets"] if one["role"] == "data")
        if record["kind"] == "database" and not hot and not modelled and not memory:
            found.append(record)
    return found
