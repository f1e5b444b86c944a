"""`assay.run`: a study from Python."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path

from assay.binary import Binary
from assay.error import BAD_JOB, INTERRUPTED, AssayError
from assay.notebook.frames import Frames
from assay.study import folder
from assay.study import run as study_run
from assay.study.consent import MUCH
from assay.study.observer import watching
from assay.study.request import Prepared, Wish, prepare
from assay.study.settings import Value
from assay.target.host import HostWish
from assay.target.target import DEVICES, Target, parse_all
from assay.units.parse import format_bytes

# What ran, for the note of the folder.
_COMMAND = ("assay.run",)


def run(
    study: str = "quick",
    on: str | Path | Sequence[str | Path] = ".",
    *,
    settings: Mapping[str, Value] | None = None,
    profile: str | None = None,
    repeats: int | None = None,
    seed: int = 1,
    host: str = "",
    out: str | Path | None = None,
    yes: bool = False,
) -> Frames:
    """Runs a study (a name or a file) on folders and twins, and gives its results.

    `settings` are those of `--set`, `out` the result folder, `host` names what drives twins, `yes` allows a run to
    write more than 50 GiB. Progress goes to standard error.

    Raises:
        AssayError: where the study or a target is not there, a target is a device (the command line asks for its serial
            number), too much would be written, or nothing was measured.
    """
    found = targets(on, host)
    wish = Wish(study, tuple(found), dict(settings or {}), profile, repeats, seed)
    binary = Binary.find()
    prepared = prepare(wish, binary)
    _agreed(prepared, yes)
    directory = Path(out) if out is not None else folder.default(prepared.name)
    summary = study_run.start(prepared, directory, binary, watching(json_wanted=False), _COMMAND)
    if summary.ending.interrupted:
        raise AssayError(f"interrupted; finished cells are in {directory}", hint=resumed(directory), code=INTERRUPTED)
    return Frames(directory)


def targets(on: str | Path | Sequence[str | Path], host: str = "") -> list[Target]:
    """What was named. A device is refused: Python has no way to type that it may be destroyed."""
    texts = [str(on)] if isinstance(on, (str, Path)) else [str(one) for one in on]
    found = parse_all(texts, (), yes_destroy=False, host=HostWish(host) if host else None)
    device = next((target for target in found if target.kind in DEVICES), None)
    if device is not None:
        hint = f"measure it by command: assay run STUDY --on {device.label} --serial SERIAL --yes-destroy"
        raise AssayError(f"measuring {device.label} destroys what is on it", hint=hint, code=BAD_JOB)
    return found


def resumed(directory: Path) -> str:
    """How a run continues."""
    return f"assay run --resume {directory}"


def _agreed(prepared: Prepared, yes: bool) -> None:
    if prepared.plan.bytes_written > MUCH and not yes:
        said = f"this run writes up to {format_bytes(prepared.plan.bytes_written)}"
        raise AssayError(said, hint="give yes=True if that is meant, or smaller settings", code=BAD_JOB)
