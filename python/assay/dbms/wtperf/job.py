"""One workload on one target: filled once, then measured on a copy, with the page cache on, off or cold."""

from __future__ import annotations

import contextlib
import os
import signal
import subprocess
import time
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from assay.dbms import cold
from assay.dbms.target import Counters, DatabaseTarget
from assay.dbms.wtperf import parse
from assay.error import BAD_JOB, FAILED, AssayError, did_you_mean
from assay.rivals.wiredtiger import Program

MODES = ("on", "off", "cold")
# What keeps WiredTiger's files out of the page cache: it drops a file's pages after that many bytes of it. Its own
# direct_io option is read and does nothing in this version.
OFF_TABLE = "os_cache_max=1MB,os_cache_dirty_max=1MB"
OFF_CONNECTION = "mmap=false"
_SECTOR_BYTES = 512


class WtperfError(AssayError):
    """wtperf failed, or a workload is not known."""


@dataclass(frozen=True)
class WtperfWorkload:
    """A file of options, and changes to it."""

    name: str
    file: Path
    settings: tuple[str, ...] = ()

    @classmethod
    def find(cls, name: str, program: Program, settings: Sequence[str] = ()) -> WtperfWorkload:
        """A workload by name, out of the program's own, or a file."""
        path = Path(name)
        if path.suffix == ".wtperf" and path.is_file():
            return cls(path.stem, path.resolve(), tuple(settings))
        known = sorted(one.stem for one in program.runners.glob("*.wtperf")) if program.runners else []
        if name not in known:
            hint = did_you_mean(name, known) or "name a file that ends with .wtperf"
            raise WtperfError(f"there is no workload `{name}`", hint=hint, code=BAD_JOB)
        return cls(name, (program.runners or path) / f"{name}.wtperf", tuple(settings))

    def option(self, name: str) -> str:
        """What an option is set to; empty where it is not."""
        lines = [*self.file.read_text().splitlines(), *self.settings]
        found = [line.partition("=")[2].strip() for line in lines if line.partition("=")[0].strip() == name]
        return found[-1].strip('"') if found else ""


@dataclass(frozen=True)
class Measured:
    """One run. CPU seconds and bytes are those that the kernel counted for the process."""

    stat: parse.Stat
    latencies: dict[str, parse.Latencies]
    points: list[parse.IntervalLine]
    seconds: float
    cpu_s: float
    read_bytes: float
    written_bytes: float
    cleared: str


def fill(program: Program, workload: WtperfWorkload, home: Path, mode: str, limit_s: float) -> parse.Stat:
    """Fills a database in an empty folder."""
    home.mkdir()
    _run(program, workload, home, ["run_time=0", "run_ops=0", *_off(workload, mode)], limit_s)
    found = parse.stat((home / "test.stat").read_text(errors="replace"))
    if found.load_s is None and workload.option("create") != "false":
        raise WtperfError(f"wtperf filled nothing for {workload.name}", hint="look at its options", code=FAILED)
    return found


def measure(
    program: Program,
    workload: WtperfWorkload,
    home: Path,
    where: DatabaseTarget,
    mode: str,
    counters: Counters,
    limit_s: float,
) -> Measured:
    """Runs a workload on a copy of a filled database."""
    for name in ("test.stat", "monitor", "monitor.json", *(f"latency.{kind}" for kind in parse.TIMED)):
        (home / name).unlink(missing_ok=True)
    cleared = _prepare(home, where, mode)
    counters.open()
    begun = time.monotonic()
    options = ["create=false", "sample_interval=1", "sample_rate=1", "report_interval=1", *_off(workload, mode)]
    used = _run(program, workload, home, options, limit_s)
    counters.close(time.monotonic() - begun)
    return _read(home, used, cleared)


def _off(workload: WtperfWorkload, mode: str) -> list[str]:
    if mode != "off":
        return []
    table = ",".join(filter(None, (workload.option("table_config"), OFF_TABLE)))
    connection = ",".join(filter(None, (workload.option("conn_config"), OFF_CONNECTION)))
    return [f'table_config="{table}"', f'conn_config="{connection}"']


def _prepare(home: Path, where: DatabaseTarget, mode: str) -> str:
    if mode == "on":
        for path in cold.files_under(home):
            with path.open("rb") as file:
                while file.read(1 << 20):
                    pass
        return "all files were read before"
    if where.in_memory:
        return ""
    return cold.clear([home]).sentence


def _run(
    program: Program, workload: WtperfWorkload, home: Path, options: Sequence[str], limit_s: float
) -> tuple[float, ...]:
    """Wall and CPU seconds, bytes read and written."""
    command = [str(program.path), "-O", str(workload.file), "-h", str(home)]
    command += ["-o", ",".join([*workload.settings, *options])]
    libraries = os.pathsep.join(filter(None, (str(program.path.parent), os.environ.get("LD_LIBRARY_PATH", ""))))
    begun = time.monotonic()
    process = subprocess.Popen(
        command,
        stdin=subprocess.DEVNULL,
        stdout=subprocess.DEVNULL,
        stderr=subprocess.PIPE,
        start_new_session=True,
        env={**os.environ, "LD_LIBRARY_PATH": libraries},
    )
    try:
        said = _wait(process, limit_s)
        _, status, used = os.wait4(process.pid, 0)
        process.returncode = os.waitstatus_to_exitcode(status)
    except BaseException:
        with contextlib.suppress(ProcessLookupError):
            process.send_signal(signal.SIGKILL)
        process.wait()
        raise
    if process.returncode != 0:
        last = (said.strip().splitlines() or ["it said nothing"])[-1]
        message = f"wtperf ended with {process.returncode} on {workload.name}: {last}"
        raise WtperfError(message, hint="run it by hand with the same options, and read its words", code=FAILED)
    moved = (used.ru_inblock * _SECTOR_BYTES, used.ru_oublock * _SECTOR_BYTES)
    return time.monotonic() - begun, used.ru_utime + used.ru_stime, *map(float, moved)


def _wait(process: subprocess.Popen[bytes], limit_s: float) -> str:
    """Its last words, when it has closed its standard error: then it ends."""
    timer = signal.SIGKILL
    if process.stderr is None:
        return ""
    import threading

    watchdog = threading.Timer(limit_s, process.send_signal, [timer])
    watchdog.start()
    try:
        with process.stderr as stream:
            return stream.read()[-4000:].decode(errors="replace")
    finally:
        watchdog.cancel()


def _read(home: Path, used: tuple[float, ...], cleared: str) -> Measured:
    def text(name: str) -> str:
        path = home / name
        return path.read_text(errors="replace") if path.is_file() else ""

    found = parse.stat(text("test.stat"))
    if not found.complete:
        raise WtperfError("wtperf ended before its run was complete", hint="look at its options", code=FAILED)
    timed = {kind: parse.latencies(text(f"latency.{kind}")) for kind in parse.TIMED}
    points = parse.monitor_json(text("monitor.json")) or parse.monitor_csv(text("monitor"))
    seconds, cpu_s, read, written = used
    return Measured(found, timed, points, seconds, cpu_s, read, written, cleared)
