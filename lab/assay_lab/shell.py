"""`assay lab shell`: a person in the guest."""

from __future__ import annotations

import contextlib
import sys
import termios
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path

from assay.error import BAD_JOB, DONE

from assay_lab import guest
from assay_lab.error import GuestError, LabError
from assay_lab.lab import Lab
from assay_lab.qemu import Share


def shell(lab: Lab) -> int:
    """Gives this terminal to the guest until it is switched off."""
    if not sys.stdin.isatty():
        hint = "call it on a terminal; `assay lab run` needs none"
        raise LabError("the lab's shell needs a terminal", hint=hint, code=BAD_JOB)
    share = Share("share", lab.share)
    spec = replace(lab.spec, mode="shell", console=None, shares=[*lab.spec.shares, share])
    log = lab.folder / "qemu.log"
    with _terminal(), log.open("wb") as stream:
        process = guest.start(spec, stream, own_session=False)
        try:
            code = process.wait()
        finally:
            process.kill()
            process.wait()
    if code != 0:
        raise GuestError(f"QEMU ended with exit code {code}: {_said(log)}")
    return DONE


@contextlib.contextmanager
def _terminal() -> Iterator[None]:
    """The terminal is afterwards as it was, also where QEMU was killed."""
    before = termios.tcgetattr(sys.stdin)
    try:
        yield
    finally:
        termios.tcsetattr(sys.stdin, termios.TCSADRAIN, before)


def _said(log: Path) -> str:
    lines = log.read_text(errors="replace").strip().splitlines()
    return lines[-1] if lines else "it said nothing"
