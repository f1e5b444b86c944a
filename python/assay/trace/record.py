"""Recording: the best means that is allowed, and what it cannot know."""

from __future__ import annotations

import time
from collections.abc import Callable

from assay.error import BAD_JOB, FAILED, NOT_POSSIBLE
from assay.trace import calls, classes, counters, postgres, process, tracefs
from assay.trace.blocks import Reader
from assay.trace.classes import TracedClass
from assay.trace.error import TraceError
from assay.trace.found import FoundServer
from assay.trace.operation import OTHER, Recording, TracedOperation
from assay.trace.subject import Subject
from assay.untyped import Json

AUTO = "auto"
MEANS = ("block", "calls", "server", "counters")
"""From the one that knows most to the one that is always there; `calls` only where it is asked for."""
_TREE_EVERY_S = 0.5


class Watch:
    """Looks at the subject while it is recorded: follows its tasks, and sees when it ends or somebody interrupts."""

    def __init__(self, subject: Subject, interrupted: Callable[[], bool]) -> None:
        self._subject = subject
        self._interrupted = interrupted
        self._looked = 0.0
        self.pids: set[int] = set()
        self.tasks: set[int] = set()
        self.inodes: set[int] = set()
        self.stopped = ""

    def __call__(self) -> bool:
        """Whether it is enough."""
        if self._interrupted():
            self.stopped = "interrupted"
        pid = self._subject.pid
        if pid is not None and not process.alive(pid):
            self.stopped = f"process {pid} ended"
        elif pid is not None and time.monotonic() - self._looked >= _TREE_EVERY_S:
            self._looked = time.monotonic()
            self.pids |= set(process.tree(pid))
            self.tasks |= process.tasks(self.pids)
            self.inodes |= process.inodes(process.open_files(self.pids))
        return bool(self.stopped)


def choose(subject: Subject, wanted: str) -> tuple[str, dict[str, str]]:
    """The means, and why those before it were not taken.

    Raises:
        TraceError: where the one that was asked for is not possible, or none is.
    """
    tried: dict[str, str] = {}
    for means in MEANS if wanted == AUTO else (wanted,):
        reason = _why_not(subject, means)
        if not reason and (means != "calls" or wanted == means):
            return means, tried
        tried[means] = reason or "it stops the database at every call; ask for it with --means calls"
    reasons = "; ".join(f"{means}: {reason}" for means, reason in tried.items())
    hint = "as root more is possible; `assay trace --help` names the means"
    raise TraceError(f"{subject.sentence} cannot be recorded: {reasons}", hint=hint, code=NOT_POSSIBLE)


def _why_not(subject: Subject, means: str) -> str:
    if means == "block":
        return tracefs.why_not() if subject.devices else "its files lie on no block device"
    if means == "calls":
        return calls.why_not() if subject.pid is not None else "there is no process to follow"
    if means == "server":
        if subject.server is None or subject.server.connection is None:
            return "there is no connection to a server"
        return "" if subject.pid is None else "the device's counters know more of a server on this machine"
    if means == "counters":
        return "" if subject.devices or subject.pid is not None else "there is no device and no process"
    raise TraceError(f"`{means}` is no means", hint=f"one of {', '.join((AUTO, *MEANS))}", code=BAD_JOB)


def record(subject: Subject, seconds: float, wanted: str, interrupted: Callable[[], bool]) -> FoundServer:
    """Records for so long.

    Raises:
        TraceError: where nothing can be recorded, or nothing happened.
    """
    means, tried = choose(subject, wanted)
    watch = Watch(subject, interrupted)
    watch()
    server = _counts(subject)
    before = process.used(watch.pids)
    found = {"block": _blocks, "calls": _calls, "server": _server, "counters": _counters}[means](
        subject, seconds, watch
    )
    found.tried, found.stopped = tried, watch.stopped or found.stopped
    found.facts |= _facts(subject, watch, before, server)
    if not found.classes:
        message, hint = _nothing(subject, found)
        raise TraceError(message, hint=hint, code=FAILED)
    return found


def _nothing(subject: Subject, found: FoundServer) -> tuple[str, str]:
    message = f"{subject.sentence} made no operation in {found.seconds:.1f} s"
    ended = f", and then {found.stopped}" if found.stopped else ""
    hint = "record while it works, and longer (--duration)"
    if found.means == "block" and subject.pid is not None:
        hint += "; what the page cache answers is no block operation: --means calls sees that too"
    return f"{message}{ended}", hint


def _facts(subject: Subject, watch: Watch, before: process.Used, server: postgres.ServerCounts | None) -> Json:
    found: Json = {}
    if subject.pid is not None:
        used = process.used(watch.pids).since(before)
        found["process"] = vars(used)
        memory = process.memory_bytes(process.tree(subject.pid))
        if memory is not None:
            found["memory_bytes"] = memory
    if subject.server is not None and server is not None and not watch.stopped:
        now = _counts(subject)
        found["server"] = vars(now.since(server)) if now is not None else {}
    return found


