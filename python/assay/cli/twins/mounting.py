"""`assay mount`."""

from __future__ import annotations

import os
from dataclasses import dataclass
from pathlib import Path

from assay.cli import output
from assay.error import BAD_JOB, DONE, AssayError
from assay.mount import play as mounts
from assay.mount.drive import drive
from assay.untyped import Json

INJECTED = "ASSAY_MOUNT_INJECTED_NS"
"""For tests of what judges lateness: every answer comes so much too late."""


@dataclass(frozen=True)
class MountFlags:
    """What was typed."""

    drive: str
    at: Path | None
    over: Path | None
    slow: float
    seed: int
    passing: bool
    volatile: bool
    cut: str = ""


def play(wish: MountFlags, as_json: bool) -> int:
    """Mounts, and waits until it is unmounted; returns the exit code."""
    one = mounts.Playing.start(job(wish), own_session=False)
    if as_json:
        output.emit(one.state)
    else:
        output.say(f"mounted: {one.state['at']} answers as {one.state['name']}, its files lie in {one.state['over']}")
        for note in one.state["notes"]:
            output.tell(f"note: {note}")
    state = _until_it_ends(one)
    if as_json:
        output.emit(state)
        return DONE
    for sentence in mounts.told(state):
        output.say(sentence)
    return DONE


def _until_it_ends(one: mounts.Playing) -> Json:
    """An interrupt at the terminal reaches the program too, which unmounts."""
    try:
        return one.wait()
    except KeyboardInterrupt:
        return one.end()


def job(wish: MountFlags) -> Json:
    """What the program is asked.

    Raises:
        AssayError: where drive or folder are missing.
    """
    if wish.passing:
        drive_name, at = "pass", wish.at or (Path(wish.drive) if wish.drive else None)
    else:
        drive_name, at = wish.drive, wish.at
    if not drive_name or at is None:
        hint = "for example: assay mount twin:970evoplus DIR --over FOLDER"
        raise AssayError("which drive, and where?", hint=hint, code=BAD_JOB)
    return {
        "at": str(at.expanduser().absolute()),
        "over": str(wish.over.expanduser().absolute()) if wish.over else None,
        "name": drive_name,
        "drive": "pass" if wish.passing else drive(drive_name),
        "seed": wish.seed,
        "slow": wish.slow,
        "sync_below": not wish.volatile,
        "cut": _cut(wish.cut),
        "injected_ns": int(os.environ.get(INJECTED, "0")),
        "ends_with_parent": True,
    }


def _cut(word: str) -> Json | str | None:
    """When the power is cut: 1000 (requests), 2.5s, or signal.

    Raises:
        AssayError: where it is none of them.
    """
    if not word:
        return None
    if word == "signal":
        return "on_signal"
    try:
        if word.endswith("s"):
            return {"after_seconds": float(word.removesuffix("s"))}
        return {"after_requests": int(word)}
    except ValueError as error:
        hint = "write a number of requests (--cut 1000), seconds (--cut 2.5s), or --cut signal (SIGUSR1)"
        raise AssayError(f"--cut {word} is no moment", hint=hint, code=BAD_JOB) from error


def tell(at: Path, as_json: bool) -> int:
    """Says what is played at a folder, or was; returns the exit code."""
    state = mounts.status(at)
    if as_json:
        output.emit(state)
        return DONE
    output.say(f"{state['at']} {'answers' if state['mounted'] else 'answered'} as {state['name']}")
    for sentence in mounts.told(state):
        output.say(sentence)
    return DONE
