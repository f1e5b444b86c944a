"""Twins of memory that forgets (DRAM, CXL cards) and of NVDIMM-N, made from published figures."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from assay.twin.document import Table, curve, parameter

_FAST = "Yang and others, FAST 2020, data of figure 4: six modules of DDR4-2666"
_MLC = "Intel MLC 3.10/3.11 on {} (gjbex/Code-optimization, info/), both sockets"
_EUROSYS = (
    "Artifacts of EuroSys 2024 'Exploring Performance and Cost Optimization with ASIC-Based CXL Memory', MLC logs"
)
_OCP = "Intel CacheLib, OCP demo configuration: E3.S card of 96 GB, PCIe 5 x8"
_TAIL = "Not published for this device; wide"


@dataclass(frozen=True)
class Rates:
    """Bytes per second of one thread and of a module."""

    thread: float
    module: float
    source: str
    date: str
    kind: str = "published"


def _operation(rates: Rates, sharpness: float = 8.0) -> Table:
    return {
        "thread_bytes_per_s": curve({64: rates.thread}, rates.kind, rates.source, rates.date),
        "module_bytes_per_s": curve({64: rates.module}, rates.kind, rates.source, rates.date),
        "sharpness": parameter(sharpness, "fitted", f"{_FAST}: the corner at 12 threads", "2020-02", residual=0.04),
    }


def _operations(read: Rates, random: Rates, nt: Rates, clwb: Rates, plain: Rates) -> Table:
    return {
        "sequential_read": _operation(read),
        "random_read": _operation(random),
        "sequential_nt": _operation(nt),
        "random_nt": _operation(nt),
        "sequential_clwb": _operation(clwb),
        "random_clwb": _operation(clwb),
        "sequential_plain": _operation(plain),
        "random_plain": _operation(plain),
    }


def _tail() -> Table:
    return {
        "p99": parameter(1.5, "assumed", _TAIL, "2026-11", low=1.1, high=3),
        "p999": parameter(2.5, "assumed", _TAIL, "2026-11", low=1.2, high=8),
    }


def _memory(kinds: Table, mixed: Table, sequential_ns: Table, random_ns: Table) -> Table:
    return {
        "operations": kinds,
        "mixed_share": mixed,
        "sequential_latency_ns": sequential_ns,
        "latency_ns": random_ns,
        "tail": _tail(),
    }


def _ddr4_2666() -> Table:
    date = "2020-02"
    kinds = _operations(
        Rates(7.38e9, 105.6e9 / 6, _FAST, date),
        Rates(
            6.3e9,
            93.35e9 / 6,
            f"{_FAST}; a thread alone has ten lines in flight for 101.5 ns",
            date,
        ),
        Rates(4.31e9, 76.8e9 / 6, _FAST, date),
        Rates(1.48e9, 105.6e9 / 12, f"{_FAST}; a module as half the bus: each line is read and written", date),
        Rates(4.31e9, 105.6e9 / 12, f"{_FAST}; a thread as non-temporal stores, a module as half the bus", date),
    )
    mixed = parameter(0.887, "published", _MLC.format("Cascade Lake") + ": 1:1 over reads alone", "2023-04")
    latency = "Yang and others, FAST 2020, data of figure 2"
    return _memory(
        kinds,
        mixed,
        parameter(81.4, "published", latency, date),
        parameter(101.5, "published", latency, date),
    )


@dataclass(frozen=True)
class Faster:
    """A faster kind of module: measured read rate and latency, and what one thread draws."""

    read: float
    thread: float
    latency_ns: float
    mixed: float
    source: str
    date: str
    thread_source: str
    kind: str = "published"


def _faster(spec: Faster) -> Table:
    """Writes keep the shares of the reads that DDR4-2666 shows: 0.727 for non-temporal stores, 0.5 for others."""
    thread = f"{spec.source}; a thread: {spec.thread_source}"
    share = f"{spec.source}; share of the reads as on DDR4-2666 ({_FAST})"
    kinds = _operations(
        Rates(spec.thread, spec.read, thread, spec.date, spec.kind),
        Rates(640 / spec.latency_ns * 1e9, spec.read * 0.884, f"{share}; ten lines in flight", spec.date, "assumed"),
        Rates(spec.thread * 0.584, spec.read * 0.727, share, spec.date, "assumed"),
        Rates(1.48e9, spec.read * 0.5, share, spec.date, "assumed"),
        Rates(spec.thread * 0.584, spec.read * 0.5, share, spec.date, "assumed"),
    )
    return _memory(
        kinds,
        parameter(spec.mixed, "published", f"{spec.source}: 1:1 over reads alone", spec.date),
        parameter(spec.latency_ns * 0.8, "assumed", "Share of the random latency as on DDR4-2666", spec.date),
        parameter(spec.latency_ns, "published", spec.source, spec.date),
    )


_FASTER = {
    "ddr4-2933": Faster(
        105.6e9 / 6 * 2933 / 2666,
        7.38e9,
        80.8,
        0.887,
        _MLC.format("Cascade Lake"),
        "2023-04",
        "as on DDR4-2666; module as DDR4-2666 by the ratio of the clocks",
        "assumed",
    ),
    "ddr4-3200": Faster(
        351.8e9 / 16,
        7.38e9 * 101.5 / 89.2,
        89.2,
        0.83,
        _MLC.format("Ice Lake, 16 channels"),
        "2023-04",
        "as on DDR4-2666 by the ratio of the latencies",
    ),
    "ddr5-4800": Faster(
        491.9e9 / 16,
        15.7e9,
        95.4,
        0.816,
        _MLC.format("Sapphire Rapids, 16 channels"),
        "2024-06",
        f"at least what one core draws from CXL memory ({_EUROSYS})",
    ),
}


def _bounds() -> Table:
    return {
        "size_bytes": [64, 2097152],
        "in_flight": [1, 24],
        "write_percent": [0, 100],
        "duration_s": [0, 86400],
    }


def _twin(name: str, title: str, gigabytes: float, device: Table, width: float, why: str, *notes: str) -> Table:
    return {
        "version": 1,
        "name": name,
        "title": title,
        "capacity_bytes": parameter(
            gigabytes * (1 << 30), "assumed", "A usual size; rates do not depend on it", "2026-11"
        ),
        "notes": list(notes),
        "device": device,
        "bounds": _bounds(),
        "band": {
            "bandwidth": parameter(width, "assumed", why, "2026-11"),
            "latency": parameter(0.2, "assumed", why, "2026-11"),
            "tail": parameter(2, "assumed", _TAIL, "2026-11"),
        },
    }


def _cxl(figures: dict[str, Any]) -> Table:
    rise = f"{_EUROSYS}: 16 cores reading, 250 ns idle, 341 ns at 36 of 48 GB/s"
    return {
        "family": "cxl",
        **figures,
        "lines_in_flight": parameter(
            40, "fitted", f"{_EUROSYS}: two and four cores reading", "2024-04", low=38, high=61
        ),
        "rise": parameter(0.1, "fitted", rise, "2024-04", residual=0.08),
        "rise_exponent": parameter(0.1, "fitted", rise, "2024-04", residual=0.08),
        "tail": _tail(),
    }


def _a1000() -> Table:
    def of(value: float, what: str) -> Table:
        return parameter(value, "published", f"{_EUROSYS}: {what}", "2024-04")

    device = _cxl(
        {
            "latency_ns": of(250, "idle"),
            "read_bytes_per_s": of(48.03e9, "reads alone, 16 cores"),
            "write_bytes_per_s": of(46.98e9, "non-temporal writes alone, 16 cores"),
            "memory_bytes_per_s": of(54.2e9, "two reads to one write, 16 cores"),
        }
    )
    return _twin("cxl-a1000", "CXL card with an ASIC, PCIe 5 x16", 256, device, 0.15, "Between logs of equal cores")


def _e3s() -> Table:
    def of(value: float, what: str, kind: str = "published") -> Table:
        return parameter(value, kind, f"{_OCP}: {what}", "2023-10")

    device = _cxl(
        {
            "latency_ns": of(250, "latency"),
            "read_bytes_per_s": of(17.8e9, "all read"),
            "write_bytes_per_s": of(17.4e9, "write link as large as the read link, as in EuroSys 2024", "assumed"),
            "memory_bytes_per_s": of(27.2e9, "one read to one write"),
        }
    )
    return _twin("cxl-e3s-96g", "CXL card E3.S, 96 GB, PCIe 5 x8", 96, device, 0.15, "One set of four figures")


def _cz120() -> Table:
    press = "Micron at the launch of the CZ120 (Tom's Hardware): up to 36 GB/s, MLC, two reads to one write"
    link = f"{press}: two thirds of it are reads; as 0.76 of a x8 link, the share of EuroSys 2024"
    device = _cxl(
        {
            "latency_ns": parameter(250, "assumed", f"Not published; as {_OCP}", "2023-10", low=200, high=320),
            "read_bytes_per_s": parameter(24e9, "assumed", link, "2023-08"),
            "write_bytes_per_s": parameter(23.5e9, "assumed", link, "2023-08"),
            "memory_bytes_per_s": parameter(36e9, "published", press, "2023-08"),
        }
    )
    return _twin("cz120", "Micron CZ120, CXL 2.0, PCIe 5 x8", 256, device, 0.25, "One published figure")


def _fpga() -> Table:
    simulated = "CXL-DMSim (2025): an FPGA expander has 2.88 times the local latency and 45-69 % of the bandwidth"
    local = f"{simulated}; local as one channel of DDR5-4800 ({_MLC.format('Sapphire Rapids')})"
    rate = 0.57 * 491.9e9 / 16
    device = _cxl(
        {
            "latency_ns": parameter(2.88 * 95.4, "assumed", local, "2025-02"),
            "read_bytes_per_s": parameter(rate, "assumed", local, "2025-02"),
            "write_bytes_per_s": parameter(rate, "assumed", local, "2025-02"),
            "memory_bytes_per_s": parameter(rate * 1.1, "assumed", local, "2025-02"),
        }
    )
    return _twin("cxl-fpga", "CXL card with an FPGA", 64, device, 0.4, "Ratios to a local memory that is not named")


def volatile() -> dict[str, Table]:
    """Modules and cards by name."""
    why = "Peaks of six modules at 8 to 24 threads, and a corner fitted at 12"
    twins = {
        f"ddr4-2666-{size}g": _twin(
            f"ddr4-2666-{size}g", f"DDR4-2666 module, {size} GB", size, {"family": "dram"} | _ddr4_2666(), 0.12, why
        )
        for size in (16, 32)
    }
    for short, spec in _FASTER.items():
        name, device = f"{short}-32g", {"family": "dram"} | _faster(spec)
        twins[name] = _twin(name, f"{short.upper()} module, 32 GB", 32, device, 0.2, f"{why}; scaled from DDR4-2666")
    commit = "Trade press of the Micron 32 GB module (2017) and Haas and others, CIDR 2020: commit in about 0.3 us"
    nvdimm = {
        "family": "nvdimm",
        "persist_ns": parameter(300, "published", commit, "2020-01", low=100, high=500),
        "memory": _faster(_FASTER["ddr4-2933"]),
    }
    twins["nvdimm-n"] = _twin("nvdimm-n", "NVDIMM-N, DDR4-2933", 32, nvdimm, 0.25, f"{why}; scaled from DDR4-2666")
    for card in (_a1000(), _e3s(), _cz120(), _fpga()):
        twins[card["name"]] = card
    return twins
