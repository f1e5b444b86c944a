"""Workloads of the engine, as studies ask for them, in the measuring program's words."""

from __future__ import annotations

from collections.abc import Callable

from assay.units.parse import parse_bytes
from assay.untyped import Json


def tpcc(warehouses: int = 1, small: bool = False) -> Json:
    """TPC-C's five transactions; `small` takes a hundredth of each warehouse."""
    return {"kind": "tpcc", "warehouses": warehouses, "small": small}


def ycsb(rows: int = 1_000_000, value: str = "120", reads: float = 1.0, zipf: float = 0.0) -> Json:
    """Single rows with values of `value` bytes; `reads` is the share that is read, 0 to 1, and `zipf` the skew."""
    return {"kind": "ycsb", "read_share": reads, "zipf": zipf} | _rows(rows, value)


def scan(rows: int = 1_000_000, value: str = "120") -> Json:
    """All rows in order, again and again."""
    return {"kind": "scan"} | _rows(rows, value)


def ledger(value: str = "120") -> Json:
    """Numbered transactions of a kept database."""
    return {"kind": "ledger", "value_bytes": int(parse_bytes(value))}


def _rows(rows: int, value: str) -> Json:
    return {"rows": rows, "value_bytes": int(parse_bytes(value))}


#: What a study can declare.
DECLARED: dict[str, Callable[..., Json]] = {
    "engine-tpcc": tpcc,
    "engine-ycsb": ycsb,
    "engine-scan": scan,
    "engine-ledger": ledger,
}
