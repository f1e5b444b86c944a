"""The twins of memory in the catalog, made from published grids and figures.

`python -m assay.twin.memory_catalog` writes them, with `--check` it only compares.

Every number has its source beside it; what is computed here is computed from those.
"""

from __future__ import annotations

import sys
from collections.abc import Callable
from dataclasses import replace
from functools import cache
from pathlib import Path

from assay.home import catalog
from assay.twin.document import Table, curve, parameter, to_toml
from assay.twin.fit_grid import CONVOY_MODULES, fit_kind, hold_out
from assay.twin.grid_file import GIB, read_grid
from assay.twin.grid_model import bandwidth
from assay.twin.grid_operations import Known, Origin, operations
from assay.twin.volatile_catalog import volatile

GRID = Path("published/optane-pmem100-256g-1-2-modules.csv")
_PERMA = "PerMA-Bench (Benson, Papke, Rabl, PVLDB 15, 2022), grid of one and two 256 GB modules"
_PERMA_6 = "PerMA-Bench, published results of six 128 GB modules"
_PERMA_MIXED = "PerMA-Bench, published results, page_propagation"
_PERMA_DATE = "2022-08"
_FAST = "Yang, Kim, Hoseinzadeh, Izraelevitz, Swanson: An Empirical Guide, FAST 2020, data of the figures"
_FAST_2 = f"{_FAST}, figure 2"
_FAST_DATE = "2020-02"
_VANS = "LENS/VANS (Wang and others, MICRO 2020), pointer chasing on one module, data of the repository"
_LESSONS = "Wu and others, DaMoN 2020: two 512 GB modules read 10.6 and write 3.5 GB/s at 8 KiB"

# Published: GiB/s of six 128 GB modules, with the threads and the size at which each was seen.
_SIX_128 = {
    "sequential_read": (37.0, 16, 4096.0),
    "sequential_nt": (11.8, 8, 1024.0),
    "random_nt": (10.4, 16, 256.0),
    "random_read": (31.9, 32, 256.0),
}
_SIX_128_LINE = (9.5, 32, 64.0)


@cache
def known() -> Known:
    """The grid, fitted; each kind of access with its errors on points held out."""
    grid = read_grid(catalog() / GRID)
    fits = {kind: fit_kind(kind, points) for kind, points in sorted(grid.items())}
    return Known(fits, {kind: hold_out(kind, points) for kind, points in sorted(grid.items())})


def persistent() -> dict[str, Table]:
    """Modules of persistent memory by name."""
    origin = Origin("fitted", _PERMA, _PERMA_DATE)
    scaled_128 = Origin("fitted", f"{_PERMA}, scaled to {_PERMA_6}", _PERMA_DATE)
    scaled_512 = Origin("fitted", f"{_PERMA}, scaled to {_LESSONS}", "2020-06")
    scaled_200 = Origin(
        "fitted", f"{_PERMA}, times 1.15: Intel's slide promises up to 15 % more bandwidth (golem.de)", "2020-03"
    )
    return {
        "pmem100-128g": _pmem(
            "pmem100-128g", "Intel Optane PMem 100, 128 GB", 128, operations(known(), scaled_128, _scale_128()), 0.15
        ),
        "pmem100-256g": _pmem("pmem100-256g", "Intel Optane PMem 100, 256 GB", 256, operations(known(), origin), 0.2),
        "pmem100-512g": _pmem(
            "pmem100-512g", "Intel Optane PMem 100, 512 GB", 512, operations(known(), scaled_512, _scale_512()), 0.25
        ),
        "pmem200-256g": _second_generation(operations(known(), scaled_200, lambda _kind, _size: 1.15)),
    }


def _scale_128() -> Callable[[str, float], float]:
    """Factors that make six modules give what was published of six."""
    factors = {kind: _factor(kind, *seen) for kind, seen in _SIX_128.items()}
    line = _factor("random_read", *_SIX_128_LINE)
    writes = 0.5 * (factors["sequential_nt"] + factors["random_nt"])

    def scale(kind: str, size: float) -> float:
        if kind == "random_read" and size < 256.0:
            return line
        if kind == "random_read" and size >= 4096.0:
            return factors["sequential_read"]
        return factors.get(kind, writes)

    return scale


