"""`assay clean`."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

from assay.binary import Binary
from assay.cli import output
from assay.error import BAD_JOB, DONE, AssayError
from assay.study import scratch


def clean_up(directories: Sequence[Path], as_json: bool) -> int:
    """Removes scratch folders whose owner is gone, and says so."""
    missing = next((path for path in directories if not path.is_dir()), None)
    if missing is not None:
        raise AssayError(f"{missing} is no folder", hint="name the folders that were measured", code=BAD_JOB)
    found = scratch.clean(Binary.find(), [str(path.absolute()) for path in directories])
    if as_json:
        output.emit(found)
        return DONE
    for entry in found:
        output.say(_sentence(entry))
    if not found:
        output.say("nothing was left behind")
    return DONE


def _sentence(entry: dict[str, object]) -> str:
    if entry.get("alive"):
        return f"{entry['path']} is in use and stays"
    left = entry.get("left")
    if isinstance(left, list) and left:
        return f"{entry['path']} stays: it holds files that Assay did not make ({', '.join(map(str, left))})"
    return f"{entry['path']} is removed"
