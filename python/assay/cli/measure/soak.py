"""`assay soak`: a process that works on an index or the engine is killed, again and again."""

from __future__ import annotations

import random
import time
from dataclasses import dataclass
from pathlib import Path
from typing import Annotated, Any

import typer

from assay.study.work.engine import CommitDurability
from assay.study.work.index import INDEXES

Json = dict[str, Any]
Places = dict[str, Path]

_VERSION = 1
_ENGINE = "engine"
_STORES = (*INDEXES, _ENGINE)
_KILL_WITHIN_S = (0.0, 0.3)
_TELL_EVERY_S = 10.0


@dataclass(frozen=True)
class SoakFlags:
    """The flags of `assay soak`."""

    store: str
    on: Path
    log: Path | None
    pmem: Path | None
    logs: int | None
    durability: str
    kills: int
    threads: int
    keys: int
    seed: int


def soak(
    store: Annotated[
        str, typer.Argument(metavar="INDEX|engine", autocompletion=lambda: _STORES, help="Who is killed.")
    ],
    on: Annotated[Path, typer.Option("--on", metavar="DIR", help="Folder for its files.")] = Path(),
    kills: Annotated[int, typer.Option("--kills", min=1, help="How often the process is killed.")] = 20,
    threads: Annotated[int, typer.Option("--threads", min=1, max=64, help="Threads that work.")] = 2,
    keys: Annotated[int, typer.Option("--keys", min=1, help="Keys of each thread, a power of two.")] = 1024,
    durability: Annotated[
        CommitDurability, typer.Option("--durability", help="Of the engine.")
    ] = CommitDurability.FDATASYNC,
    log: Annotated[Path | None, typer.Option("--log", metavar="DIR", help="Folder for the engine's log.")] = None,
    pmem: Annotated[
        Path | None, typer.Option("--pmem", metavar="DIR", help="Persistent memory for the end of the engine's log.")
    ] = None,
    logs: Annotated[int | None, typer.Option("--logs", metavar="N", min=1, max=8, help="The engine's logs.")] = None,
    seed: Annotated[int, typer.Option("--seed", help="Of the moments at which it is killed.")] = 1,
    json: Annotated[bool, typer.Option("--json", help="One JSON document on standard output.")] = False,
) -> None:
    """Kill a process that works on an index or the engine, and check that what it acknowledged is there.

    For example: assay soak engine --on /mnt/a --kills 1000. Files are made in a folder of Assay's own and removed;
    where something is lost they stay, and the exit code is 1.
    """
    wanted = SoakFlags(store, on, log, pmem, logs, durability.value, kills, threads, keys, seed)
    raise typer.Exit(run(wanted, json))


def run(wanted: SoakFlags, as_json: bool) -> int:
    """Kills and looks; returns the exit code."""
    from assay import own
    from assay.binary import Binary
    from assay.cli import output
    from assay.error import BAD_JOB, DONE, FAILED, AssayError, did_you_mean

    if wanted.store not in _STORES:
        raise AssayError(f"there is no store `{wanted.store}`", hint=did_you_mean(wanted.store, _STORES), code=BAD_JOB)
    places = {role: _folder(place) for role, place in _places(wanted) if place is not None}
    made = {role: own.make(place, "assay-soak-") for role, place in places.items()}
    rounds = _Rounds(Binary.find(), wanted, made, as_json)
    try:
        whole = rounds.go()
    except Exception:
        # After a kill that it survived, what cannot be opened any more shows a defect. An interrupt shows none.
        if rounds.kills > 1:
            _keep(made)
        raise
    if not whole:
        _keep(made)
    if as_json:
        output.emit(rounds.document(whole))
    else:
        output.say(rounds.sentence(whole))
    return DONE if whole else FAILED


def _places(wanted: SoakFlags) -> list[tuple[str, Path | None]]:
    """The folders that were named, by what the job calls them."""
    return [("place", wanted.on), ("log", wanted.log), ("tail", wanted.pmem)]


def _keep(folders: Places) -> None:
    """What is not kept goes when this process ends, however it ends."""
    from assay import own

    for folder in folders.values():
        own.keep(folder)