def _blocks(subject: Subject, seconds: float, watch: Watch) -> FoundServer:
    before = process.used(watch.pids)
    with tracefs.Tracing() as tracing:
        lasted = tracing.record(seconds, watch)
        lost, full, lines = tracing.lost(), tracing.full, tracing.text().splitlines()
    used = process.used(watch.pids).since(before)
    own = watch.tasks if subject.pid is not None else None
    # A folder that only names a device may hold everything; a server's folders hold its files.
    folders = subject.server.folders if subject.server is not None and subject.pid is not None else []
    reader = Reader(subject.devices, own, _is_kernel, watch.inodes | process.inodes(folders))
    seen = reader.read(lines)
    guess = subject.pid is not None and not reader.knows_inodes
    share = _kernel_share(seen.operations, used.written_bytes) if guess else 1.0
    recording = Recording("block", lasted, seen.operations, kernel_share=share, lost=lost)
    sorted_out = classes.classes_of(recording)
    found = FoundServer("block", lasted, sorted_out.classes)
    found.stopped = "the recording had no room for more" if full else ""
    found.cannot_know = [
        "which file an operation was for: offsets are those of the device",
        "what the page cache answered: that is no block operation",
        *sorted_out.not_known(lasted),
    ]
    found.assumed = _assumed(share if guess else None, {one.name for one in found.classes})
    foreign = [one for one in seen.operations if one.origin == OTHER]
    found.facts = {
        "devices": [one.name for one in subject.devices],
        "operations": len(seen.operations) - len(foreign),
        "operations_of_others": len(foreign),
        "discards": sum(one.kind == "discard" for one in seen.operations),
        "events_lost": lost,
        "kernel_share": share,
        "sync_calls": reader.own_sync_calls() if tracing.with_sync_calls else None,
    }
    if lost:
        found.assumed.append(f"{lost:,} events were lost: rates are too low by that much")
    return found


def _assumed(share: float | None, names: set[str]) -> list[str]:
    found = ["a request is a read or write of the same size at the same relative place of a file of its own"]
    if "metadata" in names:
        found.append("all of the file system's own journal is the database's where a thread of the kernel writes it")
    if share is not None and "write-back" in names:
        found.append(
            f"of what the kernel wrote back {share:.0%} is the database's: what the process made dirty and "
            "did not write itself"
        )
    return found


def _kernel_share(operations: list[TracedOperation], dirtied: int) -> float:
    """The database's part of what the kernel's threads wrote: what it made dirty and did not write itself."""
    kernel = sum(one.bytes for one in operations if one.kind == "write" and one.origin == "kernel")
    own = sum(one.bytes for one in operations if one.kind == "write" and one.origin == "own" and not one.metadata)
    return min(1.0, max(0, dirtied - own) / kernel) if kernel else 1.0


def _is_kernel(task: int, comm: str) -> bool:
    """Workers of the kernel come and go: those that are gone are known by their names."""
    return process.is_kernel(task) or comm.startswith(("kworker", "jbd2", "kswapd", "xfsaild", "loop"))


def _calls(_: Subject, seconds: float, watch: Watch) -> FoundServer:
    lines, lasted = calls.follow(sorted(watch.pids), seconds, watch)
    reader = calls.Calls()
    recording = Recording("calls", lasted, reader.read(lines.splitlines()))
    seen = classes.classes_of(recording)
    found = FoundServer("calls", lasted, seen.classes, buffered=True)
    found.cannot_know = [
        "which calls the page cache answered: replay with the cache that the database has",
        "reads and writes of mapped files, and those by io_uring",
        "the pace without strace, which stops the database at every call",
        *seen.not_known(lasted),
    ]
    found.assumed = ["every file is a part of one file as large as what was touched"]
    if reader.guessed:
        found.assumed.append(f"{reader.guessed:,} reads or writes without an offset went on where the last one ended")
    found.facts = {"operations": len(recording.operations)}
    return found


def _server(subject: Subject, seconds: float, watch: Watch) -> FoundServer:
    before = _counts(subject)
    begun = time.monotonic()
    while (left := begun + seconds - time.monotonic()) > 0 and not watch():
        time.sleep(min(0.1, left))
    lasted = time.monotonic() - begun
    now = _counts(subject)
    seen = postgres.classes_of(now.since(before), lasted) if now is not None and before is not None else []
    found = FoundServer("server", lasted, seen, buffered=True)
    found.cannot_know = [
        "sizes beyond the page, offsets, concurrency, the distribution of gaps",
        "which reads the server's page cache answered",
    ]
    found.assumed = ["pages of 8 KiB at random, the log in order, one at a time, Poisson arrivals"]
    return found


def _counts(subject: Subject) -> postgres.ServerCounts | None:
    """What the server counted so far; none without a connection, or where it has gone away."""
    if subject.server is None or subject.server.connection is None:
        return None
    import psycopg

    try:
        return subject.server.counts()
    except psycopg.Error:
        return None


def _by_server(
    subject: Subject, classes_: list[TracedClass], before: postgres.ServerCounts | None, seconds: float
) -> list[TracedClass]:
    """Writes as the server counts them where it does: it knows its log from its pages."""
    now = _counts(subject) if before is not None else None
    if now is None or before is None:
        return classes_
    writes = [one for one in postgres.classes_of(now.since(before), seconds) if one.operation == "write"]
    return [*(one for one in classes_ if one.operation == "read"), *writes]


def _counters(subject: Subject, seconds: float, watch: Watch) -> FoundServer:
    before = process.used(watch.pids)
    server = _counts(subject)
    moved, lasted = counters.watch(subject.devices, seconds, watch)
    used = process.used(watch.pids).since(before) if subject.pid is not None else None
    found = FoundServer("counters", lasted, counters.classes_of(moved, used, lasted))
    found.classes = _by_server(subject, found.classes, server, lasted)
    found.cannot_know = [
        "the sizes of single requests: the mean stands for all",
        "offsets: order is guessed from merged requests and the mean size",
        "when single requests came: gaps are taken to be exponential",
    ]
    found.assumed = ["the data set is as large as what was moved meanwhile"]
    if subject.pid is not None:
        if server is None:
            found.cannot_know.append(
                "writes but from above: the kernel counts pages each time that they are made dirty"
            )
        found.assumed += [
            "requests of the process are as large as the device's mean, and as many at once",
            "flushes are the process's in the part that its writes have in all writes of the device",
        ]
    found.facts = {"devices": [one.name for one in subject.devices]}
    return found
