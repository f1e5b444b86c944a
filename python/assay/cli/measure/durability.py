"""`assay verify`: the writer is killed in mid-stream; what it was told is durable must be there."""

from __future__ import annotations

import random
import tempfile
import time
from dataclasses import dataclass
from pathlib import Path

from assay.binary import Binary, Run
from assay.cli import output
from assay.error import BAD_JOB, DONE, FAILED, AssayError
from assay.results.files import write_json
from assay.study import scratch
from assay.study.job import FORMAT_VERSION, path_spec
from assay.study.kinds import PathWord
from assay.target.target import parse
from assay.units.parse import parse_bytes
from assay.untyped import Json

_LONGEST_S = 600.0
_KILL_WITHIN_S = (0.2, 1.5)


@dataclass(frozen=True)
class Check:
    """What to check."""

    on: str
    path: str
    durability: str
    kills: int
    size: str
    data: str
    seed: int


def check(wanted: Check, as_json: bool) -> int:
    """Kills the writer `kills` times; exit code 1 where anything that was acknowledged is lost or corrupt."""
    binary, moments = Binary.find(), random.Random(wanted.seed)  # noqa: S311  Moments that can be repeated.
    rounds: list[Json] = []
    with tempfile.TemporaryDirectory(prefix="assay-verify-") as folder:
        for number in range(wanted.kills):
            job = _job(wanted, Path(folder) / f"acknowledged-{number}", number)
            rounds.append(_round(binary, job, Path(folder), moments.uniform(*_KILL_WITHIN_S)))
            if not as_json:
                output.say(_sentence(number + 1, rounds[-1]))
    bad = any(found["lost"] or found["corrupt"] for found in rounds)
    if as_json:
        output.emit({"path": wanted.path, "durability": wanted.durability, "passed": not bad, "rounds": rounds})
    return FAILED if bad else DONE


def _job(wanted: Check, acknowledgements: Path, number: int) -> Json:
    target = parse(wanted.on)
    if target.kind != "folder":
        raise AssayError(f"{wanted.on} is a {target.kind}", hint="name a folder with --on", code=BAD_JOB)
    size, data = parse_bytes(wanted.size), parse_bytes(wanted.data)
    return {
        "version": FORMAT_VERSION,
        "name": f"verify {wanted.path} {wanted.durability} #{number + 1}",
        "seed": wanted.seed + number,
        "targets": [target.job("main")],
        "datasets": [{"name": "verify", "target": "main", "bytes": data - data % size, "content": "stamped"}],
        "classes": [_writer(wanted, size)],
        "window": {"measure_s": _LONGEST_S},
        "checks": {"acknowledgements": str(acknowledgements)},
        "scratch": "assay-verify",
        "keep_scratch": True,
    }


def _writer(wanted: Check, size: int) -> Json:
    try:
        path = path_spec(PathWord().check(wanted.path))
    except ValueError as error:
        raise AssayError(f"--path: {error}", hint="`assay list paths` shows what there is", code=BAD_JOB) from error
    return {
        "name": "writer",
        "dataset": "verify",
        "path": path,
        "operation": {"kind": "write"},
        "pattern": {"kind": "uniform"},
        "size": size,
        "durability": {"kind": wanted.durability, "every": 1},
    }


def _round(binary: Binary, job: Json, folder: Path, after_s: float) -> Json:
    document = folder / "job.json"
    write_json(document, job)
    folders = [member for target in job["targets"] for member in target["members"]]
    try:
        with (folder / "log").open("wb") as log:
            _kill_in_midstream(binary.start(job, log), after_s, folder / "log")
        found: Json = binary.document("verify", str(document), accepted=(0, 1))
    finally:
        scratch.clean(binary, folders)
    return {"killed_after_s": round(after_s, 3), **found}


def _kill_in_midstream(run: Run, after_s: float, log: Path) -> None:
    """Ends the writer some time after its window opened."""
    opened: float | None = None
    last: Json = {}
    try:
        for last in run.events():
            if last["event"] == "interval" and last["at_s"] > 0:
                opened = opened or time.monotonic()
            if opened is not None and time.monotonic() - opened >= after_s:
                return
    finally:
        run.kill()
        run.wait()
    raise _ended_early(last, log)


def _ended_early(last: Json, log: Path) -> AssayError:
    if last.get("event") == "refused":
        return AssayError(str(last["reason"]), hint=str(last["fix"]), code=int(last["exit_code"]))
    from assay.binary import said

    reason, hint = said(log.read_text(errors="replace"))
    return AssayError(f"the writer ended by itself: {reason or 'it said nothing'}", hint=hint, code=FAILED)


def _sentence(number: int, found: Json) -> str:
    counts = f"{found['acknowledged']} acknowledged, {found['found']} found"
    if found["torn"]:
        counts += f", {found['torn']} torn by a write in flight"
    if not found["lost"] and not found["corrupt"]:
        return f"kill {number} after {found['killed_after_s']} s: {counts}: nothing was lost"
    return (
        f"kill {number} after {found['killed_after_s']} s: {counts}, {found['lost']} LOST, {found['corrupt']} CORRUPT"
    )
