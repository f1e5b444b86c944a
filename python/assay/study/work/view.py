"""Work records for people: a table of the parts, the figures, what was found."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from rich.console import Console
from rich.table import Table

from assay.record import Figure
from assay.results import bound
from assay.results.reasons import title
from assay.results.work import RATES
from assay.units import show as units
from assay.untyped import Json


def show(record: Mapping[str, Any], console: Console) -> None:
    """Prints a record: its heading, one row per part, its figures, its checks and its verdict."""
    console.print(_heading(record), highlight=False)
    if record["parts"]:
        console.print(_parts(record["parts"]))
    for name, figure in record["figures"].items():
        console.print(f"  {label(name)}: {said(figure)}", highlight=False)
    for line in _findings(record):
        console.print(f"  {line}", highlight=False, markup=False)


#: Figures that stand beside a rate, where all records have them.
_BESIDE = (
    *("cycles_per_transaction", "device_read_bytes_per_transaction", "device_written_bytes_per_transaction"),
    *("tier_dram_share", "tier_in_place_share", "tier_brought_up_share", "tier_drive_share"),
)


def beside(records: Mapping[str, Mapping[str, Any]]) -> Table:
    """Records by their names beside each other, one row each: rate, what it cost, verdict."""
    names = [name for name in _BESIDE if any(name in record["figures"] for record in records.values())]
    table = Table(box=None, pad_edge=False)
    for column in ("", "rate", *(label(name) for name in names), "verdict"):
        table.add_column(column, justify="left" if column in ("", "verdict") else "right")
    for name_, record in records.items():
        figures = record["figures"]
        rate = next((said(figures[rate]) for rate in RATES if rate in figures), "-")
        cells = [said(figures[name]) if name in figures else "-" for name in names]
        table.add_row(name_, rate, *cells, record["verdict"]["status"])
    return table


def _heading(record: Mapping[str, Any]) -> str:
    places = ", ".join(f"{one['role']} on {one['target']}" for one in record["targets"])
    subject = f"{record['subject']['name']} {record['subject']['version']}".strip()
    return f"{record['workload']['name']} on {subject} ({places}; durability {record['durability']})"


def _parts(parts: list[Json]) -> Table:
    table = Table(box=None, pad_edge=False)
    for name in ("", "done", "empty", "failed", "p50", "p99"):
        table.add_column(name, justify="left" if not name else "right")
    # A figure that only some parts have stands in the record.
    names = [name for name in parts[0]["figures"] if all(name in one["figures"] for one in parts)][:5]
    for name in names:
        table.add_column(label(name), justify="right")
    for one in parts:
        table.add_row(*_part(one), *(said(one["figures"][name]) for name in names))
    return table


def _part(one: Json) -> list[str]:
    latency = one.get("response") or one.get("service")
    times = [bound.time(latency, key) for key in ("p50_ns", "p99_ns")] if latency else ["", ""]
    counts = [units.count(one[key]) for key in ("succeeded", "empty", "failed")]
    return [one["name"], *counts, *times]


def _findings(record: Mapping[str, Any]) -> list[str]:
    failed = [one for one in record["checks"] if not one["passed"]]
    lines = [f"check {one['name']} failed: {one['evidence']}" for one in failed]
    if record["checks"] and not failed:
        lines.append(f"all {len(record['checks'])} checks passed")
    lines += [f"not measured: {one['what']}: {one['reason']}" for one in record["not_measured"]]
    lines.append(f"verdict: {record['verdict']['status']}")
    return lines + [f"{title(one['code'])}: {one['evidence']}" for one in record["verdict"]["reasons"]]


def first_failed(record: Mapping[str, Any]) -> str:
    """The first check of a record that failed, with its evidence; empty where all passed."""
    return next((f"{one['name']}: {one['evidence']}" for one in record["checks"] if not one["passed"]), "")


_SUFFIXES = ("_per_s", "_bytes", "_ns", "_s", "_share", "_ratio")


def label(name: str) -> str:
    """A figure's name without its unit, for people: `transactions_per_s` reads `transactions`."""
    for suffix in _SUFFIXES:
        if name.endswith(suffix) and name != suffix:
            return name.removesuffix(suffix).replace("_", " ")
    return name.replace("_", " ")


def said(figure: Figure) -> str:
    """A figure in the unit that fits, marked where it was not measured, with its band where it has one."""
    text = _valued(float(figure["value"]), str(figure["unit"]))
    band = figure.get("band")
    if band:
        text += f" ({_valued(band['low'], figure['unit'])} to {_valued(band['high'], figure['unit'])})"
    return text if figure["provenance"] == "measured" else f"{text} {figure['provenance']}"


def _valued(value: float, unit: str) -> str:
    if unit == "s":
        return units.time(value * 1e9)
    if unit == "ns":
        return units.time(value)
    if unit == "bytes":
        return units.size(value)
    if unit == "bytes/s":
        return units.rate(value)
    if unit == "ops/s":
        return f"{units.count(value)}/s"
    if unit in ("count", "ratio", "1/op"):
        return units.count(value)
    return f"{units.significant(value)} {unit}"