class _Rounds:
    """Kills, one after the other, of a process that works on the same store."""

    def __init__(self, binary: Any, wanted: SoakFlags, made: Places, quiet: bool) -> None:
        self._binary = binary
        self._wanted = wanted
        self._made = made
        self._quiet = quiet
        self._finding: Json = {}
        self.kills = 0

    def go(self) -> bool:
        """Whether everything that was acknowledged was there after every kill."""
        from assay.cli import output

        moments = random.Random(self._wanted.seed)  # noqa: S311  Moments that can be repeated.
        job, told = _job(self._wanted, self._made), time.monotonic()
        while self.kills < self._wanted.kills:
            self.kills += 1
            self._finding = _kill(self._binary, job, self._made["place"], moments.uniform(*_KILL_WITHIN_S))
            if any(one["lost"] or one["corrupt"] for one in self._finding["datasets"]):
                return False
            if not self._quiet and time.monotonic() - told >= _TELL_EVERY_S:
                told = time.monotonic()
                output.tell(f"{self.kills} kills, {self._finding['turns']} turns acknowledged, nothing lost so far")
        return True

    def document(self, whole: bool) -> Json:
        """What `--json` prints."""
        wanted = self._wanted
        return {
            "store": wanted.store,
            "durability": wanted.durability if wanted.store == _ENGINE else None,
            "logs": (wanted.logs or 1) if wanted.store == _ENGINE else None,
            "passed": whole,
            "kills": self.kills,
            "seed": wanted.seed,
            "threads": wanted.threads,
            "kept": [] if whole else [str(folder) for folder in self._made.values()],
            **self._finding,
        }

    def sentence(self, whole: bool) -> str:
        """The same for people."""
        turns = f"{self._finding['turns']} turns acknowledged by {self._wanted.threads} threads"
        said = f"{self._wanted.store}: {self.kills} kills, {turns}"
        if whole:
            return f"{said}; nothing was lost, nothing is half there. Its structure: {self._finding['structure']}."
        [one] = self._finding["datasets"]
        folders = ", ".join(str(folder) for folder in self._made.values())
        counts = f"{one['lost']} LOST, {one['corrupt']} CORRUPT: {'; '.join(one['examples'])}"
        return f"{said}; {counts}. What shows it is kept in {folders}."


def _folder(place: Path) -> Path:
    from assay.error import BAD_JOB, AssayError

    if not place.is_dir():
        raise AssayError(f"{place} is no folder", hint="name a folder that exists", code=BAD_JOB)
    return place.resolve()


def _job(wanted: SoakFlags, made: Places) -> Json:
    job: Json = {
        "version": _VERSION,
        "name": f"turns-{wanted.store}",
        "store": wanted.store,
        "journal": str(made["place"] / "acknowledged"),
        "threads": wanted.threads,
        "keys": wanted.keys,
        **{role: str(folder) for role, folder in made.items()},
    }
    if wanted.store == _ENGINE:
        job["durability"] = wanted.durability
    if wanted.logs is not None:
        job["logs"] = wanted.logs
    return job


def _kill(binary: Any, job: Json, folder: Path, after_s: float) -> Json:
    """Starts the work, kills it some time after every thread has begun, and looks."""
    log, at_work, code = folder / "messages", False, 0
    with log.open("wb") as messages:
        process = binary.start(job, messages, ("soak", "work", "-"))
        try:
            at_work = any(event["event"] == "interval" for event in process.events())
            time.sleep(after_s if at_work else 0)
        finally:
            process.kill()
            code = process.wait()
    if not at_work:
        raise _refused(log.read_text(errors="replace"), code)
    found: Json = binary.document("soak", "check", "-", given=job, accepted=(0, 1))
    return found


def _refused(messages: str, code: int) -> Exception:
    from assay.binary import said
    from assay.error import FAILED, NOT_POSSIBLE, AssayError

    reason, hint = said(messages)
    return AssayError(
        reason or "the work ended by itself", hint=hint, code=code if 0 < code <= NOT_POSSIBLE else FAILED
    )
