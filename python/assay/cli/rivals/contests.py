"""`assay rivals bench` is short for a study of contests: what was typed as a study, and what its pairs came to."""

from __future__ import annotations

import sys
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from statistics import median
from typing import Any

from rich.console import Console
from rich.table import Table

from assay.bench.beside import ContestResult, Missing, admit, met, results
from assay.bench.contest import Contest, named, place_of
from assay.bench.meeting import KIND, OURS, RIVAL
from assay.bench.reading import GOOD
from assay.cli import output
from assay.cli.measure.order import RunFlags, measured
from assay.cli.runners import written
from assay.error import DONE, FAILED, INTERRUPTED
from assay.results.files import read_json
from assay.study import plan
from assay.study.model import Study
from assay.study.run import Summary
from assay.units import show


@dataclass(frozen=True)
class ContestFlags:
    """The flags of `assay rivals bench`; `words` are those of a contest's `[work]`."""

    contests: Sequence[str]
    rivals: Sequence[str]
    words: Mapping[str, Any]
    threads: Sequence[int]
    repeats: int
    on: Path | None
    out: Path | None
    seed: int
    dry_run: bool
    json: bool


def run_contests(asked: ContestFlags) -> int:
    """Runs them, those in memory apart where no folder is named, and shows them; returns the exit code."""
    contests = named(asked.contests)
    rivals = admit(asked.rivals, contests, asked.words["durability"])
    found: list[ContestResult | Missing] = []
    by_place: dict[Path, list[Contest]] = {}
    for contest in contests:
        by_place.setdefault(place_of(contest, asked.on), []).append(contest)
    for place, here in by_place.items():
        study = _study(asked, here, rivals)
        if study is None:
            continue
        out = asked.out / (place.name or "here") if asked.out is not None and len(by_place) > 1 else asked.out
        flags = RunFlags(study, [str(place)], out, seed=asked.seed, dry_run=asked.dry_run, json=asked.json, yes=True)
        summary = measured(flags)
        if summary is None:
            continue
        found += _found(summary)
        output.tell(f"records in {summary.directory}/work")
        if summary.ending.interrupted:
            output.tell(f"go on with it: assay run --resume {summary.directory}")
            return INTERRUPTED
    if asked.dry_run:
        return DONE
    if asked.json:
        output.emit([one.document() for one in found])
    else:
        _show(found, asked.repeats, asked.seed)
    return FAILED if all(isinstance(one, Missing) for one in found) else DONE


def _study(asked: ContestFlags, contests: Sequence[Contest], rivals: Sequence[str]) -> Study | None:
    meetings = [
        {"name": f"{contest.name}: {ours} beside {rival}", "contest": contest.name, "ours": ours, "rival": rival}
        for contest, ours, rival in met(contests, rivals)
    ]
    if not meetings:
        return None
    table = {"kind": KIND, **asked.words, "keys_seed": asked.seed}
    table |= {key: f"${{meeting.{key}}}" for key in ("contest", "ours", "rival")}
    matrix = {"meeting": meetings, "threads": asked.threads, "side": (OURS, RIVAL)}
    question = "Which does more, and with what CPU?"
    return written(("contests", "rivals bench"), question, asked.repeats, table, matrix)


def _found(summary: Summary) -> list[ContestResult | Missing]:
    cells = plan.load(summary.directory / "plan.json").in_file_order
    paths = {cell.id: cell.record_in(summary.directory) for cell in cells}
    records = {name: read_json(path) for name, path in paths.items() if path.is_file()}
    return list(results(cells, records, summary.not_measured))


def _show(found: list[ContestResult | Missing], repeats: int, seed: int) -> None:
    results = [one for one in found if not isinstance(one, Missing)]
    console = Console(file=sys.stdout, highlight=False, width=None if sys.stdout.isatty() else 160)
    with output.to_reader():
        console.print(_table(results))
        for name in dict.fromkeys(one.rival for one in results if one.differences):
            sentences = dict.fromkeys(word for one in results if one.rival == name for word in one.differences)
            console.print(f"What is not the same for {name}: {' '.join(sentences)}", markup=False)
        console.print(
            f"Medians of {repeats} pairs in random order (seed {seed}). Ratios are Assay's figure to the rival's, with "
            "95 % intervals: of operations a second more, of CPU an operation less is better for Assay.",
            markup=False,
        )
        for one in results:
            bad = sorted({word for words in one.verdicts for word in words if word != GOOD})
            if bad:
                console.print(f"{one.contest}, {one.ours} and {one.rival}: {', '.join(bad)}", markup=False)
        for other in found:
            if isinstance(other, Missing):
                console.print(_unmeasured(other), markup=False)


def _unmeasured(one: Missing) -> str:
    return f"{one.contest}, {one.ours} and {one.rival}: not measured: {one.reason} ({one.fix or 'no remedy is known'})"


def _table(results: list[ContestResult]) -> Table:
    table = Table(box=None, pad_edge=False)
    for head in (
        "contest",
        "threads",
        "pool",
        "Assay",
        "durability",
        "/s",
        "rival",
        "durability",
        "/s",
        "ratio",
        "CPU ratio",
    ):
        table.add_column(
            head, no_wrap=True, justify="right" if head in ("threads", "pool", "/s", "ratio", "CPU ratio") else "left"
        )
    for one in results:
        (ours, theirs), (durable, durable_too) = one.per_s, one.durability
        ratios = [
            f"{found.median:.2f} ({found.low:.2f} to {found.high:.2f})" if found.low else f"{found.median:.2f}"
            for found in (one.faster, one.dearer)
        ]
        rates = show.count(median(ours)), show.count(median(theirs))
        table.add_row(
            one.contest,
            str(one.threads),
            show.size(one.pool_bytes) if one.pool_bytes else "memory",
            one.ours,
            durable,
            rates[0],
            one.rival,
            durable_too,
            rates[1],
            *ratios,
        )
    return table
