"""A job of fio's that replays a log, as the classes of I/O that the log holds."""

from pathlib import Path

from assay.fio.jobfile import FioError, JobSection
from assay.fio.options import CARRIED, QUEUED
from assay.trace import logs, scenario
from assay.trace.error import TraceError

# What the log itself says.
SAID_BY_LOG = frozenset(
    ("bs", "filename", "io_size", "numjobs", "runtime", "rw", "rwmixread", "rwmixwrite", "size", "time_based")
)


def asks(section: JobSection) -> bool:
    """Whether a job replays a log."""
    return section.text("read_iolog", "0") not in ("", "0")


def refused(section: JobSection, leave_out: bool) -> list[str]:
    """Options that say how a load is made, and nothing of how a log is replayed.

    Raises:
        FioError: where there are any, and none may be left out.
    """
    known = {*SAID_BY_LOG, "buffered", "direct", "directory", "iodepth", "ioengine", "read_iolog"}
    others = [one.place for one in section.options.values() if one.name in CARRIED - known]
    if others and not leave_out:
        said = f"[{section.name}] a log is replayed as it was recorded: {', '.join(others)}"
        raise FioError(said, "remove these lines, or leave them out with --leave-out")
    return [f"{one}: the log is replayed as it was recorded" for one in others]


def text(section: JobSection, name: str, folder: Path, said: list[str]) -> tuple[str, list[str]]:
    """The study, and what must be said about it.

    `folder` is where a log is looked for that is not in the current one, `said` what stands in the study besides.

    Raises:
        FioError: where the log cannot be read, or the job does not do what it says.
    """
    option = section.options["read_iolog"]
    log = Path(option.value)
    log = log if log.is_absolute() or log.exists() else folder / log
    depth = section.integer("iodepth", 1) if section.text("ioengine", "psync") in QUEUED else 1
    try:
        found = logs.read(log, depth)
    except TraceError as error:
        raise FioError(f"[{section.name}] {option.place}: {error.message}", error.hint) from error
    direct = section.flag("direct") or ("buffered" in section.options and not section.flag("buffered"))
    notes = [
        "read_iolog: the log becomes classes with its rates, sizes, order and flushes; no single operation is repeated",
        "ioengine: the log is replayed by io_uring and pread; --set path=libaio+direct takes another path",
        *(f"not known: {one}" for one in found.cannot_know),
        *(f"assumed: {one}" for one in found.assumed),
        *([f"{found.facts['discards']:,} trims of the log are left out"] if found.facts["discards"] else []),
        *([found.stopped] if found.stopped else []),
        *said,
    ]
    title = f"{name}, a log that a job file of fio replays"
    told = scenario.ScenarioFacts(name, title, f"{name}.fio, {log.name}", notes, found.seconds, buffered=not direct)
    return scenario.text(told, found.classes), notes
