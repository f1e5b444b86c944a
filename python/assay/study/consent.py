"""Leave to destroy what is on a device: given on the command line for one command, and carried by no file."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, replace

from assay.error import BAD_JOB, AssayError
from assay.study.cell import Cell
from assay.study.work import declared
from assay.target.target import DEVICES
from assay.untyped import Json

MUCH = 50 << 30
"""Bytes that a run may write without being asked for."""
_CARRIED = ("serials", "yes_destroy")


@dataclass(frozen=True)
class Consent:
    """What was typed: serial numbers of devices, in their order, and that the devices may be destroyed."""

    serials: Sequence[str] = ()
    yes_destroy: bool = False


def without(job: Json) -> Json:
    """A job as it may stand in a file: its devices named, and leave to destroy them left out."""
    return _changed(job, lambda target: {key: target[key] for key in target if key not in _CARRIED})


def _changed(job: Json, change: Callable[[Json], Json]) -> Json:
    """A job with each of its targets changed."""
    targets = job.get("targets")
    found = {"targets": [change(one) for one in targets]} if isinstance(targets, list) else {}
    return job | found | {seat: change(job[seat]) for seat in declared.SEATS if seat in job}


def destroyed(cells: Iterable[Cell]) -> list[str]:
    """Members of devices that cells may destroy, in the order in which they come first."""
    found: dict[str, None] = {}
    for cell in cells:
        for target in (*cell.job.get("targets", ()), *(cell.job.get(seat, {}) for seat in declared.SEATS)):
            if target.get("yes_destroy"):
                found |= dict.fromkeys(map(str, target["members"]))
    return list(found)


def given(cells: Sequence[Cell], devices: Sequence[str], consent: Consent, command: str) -> list[Cell]:
    """Cells with the consent that was typed laid into their jobs.

    Raises:
        AssayError: where the run may destroy devices and that was not allowed again, or a serial number is of none.
    """
    if not devices and (consent.serials or consent.yes_destroy):
        message = "this run writes to no device, and --serial and --yes-destroy were given"
        raise AssayError(message, hint="leave them out", code=BAD_JOB)
    if devices and not consent.yes_destroy:
        words = " ".join(["--serial SERIAL"] * len(devices))
        message = f"this run destroys what is on {', '.join(devices)}, and leave for that is carried by no file"
        raise AssayError(message, hint=f"if that is meant: {command} {words} --yes-destroy", code=BAD_JOB)
    if len(consent.serials) > len(devices):
        message = f"--serial {consent.serials[len(devices)]} belongs to no device of this run"
        raise AssayError(message, hint=f"give one for each, in this order: {', '.join(devices)}", code=BAD_JOB)
    serials = dict(zip(devices, consent.serials, strict=False))
    allowed = set(devices)
    return [replace(cell, job=_changed(cell.job, lambda target: _allowed(target, serials, allowed))) for cell in cells]


def _allowed(target: Json, serials: dict[str, str], devices: set[str]) -> Json:
    members = [str(member) for member in target.get("members", ())]
    if target.get("kind", DEVICES[0]) not in DEVICES or not members or not set(members) <= devices:
        return target
    named = [serials[member] for member in members if member in serials]
    return target | {"yes_destroy": True} | ({"serials": named} if len(named) == len(members) else {})
