"""Records of TPC-H for people: a row per query and a column per target and protocol."""

from __future__ import annotations

from collections.abc import Sequence

from rich.console import Console
from rich.table import Table

from assay.record import WorkPart, WorkRecord
from assay.results.repeats import together
from assay.results.work import Work
from assay.units import show as units


def show(found: Sequence[WorkRecord], console: Console) -> None:
    """Prints medians of the repeats, then what records say of the whole."""
    records = [work.record for work in together(Work("", one) for one in found)]
    places = list(dict.fromkeys(_place(record) for record in records))
    records.sort(key=lambda record: places.index(_place(record)))
    first = records[0]
    head = f"TPC-H-like, scale factor {first['workload']['parameters']['scale']:g}, on {first['subject']['name']}"
    console.print(f"{head} {first['subject']['version']} (not comparable with published TPC results)")
    console.print(_table(records))
    for record in records:
        for line in _said(record):
            console.print(line, markup=False)


def _table(records: Sequence[WorkRecord]) -> Table:
    """Times of all; how much the first record's runs waited and read, their class and the node that dominates."""
    table = Table(box=None, pad_edge=False)
    for name in ("query", *(_name(record) for record in records), "waits", "read"):
        table.add_column(name, justify="left" if name == "query" else "right")
    table.add_column("class")
    table.add_column("dominant node")
    for name in dict.fromkeys(part["name"] for record in records for part in record["parts"]):
        parts = [next((part for part in record["parts"] if part["name"] == name), None) for record in records]
        table.add_row(name, *map(_time, parts), *_character(parts[0]))
    return table


def _name(record: WorkRecord) -> str:
    return f"{_place(record)} {record['workload']['parameters']['protocol']}"


def _place(record: WorkRecord) -> str:
    return next(str(one["target"]) for one in record["targets"] if one["role"] == "data")


def _time(part: WorkPart | None) -> str:
    if part is None:
        return ""
    return units.time(part["figures"]["time_s"]["value"] * 1e9) if part["figures"] else "failed"


def _character(part: WorkPart | None) -> tuple[str, str, str, str]:
    if part is None or not part["figures"]:
        return "", "", "", ""
    figures, facts = part["figures"], part.get("facts") or {}
    waits = f"{figures['wait_ratio']['value']:.0%}" if "wait_ratio" in figures else ""
    read = units.size(figures["device_read_bytes"]["value"])
    return waits, read, facts.get("class", ""), facts.get("dominant_node", "").partition(" (")[0]


def _said(record: WorkRecord) -> list[str]:
    figures, parameters = record["figures"], record["workload"]["parameters"]
    lines = []
    if "sum_s" in figures:
        whole, geometric = (units.time(figures[name]["value"] * 1e9) for name in ("sum_s", "geometric_mean_s"))
        lines.append(f"{_name(record)}: sum {whole}, geometric mean {geometric}")
    if "compared_in_words" in parameters:
        mean, speedup = (figures[name]["value"] for name in ("sum_of_first_ratio", "mean_speedup_ratio"))
        lines.append(f"  {parameters['compared_in_words']}")
        lines.append(f"  {mean:.2f}x the summed time; mean of the speed-ups over the first target {speedup:.2f}")
    failed = [one for one in record["checks"] if not one["passed"]]
    lines += [f"  check {one['name']} failed: {one['evidence']}" for one in failed]
    answered = sum(one["name"].startswith("answer-") and one["passed"] for one in record["checks"])
    lines.append(f"  {answered} answers are those of {parameters['answers_checked_by']}")
    lines += [f"  not measured: {one['what']}: {one['reason']}" for one in record["not_measured"]]
    lines.append(
        f"  {record['verdict']['status']}" + "".join(f"; {r['evidence']}" for r in record["verdict"]["reasons"])
    )
    return lines