def _factor(kind: str, gib_per_s: float, threads: int, size: float) -> float:
    """Factor on the capacity of a module with which six give so much, by halving."""
    fit = known().fits[kind]
    wanted, low, high = gib_per_s * GIB, 0.2, 2.0
    for _ in range(60):
        middle = 0.5 * (low + high)
        each = fit.sizes[size]
        scaled = replace(each, module_bytes_per_s=each.module_bytes_per_s * middle)
        low, high = (middle, high) if bandwidth(fit.shape, scaled, 6, threads) < wanted else (low, middle)
    return 0.5 * (low + high)


def _scale_512() -> Callable[[str, float], float]:
    """Two modules at their peak, over what one 256 GB module gives at its size nearest to 8 KiB."""
    fits = known().fits
    reads = 10.6e9 / 2 / fits["sequential_read"].sizes[4096.0].module_bytes_per_s
    writes = 3.5e9 / 2 / fits["sequential_nt"].sizes[1024.0].module_bytes_per_s
    return lambda kind, _size: reads if kind.endswith("read") else writes


def _pmem(name: str, title: str, gigabytes: int, kinds: Table, band: float) -> Table:
    return {
        "version": 1,
        "name": name,
        "title": title,
        "capacity_bytes": parameter(gigabytes * 1e9, "datasheet", "Name of the product", "2019-04"),
        "notes": [
            "Latency is the idle latency of a dependent load by pointer chasing; PerMA-Bench's loop means 433 ns.",
            "Reads and writes are those of one socket on its own modules, interleaved at 4 KiB.",
            "Power budgets differ between machines: modules of FAST 2020 read 6.5 GB/s where those of the grid read 8.",
        ],
        "device": _device(kinds),
        "bounds": {
            "size_bytes": [64, 65536],
            "in_flight": [1, 32],
            "write_percent": [0, 100],
            "duration_s": [0, 86400],
        },
        "band": _band(band),
    }


def _device(kinds: Table) -> Table:
    return {
        "family": "pmem",
        "granule_bytes": parameter(256, "published", _FAST, _FAST_DATE),
        "interleave_bytes": parameter(4096, "published", _FAST, _FAST_DATE),
        "convoy_modules": parameter(
            CONVOY_MODULES,
            "assumed",
            "Three channels share a memory controller; six modules of FAST 2020 lie between groups of three and six",
            _FAST_DATE,
        ),
        "random_idle_share": curve(
            {512: 0.0, 1024: 0.04, 2048: 0.128, 4096: 0.228, 8192: 0.195, 16384: 0.128, 32768: 0.046, 65536: 0.0},
            "published",
            f"{_FAST}: random reads on six modules by size, over 256 B",
            _FAST_DATE,
        ),
        **_interference(),
        **_latencies(),
        "operations": kinds,
        "chains": _chains(),
        "stall": {
            "length_ns": parameter(51800, "published", f"{_VANS}: 114,000 cycles at 2.2 GHz", "2020-10"),
            "every_writes": parameter(14300, "published", f"{_VANS}: overwrites of one granule", "2020-10"),
        },
    }


def _interference() -> Table:
    """theta and lambda by the size of the writes: 16 readers beside 16 writers of unequal sizes.

    Least squares of the logarithm over what two, four and six 256 GB modules gave (256 B, 4 KiB and 16 KiB in all
    pairs; of six modules the three pairs of equal size), with what each gives alone by this model.
    """
    source = f"{_PERMA_MIXED}: 16 readers beside 16 writers on two, four and six 256 GB modules, by size written"
    reads, writes = {256.0: 1.974, 4096.0: 4.452, 16384.0: 8.078}, {256.0: 1.713, 4096.0: 2.628, 16384.0: 4.171}
    return {
        "read_interference": curve(reads, "fitted", source, _PERMA_DATE, residual=0.06),
        "write_interference": curve(writes, "fitted", source, _PERMA_DATE, residual=0.06),
    }


