"""A program run once: what it printed, and the CPU that it used, measured the same way for every program."""

import json
import os
import shutil
import signal
import subprocess
import tempfile
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cache
from pathlib import Path

from assay import home
from assay.error import NOT_POSSIBLE, AssayError
from assay.record import Record
from assay.untyped import Json


@dataclass(frozen=True)
class ProcessRun:
    """What a program printed, its CPU seconds (user and kernel, its threads and children too) and cycles."""

    text: str
    cpu_s: float
    cycles: float | None


def run(
    command: Sequence[str],
    given: str = "",
    environment: Mapping[str, str] | None = None,
    codes: Sequence[int] = (0,),
) -> ProcessRun:
    """Runs a program to its end, with one of these exit codes. Cycles come from perf where the machine has counters."""
    counted = Path(tempfile.mkstemp(prefix="assay-perf-")[1]) if counters_work() else None
    try:
        wrapped = ["perf", "stat", "-x,", "-e", "cycles", "-o", str(counted), "--", *command] if counted else command
        text, cpu_s = _wait(list(wrapped), given, dict(environment or os.environ), codes)
        return ProcessRun(text, cpu_s, _cycles(counted.read_text()) if counted else None)
    finally:
        if counted:
            counted.unlink()


def _wait(command: list[str], given: str, environment: dict[str, str], codes: Sequence[int]) -> tuple[str, float]:
    with tempfile.TemporaryFile("w+") as said, tempfile.TemporaryFile("w+") as complained:
        with tempfile.TemporaryFile("w+") as told:
            told.write(given)
            told.seek(0)
            process = subprocess.Popen(command, stdin=told, stdout=said, stderr=complained, env=environment)
        try:
            _, status, usage = os.wait4(process.pid, 0)
        except BaseException:
            process.send_signal(signal.SIGINT)
            process.wait()
            raise
        process.returncode = os.waitstatus_to_exitcode(status)
        said.seek(0)
        complained.seek(0)
        text = said.read()
        if process.returncode not in codes:
            raise AssayError(_complaint(command, process.returncode, text, complained.read()))
        return text, usage.ru_utime + usage.ru_stime


def _complaint(command: list[str], code: int, text: str, complaint: str) -> str:
    lines = (complaint.strip() or text.strip() or "it said nothing").splitlines()
    return f"{Path(command[0]).name} ended with exit code {code}: {lines[-1][:500]}"


@cache
def counters_work() -> bool:
    """Whether perf is here and counts cycles, the kernel's included, without slowing what it counts."""
    if shutil.which("perf") is None or _bends():
        return False
    command = ["perf", "stat", "-x,", "-e", "cycles", "-o", "/dev/stdout", "--", "true"]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    return done.returncode == 0 and _cycles(done.stdout) is not None and ":u" not in done.stdout


def _bends() -> bool:
    """Whether counters slow what they count on this machine."""
    done = subprocess.run([str(home.binary()), "counting"], capture_output=True, text=True, check=False)
    return done.returncode == 0 and bool(json.loads(done.stdout).get("bends"))


def _cycles(text: str) -> float | None:
    for line in text.splitlines():
        fields = line.split(",")
        if len(fields) > 2 and fields[2].startswith("cycles") and fields[0].isdigit():
            return float(fields[0])
    return None


def fio_program() -> str:
    """fio's path."""
    found = shutil.which("fio")
    if found is None:
        raise AssayError("fio is not installed", hint="sudo apt-get install fio", code=NOT_POSSIBLE)
    return found


def fio_version() -> str:
    """As fio says it."""
    return run([fio_program(), "--version"]).text.strip()


def fio(options: Mapping[str, object], environment: Mapping[str, str] | None = None) -> tuple[Json, ProcessRun]:
    """Runs one job of fio's; gives the job's part of its JSON report."""
    command = [fio_program(), "--output-format=json", *(f"--{name}={value}" for name, value in options.items())]
    done = run(command, environment={**os.environ, **(environment or {})})
    job: Json = report(done.text)["jobs"][0]
    return job, done


def report(text: str) -> Json:
    """fio's JSON report; warnings may stand before it."""
    document: Json = json.loads(text[text.index("{") :]) if "{" in text else {"jobs": []}
    if not document["jobs"]:
        raise AssayError(f"fio ended without a report: {text.strip()[-500:]}")
    for job in document["jobs"]:
        if job.get("error"):
            raise AssayError(f"fio reports error {job['error']}: {os.strerror(job['error'])}")
    return document


def assayer(job: Json) -> tuple[Record, ProcessRun]:
    """Runs a job; gives its record."""
    done = run([str(home.binary()), "run", "-"], json.dumps(job))
    events = [json.loads(line) for line in done.text.splitlines() if line.startswith("{")]
    for event in events:
        if event.get("event") == "finished":
            record: Record = event["record"]
            return record, done
    raise AssayError("assayer ended without a record")


def prepare(job: Json) -> None:
    """Prepares a job's data sets and runs no load; removes them where the job does not keep its scratch folder."""
    run([str(home.binary()), "prepare", "-"], json.dumps(job))


def document(*arguments: str) -> Json:
    """What a command of the measuring program prints."""
    found: Json = json.loads(run([str(home.binary()), *arguments]).text)
    return found
