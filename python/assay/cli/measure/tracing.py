"""`assay trace`: records, writes the scenario, and says what was seen and what was not."""

from __future__ import annotations

import platform
import signal
import sys
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path
from types import FrameType

from rich.console import Console
from rich.table import Table

from assay.cli import output
from assay.error import BAD_JOB, DONE, FAILED, INTERRUPTED
from assay.results.files import write_atomically
from assay.study.source import parse
from assay.trace import logs, scenario
from assay.trace.classes import TracedClass
from assay.trace.error import TraceError
from assay.trace.found import FoundServer
from assay.trace.record import record
from assay.trace.subject import Subject, subject_of
from assay.units import show
from assay.units.parse import parse_seconds
from assay.untyped import Json

_MEANS = {
    "block": "requests as the block layer saw them (tracepoints of the kernel)",
    "calls": "system calls as strace saw them",
    "server": "the server's own counts",
    "counters": "counters of the device and of the process",
    "iolog": "its own log of what it asked for",
    "blktrace": "requests as blktrace saw them",
}


@dataclass(frozen=True)
class TraceOrder:
    """What was typed."""

    pid: int | None
    pg: str
    paths: Sequence[Path]
    log: Path | None
    duration: str
    out: Path | None
    means: str
    force: bool
    json: bool


def run_trace(order: TraceOrder) -> int:
    """Records and writes; returns the exit code."""
    if order.log is not None:
        return _of_log(order, order.log)
    seconds = parse_seconds(order.duration)
    if not 0.1 <= seconds <= 86_400:
        raise TraceError(f"{order.duration} is no length of a recording", hint="0.1s to 24h", code=BAD_JOB)
    subject = subject_of(order.pid, order.pg, order.paths)
    try:
        out = _free(order.out or Path(f"{scenario.name_of(subject.name)}.toml"), order.force)
        output.tell(f"recording {subject.sentence} for {order.duration}")
        with _interrupts() as interrupted:
            found = record(subject, seconds, order.means, lambda: bool(interrupted))
    finally:
        subject.close()
    _keep(order, subject, found, out)
    return _code(found, seconds)


def _of_log(order: TraceOrder, log: Path) -> int:
    """A scenario out of a file; returns the exit code."""
    if order.pid is not None or order.pg or order.paths or order.means != "auto":
        hint = "--from takes --out, --force and --json"
        raise TraceError("a file was recorded already: nothing is left to choose", hint=hint, code=BAD_JOB)
    subject = Subject(log.stem, log=log)
    out = _free(order.out or Path(f"{scenario.name_of(subject.name)}.toml"), order.force)
    found = logs.read(log)
    _keep(order, subject, found, out)
    if found.stopped:
        output.tell(f"warning: {found.stopped}")
    return DONE


def _keep(order: TraceOrder, subject: Subject, found: FoundServer, out: Path) -> None:
    """Writes the scenario and shows it."""
    text = scenario.text(_facts(subject, found), found.classes)
    parse(text, str(out))  # What is written can be read again.
    write_atomically(out, lambda draft: _write(draft, text))
    if order.json:
        output.emit(_document(subject, found, out))
    else:
        _show(subject, found, out)


def _write(draft: Path, text: str) -> None:
    draft.write_text(text, encoding="utf-8")


def _free(out: Path, force: bool) -> Path:
    if out.suffix != ".toml":
        hint = "`assay run` knows a scenario of yours by that ending"
        raise TraceError(f"{out} does not end in .toml", hint=hint, code=BAD_JOB)
    if not out.absolute().parent.is_dir():
        raise TraceError(f"there is no folder {out.parent}", hint="make it first", code=BAD_JOB)
    if out.exists() and not force:
        raise TraceError(f"{out} is there already", hint="another --out, or --force", code=BAD_JOB)
    return out


@contextmanager
def _interrupts() -> Iterator[list[int]]:
    """An interrupt ends the recording and keeps it; a second one ends the program."""
    seen: list[int] = []

    def note(number: int, frame: FrameType | None) -> None:
        del frame
        if seen:
            raise KeyboardInterrupt
        seen.append(number)

    before = {number: signal.signal(number, note) for number in (signal.SIGINT, signal.SIGTERM)}
    try:
        yield seen
    finally:
        for number, handler in before.items():
            signal.signal(number, handler)