def _latencies() -> Table:
    perma = "PerMA-Bench, operation_latency of one and two modules: 99th percentile over median, idle to 32 threads"
    return {
        "sequential_latency_ns": parameter(169.4, "published", _FAST_2, _FAST_DATE),
        "latency": [
            {"working_set_bytes": 16384, "latency_ns": parameter(175, "published", f"{_VANS}: 2 KiB", "2020-10")},
            {
                "working_set_bytes": 16777216,
                "latency_ns": parameter(305, "published", _FAST_2, _FAST_DATE),
            },
            {
                "working_set_bytes": 1e18,
                "latency_ns": parameter(
                    374, "published", f"{_VANS}: lines of 64 B over 128 MiB", "2020-10", low=305, high=433
                ),
            },
        ],
        "read_tail": {
            "p99": parameter(1.9, "fitted", perma, _PERMA_DATE, low=1.5, high=3.2),
            "p999": parameter(4, "fitted", f"{perma} (between the 99th and the 99.99th)", _PERMA_DATE, low=2, high=9),
        },
        "write_tail": {
            "p99": parameter(5, "fitted", perma, _PERMA_DATE, low=2, high=13),
            "p999": parameter(10, "fitted", f"{perma} (between the 99th and the 99.99th)", _PERMA_DATE, low=4, high=25),
        },
    }


def _chains() -> Table:
    one = "PerMA-Bench, operation_latency of one module, one thread: one over the rate"
    return {
        "read_ns": curve({64: 211, 128: 227, 256: 242, 512: 277, 1024: 337}, "published", one, _PERMA_DATE),
        "write_ns": curve({64: 62, 256: 78, 512: 180}, "published", f"{one}, less that of the read", _PERMA_DATE),
        "dram_read_ns": curve(
            {512: 128, 1024: 178, 2048: 168},
            "published",
            "PerMA-Bench, hybrid_tree_index_lookup, likewise",
            _PERMA_DATE,
        ),
        "rewrite_granules": parameter(
            0.57, "published", "PerMA-Bench, double_flush_latency against operation_latency, 16 threads", _PERMA_DATE
        ),
        "overlapped_reads": parameter(3, "published", "PerMA-Bench, tree_index_lookup of three reads", _PERMA_DATE),
        "deep_factor": parameter(
            1.44, "published", "PerMA-Bench, tree_index_range_scan of seven reads of 512 B, one thread", _PERMA_DATE
        ),
    }


def _band(width: float) -> Table:
    source = "90th percentile of the errors on two modules of a fit to one (docs/twins-memory.md), rounded up"
    return {
        "bandwidth": parameter(width, "fitted", source, "2026-11"),
        "latency": parameter(0.3, "assumed", "Published methods differ by as much: 305, 374 and 433 ns", "2026-11"),
        "tail": parameter(1.5, "assumed", "Ratios of the tail spread as far between sizes and threads", "2026-11"),
    }


def _second_generation(kinds: Table) -> Table:
    twin = _pmem("pmem200-256g", "Intel Optane PMem 200, 256 GB", 256, kinds, 0.3)
    source = (
        "PerMA-Bench, published results: at 16 KiB 26 GiB/s are read beside 8.6 written, 6.8 in the first generation"
    )
    twin["device"]["read_interference"] = curve({256: 0.3, 16384: 0.5}, "assumed", source, _PERMA_DATE)
    twin["notes"].append("Scaled from the first generation; no grid of the second was at hand.")
    return twin


def documents() -> dict[str, Table]:
    """All twins of memory by name."""
    return persistent() | volatile()


def main(arguments: list[str]) -> int:
    """Writes the twins into the catalog, or says which differ with `--check`."""
    wrong = 0
    for name, document in documents().items():
        path, text = catalog() / "twins" / f"{name}.toml", to_toml(document)
        if "--check" in arguments:
            same = path.is_file() and path.read_text(encoding="utf-8") == text
            wrong += not same
        else:
            path.write_text(text, encoding="utf-8")
    return 1 if wrong else 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
