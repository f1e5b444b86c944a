"""Who has most for the dollar, in sentences: at which sizes of DRAM, and with which spread."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Sequence
from typing import Any

from assay.index.seen import PointFigures
from assay.untyped import Json

# A thread of an index in memory never waits without its CPU: where it had less, somebody else had it.
UNDISTURBED = 0.9
PROVENANCES = (
    "Rates that are emulated or measured are this machine's, with the price of the hardware that is named;"
    " modelled ones are what its twin leaves of them."
)


def groups_of(rows: Sequence[Json]) -> list[list[Json]]:
    groups: dict[tuple[Any, ...], list[Json]] = defaultdict(list)
    for row in rows:
        groups[row["workload"], row["threads"], row["provenance"], row["dram_modules"]].append(row)
    return list(groups.values())


def answers(rows: Sequence[Json]) -> list[str]:
    """Who has most for the dollar, at which sizes of DRAM, with which spread: a sentence for each workload, number of
    threads and winner; those for the hardware that is named come first."""
    found: dict[tuple[Any, ...], dict[str, list[list[Json]]]] = defaultdict(lambda: defaultdict(list))
    for group in groups_of(rows):
        first = group[0]
        found[first["workload"], first["threads"], first["provenance"]][_name(first)].append(group)
    lines = []
    for (workload, threads, provenance), winners in sorted(found.items(), key=lambda one: one[0][2] != "modelled"):
        for name, groups in winners.items():
            many = "thread" if threads == 1 else "threads"
            where = f"{workload}, {threads} {many} ({provenance}), with {_sizes(groups)} of DRAM"
            lines.append(f"{where}: {name} has most for the dollar, {_lead(groups[0])}.")
    return lines


def _sizes(groups: Sequence[Sequence[Json]]) -> str:
    sizes = sorted(int(group[0]["dram_gb"]) for group in groups)
    words = [str(size) for size in sizes]
    return f"{', '.join(words[:-1])} and {words[-1]} GB" if len(words) > 1 else f"{words[0]} GB"


def _lead(rows: Sequence[Json]) -> str:
    """What the first one gives for a dollar at the smallest of its sizes, and whether it can be called ahead."""
    first = rows[0]
    gives = f"{_spread(first)} ops/s per USD at {first['dram_gb']} GB"
    rival = next((row for row in rows[1:] if row["index"] != first["index"]), None)
    if rival is None:
        return f"{gives}; no other index was run"
    sure = min(first["repeats"], rival["repeats"]) > 1 and first["r_low"] > rival["r_high"]
    return f"{gives}, {'ahead of' if sure else 'not shown to be ahead of'} {_name(rival)} with {_spread(rival)}"


def _spread(row: Json) -> str:
    middle, low, high = (_number(row[name]) for name in ("r", "r_low", "r_high"))
    return middle if low == high else f"{middle} ({low} to {high})"


def _number(value: float) -> str:
    return f"{value:,.0f}" if value >= 100 else f"{value:.3g}"


def _name(row: Json) -> str:
    """The index, where it lies, and, on a drive, how much of it lies in the pool."""
    held = f" ({row['pool_share']:.0%} of it in its pool)" if not row["in_memory"] else ""
    return f"{row['index']} on {row['storage']}{held}"


def cautions(runs: Sequence[PointFigures], data_bytes: float) -> list[str]:
    """What keeps the answer from being a better one."""
    lines = []
    if not data_bytes and not all(run.in_memory for run in runs):
        what = "DRAM is paid for here and does nothing"
        lines.append(f"{what}: with --data BYTES it is the pool of indexes on a drive, and says which size of it pays.")
    if any(len(run.rates) < 2 for run in runs):
        what = "Some runs were made once, so nobody is called ahead of them"
        lines.append(f"{what}: make them again with --seed 2 into the same folder.")
    disturbed = sum(run.in_memory and run.utilisation < UNDISTURBED for run in runs)
    if disturbed:
        what = f"{disturbed} of {len(runs)} runs had less than {UNDISTURBED:.0%} of their CPUs: other work ran"
        lines.append(f"{what}. Their emulated rates are too low; modelled ones rest on CPU time and hardly suffer.")
    return lines


def best_places(rows: Sequence[Json]) -> list[Json]:
    """Of each group, each index where it gives most."""
    best: list[Json] = []
    for group in groups_of(rows):
        first: dict[str, Json] = {}
        for row in group:
            first.setdefault(row["index"], row)
        best += first.values()
    return best