def _code(found: FoundServer, seconds: float) -> int:
    if not found.stopped or found.seconds >= seconds:
        return DONE
    output.tell(f"warning: {found.stopped} after {found.seconds:.1f} of {seconds:g} s; the scenario covers that time")
    return INTERRUPTED if found.stopped == "interrupted" else FAILED


def _facts(subject: Subject, found: FoundServer) -> scenario.ScenarioFacts:
    when = datetime.now(UTC).strftime("%Y-%m-%d %H:%M UTC")
    host = f"{platform.node()}, Linux {platform.release()}"
    verb = "read" if subject.log is not None else "recorded"
    source = f"{verb} by assay trace from {subject.sentence} on {host}, {when}, {found.seconds:.1f} s, by "
    notes = [
        f"Seen by {_MEANS[found.means]}: provenance measured. The laws of arrival and the data sets are Assay's model.",
        *(f"Not used: {means}, for {reason}." for means, reason in found.tried.items()),
        *(f"Cannot be known by it: {text}." for text in found.cannot_know),
        *(f"Assumed: {text}." for text in found.assumed),
        "Open loop: operations come at the rate that was recorded, however slow the target; --set load=2 doubles it.",
        "Sizes between two powers of two are a part of both: number and bytes stay, single sizes do not.",
        "Offsets are spread over files of the size that was touched; --set data=SIZE takes the database's own size.",
        *([f"Ended early: {found.stopped}."] if found.stopped else []),
    ]
    title = f"What {subject.name} asked for"
    name = scenario.name_of(subject.name)
    return scenario.ScenarioFacts(name, title, source + found.means, notes, found.seconds, found.buffered)


def _document(subject: Subject, found: FoundServer, out: Path) -> Json:
    return {
        "scenario": str(out),
        "subject": {"name": subject.name, "pid": subject.pid, "devices": [one.name for one in subject.devices]},
        "means": found.means,
        "seconds": found.seconds,
        "stopped": found.stopped or None,
        "not_used": found.tried,
        "cannot_know": found.cannot_know,
        "assumed": found.assumed,
        "classes": [one.document() for one in found.classes],
        "facts": found.facts,
    }


def _show(subject: Subject, found: FoundServer, out: Path) -> None:
    output.say(f"{subject.sentence}, {found.seconds:.1f} s, by {_MEANS[found.means]}:")
    table = Table(box=None, pad_edge=False)
    names = ("", "operation", "order", "ops/s", "bandwidth", "mean size", "in flight", "arrivals", "flushes/s", "p99")
    for name in names:
        table.add_column(name, justify="left" if name in ("", "operation", "order", "arrivals") else "right")
    for one in found.classes:
        table.add_row(*_row(one))
    Console(file=sys.stdout, highlight=False, width=None if sys.stdout.isatty() else 120).print(table)
    for means, reason in found.tried.items():
        output.say(f"  not used: {means}: {reason}")
    for text in found.cannot_know:
        output.say(f"  not known: {text}")
    for text in found.assumed:
        output.say(f"  assumed: {text}")
    if found.facts.get("operations_of_others"):
        output.say(f"  left out: {found.facts['operations_of_others']:,} requests of other programs")
    output.say(f"scenario in {out}; replay it: assay run {out} --on DIR, or --on twin:NAME")


def _row(one: TracedClass) -> list[str]:
    order = "sequential" if one.sequential else "random"
    if one.hot is not None:
        order = f"{one.hot[0]}% on {one.hot[1]}%"
    return [
        one.name,
        one.operation,
        order,
        show.count(one.rate_per_s),
        f"{show.size(one.bytes_per_s)}/s",
        show.size(one.mean_bytes),
        f"{one.mean_depth:.1f}",
        f"burst of {one.burst}" if one.arrivals == "burst" else one.arrivals,
        show.count(one.flushes_per_s) if one.flushes_per_s else "-",
        show.time(one.latency_s[1] * 1e9) if one.latency_s else "-",
    ]
