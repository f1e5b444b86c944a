"""What a host does in a fleet: it looks at itself, plans, prepares, runs a cell, and gives away what it left."""

from __future__ import annotations

import contextlib
import hashlib
import os
import platform
import resource
import tempfile
import time
from collections.abc import Iterator
from functools import cache
from importlib import metadata
from pathlib import Path
from typing import IO

from assay.binary import Binary, Run, said
from assay.document.identifier import Identifier
from assay.error import AssayError
from assay.fleet import once
from assay.fleet.error import FleetError
from assay.fleet.once import Start
from assay.study import folder, outcome, request, scratch
from assay.study.cell import Cell
from assay.study.settings import parse_settings
from assay.target.host import from_settings
from assay.target.target import DEVICES, parse_all
from assay.untyped import Json
from assay.version import __version__


class UnderWay:
    """The run of this worker that is under way, so that it can be told to finish."""

    def __init__(self) -> None:
        self._run: Run | None = None
        self.stopped = False

    @contextlib.contextmanager
    def watch(self, run: Run) -> Iterator[None]:
        """While it runs."""
        self._run, self.stopped = run, False
        try:
            yield
        except BaseException:
            run.kill()
            run.wait()
            raise
        finally:
            self._run = None

    def stop(self) -> None:
        """It finishes what it is at, and keeps that."""
        self.stopped = True
        if (run := self._run) is not None:
            run.interrupt()


UNDER_WAY = UnderWay()


def look(_: Json) -> Json:
    """Who this is: what must be alike on all hosts."""
    return {
        **versions(),
        "node": platform.node(),
        "boot": Path("/proc/sys/kernel/random/boot_id").read_text().strip(),
        "kernel": platform.release(),
        "assayer_sha256": digest(Binary.find().path),
        "cpus": len(os.sched_getaffinity(0)),
        "user": os.geteuid(),
    }


def versions() -> Json:
    """Of Assay, and of what carries its words."""
    return {"assay": __version__, "dask": metadata.version("distributed")}


@cache
def digest(path: Path) -> str:
    """SHA-256 of a program."""
    with path.open("rb") as opened:
        return hashlib.file_digest(opened, "sha256").hexdigest()


def examine(asked: Json) -> Json:
    """The doctor's findings of this host."""
    from assay.machine import diagnosis
    from assay.machine.facts import gather

    targets = [str(Path(one).absolute()) for one in asked["on"] or ["."] if Path(one).exists()]
    return diagnosis.document(diagnosis.examine(gather(targets)))


def plan_cells(asked: Json) -> Json:
    """The plan as it is on this host, where its folders are looked at. Nothing is touched."""
    settings = parse_settings(asked["settings"])
    targets = tuple(parse_all(asked["on"], (), False, from_settings("", settings)))
    if device := next((one.label for one in targets if one.kind in DEVICES), None):
        message = f"{device} is a device, and a fleet run is on folders, files, memory, null and twins"
        raise FleetError(message, "measure devices host by host: leave to destroy is given on each of them")
    with _study(asked) as name:
        wish = request.Wish(name, targets, settings, asked["profile"], asked["repeats"], asked["seed"])
        prepared = request.prepare(wish, Binary.find())
    # On storage that hosts share, none takes another's data for its own.
    whose = f"{asked['run']}:{asked['host']}".encode()
    scratch_name = f"assay-scratch-{hashlib.sha256(whose).hexdigest()[:8]}"
    document = prepared.plan.document()
    for cell in document["cells"]:
        cell["job"] |= {"scratch": scratch_name}
    study = folder.study_document(prepared.requests, prepared.plan, asked["command"])
    return {"name": prepared.name, "plan": document, "study": study, "left_out": list(prepared.left_out)}


@contextlib.contextmanager
def _study(asked: Json) -> Iterator[str]:
    """The study's name; where its text came along, a file of it."""
    if not asked["text"]:
        yield asked["study"]
        return
    with tempfile.TemporaryDirectory(prefix="assay-fleet-") as place:
        path = Path(place) / f"{Identifier.parse(Path(asked['study']).stem, 'name of a study')}.toml"
        path.write_text(asked["text"], encoding="utf-8")
        yield str(path)


def prepare(asked: Json) -> Json:
    """Makes the data of a cell, so that nothing is left to make when all begin; how long it took."""
    job = _allowed(asked["job"])
    begun = time.monotonic()
    with _log() as log, scratch.held(_folders(job)):
        returned = Binary.find().start(job, log, ("prepare", "-")).wait()
        if returned:
            message, hint = said(_text(log))
            raise AssayError(message or f"preparing ended with exit code {returned}", hint=hint, code=returned)
    return {"seconds": time.monotonic() - begun}


def run(asked: Json) -> Json:
    """Runs a cell at its moment and keeps what it left, until that is taken."""
    start, job = Start.of(asked["start"]), _allowed(asked["job"])
    with once.begun(start) if _writes(job) else contextlib.nullcontext(), scratch.held(_folders(job)):
        before = _cpu_s()
        ended = measured(job)
        found: Json = {
            "state": ended.state,
            "record": ended.record,
            "reason": ended.reason,
            "fix": ended.fix,
            "exit_code": ended.exit_code,
            "worker_cpu_s": _cpu_s() - before,
            "attempt": start.attempt,
        }
        if ended.record is not None:
            once.keep(start, found)
    return found


def measured(job: Json) -> outcome.Outcome:
    """What a job leaves, as a run has it."""
    with _log() as log:
        started = Binary.find().start(job, log)
        with UNDER_WAY.watch(started):
            last = None
            for event in started.events():
                last = event if event["event"] in ("finished", "refused") else last
            returned = started.wait()
        return outcome.read(last, returned, UNDER_WAY.stopped, said(_text(log))[0])


def kept(asked: Json) -> list[Json | None]:
    """What finished cells left here, for each that is asked for."""
    return [once.kept(Start.of(one)) for one in asked["starts"]]


def finish(asked: Json) -> Json:
    """Removes data and notes of a run."""
    cleaned = scratch.clean(Binary.find(), asked["folders"])
    for one in asked["starts"]:
        once.forget(Start.of(one))
    return {"cleaned": len(cleaned)}


def _allowed(job: Json) -> Json:
    """A job as a fleet may order it: on no device, and with no file written beside its data."""
    kinds = {str(target.get("kind")) for target in job.get("targets", ())}
    if strange := sorted(kinds & set(DEVICES)):
        raise FleetError(f"a fleet's job is on no {strange[0]}", "measure devices host by host")
    if (job.get("checks") or {}).get("acknowledgements"):
        raise FleetError("a fleet's job writes no journal of acknowledgements", "run `assay verify` on that host")
    return job


def _writes(job: Json) -> bool:
    """Whether a job changes what lies on its targets."""
    stored = any(target["kind"] == "folder" for target in job["targets"])
    return stored and any(one["operation"]["kind"] != "read" for one in job["classes"])


def _folders(job: Json) -> list[str]:
    cell = Cell("job", "job", "all", 1, {}, job)
    return scratch.folders_of_cells([cell])


def _cpu_s() -> float:
    """CPU seconds of this process, without the programs that it started."""
    used = resource.getrusage(resource.RUSAGE_SELF)
    return used.ru_utime + used.ru_stime


@contextlib.contextmanager
def _log() -> Iterator[IO[bytes]]:
    with tempfile.TemporaryFile() as log:
        yield log


def _text(log: IO[bytes]) -> str:
    log.seek(0)
    return log.read().decode(errors="replace")
