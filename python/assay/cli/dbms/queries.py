"""`assay dbms tpch`: what was asked, done and shown."""

from __future__ import annotations

import sys
from collections.abc import Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from rich.console import Console
from rich.table import Table

from assay.cli import output
from assay.cli.playing import played
from assay.dbms.postgres.user import server_users
from assay.dbms.progress import Progress
from assay.dbms.sqlserver.settings import from_flags
from assay.dbms.tpch import data, engines, query, run
from assay.error import BAD_JOB, AssayError, did_you_mean
from assay.units import show as units
from assay.units.parse import parse_bytes, parse_seconds

Json = dict[str, Any]
_HOT = {"pagecache": run.HOT, "sharedbuffers": run.HOT_BUFFERS}


@dataclass(frozen=True)
class WantedQueries:
    """The flags of `assay dbms tpch`."""

    engine: str
    scale: str
    on: Sequence[str]
    wal: str
    temp: str
    cold: bool
    hot: bool
    cold_by: str
    hot_in: str
    queries: str
    repeats: int
    seed: int | None
    data: Path | None
    limit: str
    buffers: str
    pg_bin: Path | None
    pg_settings: Sequence[str]
    index: str
    freeze_costs: bool
    connect: str
    hybrid_buffer_pool: str
    affinity: str
    recovery_interval: int | None
    json: bool


def wanted_of(flags: Json) -> WantedQueries:
    """The flags, as they were typed or kept."""
    taken = dict(flags)
    for name in ("data", "pg_bin"):
        taken[name] = Path(taken[name]) if taken[name] else None
    return WantedQueries(on=taken.pop("on") or ["."], pg_settings=tuple(taken.pop("pg_set") or ()), **taken)


def run_tpch(wanted: WantedQueries, progress: Progress) -> int:
    """Runs TPC-H and shows it; returns the exit code."""
    order = _order(wanted, progress)
    others = server_users() if wanted.engine == "postgres" else ()
    with played(order.on, wanted.seed or 1, others, goes_on=bool(progress.steps)) as drives:
        outcome = run.run(replace(order, on=drives.on), output.tell)
    drives.tell()
    drives.mark_files(progress.folder / "work")
    outcome.records = [drives.mark(record) for record in outcome.records]
    if wanted.json:
        output.emit(outcome.records)
    else:
        with output.to_reader():
            show(outcome.records, _console())
    if outcome.records:
        output.tell(f"{len(outcome.records)} records in {progress.folder / 'work'}")
    if outcome.goes_on:
        output.tell(f"go on with it: assay dbms tpch --resume {progress.folder}")
    return outcome.exit_code


def _console() -> Console:
    """A file or a pipe has no width: tables take what they need."""
    return Console(file=sys.stdout, highlight=False, width=None if sys.stdout.isatty() else 160)


def _order(wanted: WantedQueries, progress: Progress) -> run.TpchFlags:
    scale = data.scale_of(wanted.scale)
    wish = engines.QueryWish(
        name=wanted.engine,
        temp=_folder(wanted.temp),
        wal=_folder(wanted.wal),
        limit_s=parse_seconds(wanted.limit),
        buffers_bytes=parse_bytes(wanted.buffers) if wanted.buffers else None,
        pg_bin=wanted.pg_bin,
        pg_settings=wanted.pg_settings,
        index=_folder(wanted.index),
        freeze_costs=wanted.freeze_costs,
        connect=wanted.connect,
        evict=_evicts(wanted.cold_by),
        sqlserver=from_flags(wanted.hybrid_buffer_pool, wanted.affinity, wanted.recovery_interval),
    )
    return run.TpchFlags(
        engine=wish,
        on=wanted.on,
        scale=scale,
        protocols=_protocols(wanted),
        queries=query.chosen(wanted.queries),
        repeats=wanted.repeats,
        seed=wanted.seed,
        progress=progress,
        files=wanted.data,
        temp=wanted.temp,
        wal=wanted.wal,
        index=wanted.index,
    )


def _folder(name: str) -> Path | None:
    if not name:
        return None
    path = Path(name).expanduser().resolve()
    if not path.is_dir():
        raise AssayError(f"{name} is no folder", hint="name a folder that is there", code=BAD_JOB)
    return path


def _evicts(word: str) -> bool:
    ways = ("restart", "evict")
    if word not in ways:
        raise AssayError(f"buffers are not emptied by `{word}`", hint=did_you_mean(word, ways), code=BAD_JOB)
    return word == "evict"


def _protocols(wanted: WantedQueries) -> tuple[str, ...]:
    if wanted.hot_in not in _HOT:
        hint = did_you_mean(wanted.hot_in, _HOT)
        raise AssayError(f"data cannot be hot in `{wanted.hot_in}`", hint=hint, code=BAD_JOB)
    both = wanted.cold == wanted.hot
    return (*((run.COLD,) if wanted.cold or both else ()), *((_HOT[wanted.hot_in],) if wanted.hot or both else ()))


def show(records: Sequence[Json], console: Console) -> None:
    """Prints a row per query and a column per target and protocol, then what each record says of the whole."""
    if not records:
        return
    first = records[0]
    head = f"TPC-H-like, scale factor {first['workload']['parameters']['scale']:g}, on {first['subject']['name']}"
    console.print(f"{head} {first['subject']['version']} (not comparable with published TPC results)")
    console.print(_table(records))
    for record in records:
        for line in _said(record):
            console.print(line, markup=False)


def _table(records: Sequence[Json]) -> Table:
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


def _name(record: Json) -> str:
    target = next(one["target"] for one in record["targets"] if one["role"] == "data")
    return f"{target} {record['workload']['parameters']['protocol']}"


def _time(part: Json | None) -> str:
    if part is None:
        return ""
    return units.time(part["figures"]["time_s"]["value"] * 1e9) if part["figures"] else "failed"


def _character(part: Json | None) -> tuple[str, str, str, str]:
    if part is None or not part["figures"]:
        return "", "", "", ""
    figures, facts = part["figures"], part.get("facts") or {}
    waits = f"{figures['wait_ratio']['value']:.0%}" if "wait_ratio" in figures else ""
    read = units.size(figures["device_read_bytes"]["value"])
    return waits, read, facts.get("class", ""), facts.get("dominant_node", "").partition(" (")[0]


def _said(record: Json) -> list[str]:
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
