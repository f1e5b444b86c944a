"""`assay clean`: folders, databases with their servers, and drives that killed runs left behind."""

from __future__ import annotations

import errno
from collections.abc import Mapping, Sequence
from pathlib import Path

from assay.binary import Binary
from assay.cli import output
from assay.dbms import place
from assay.error import BAD_JOB, DONE, FAILED, AssayError
from assay.study import scratch


def clean_up(directories: Sequence[Path], as_json: bool) -> int:
    """Removes scratch folders and gives back drives whose owner is gone, and says so."""
    directories = [path.absolute().parent if _is_dead_mount(path) else path for path in directories]
    missing = next((path for path in directories if not path.is_dir()), None)
    if missing is not None:
        raise AssayError(f"{missing} is no folder", hint="name the folders that were measured", code=BAD_JOB)
    binary = Binary.find()
    drives = binary.document("polled", "clean", accepted=(DONE, FAILED))
    databases = [one for directory in directories for one in place.clean(directory.absolute())]
    others = scratch.clean(binary, [str(path.absolute()) for path in directories])
    found = [*others, *(one for one in databases if one["path"] not in {other["path"] for other in others})]
    if as_json:
        output.emit([*found, *drives])
        return _code(found, drives)
    for entry in found:
        output.say(_sentence(entry))
    for drive in drives:
        output.say(_drive_sentence(drive))
    if not found and not drives:
        output.say("nothing was left behind")
    return _code(found, drives)


def _is_dead_mount(path: Path) -> bool:
    """What a killed program has mounted cannot be asked; it is found through the folder above."""
    try:
        path.stat()
    except OSError as error:
        return error.errno == errno.ENOTCONN
    return False


def _code(found: Sequence[Mapping[str, object]], drives: Sequence[Mapping[str, object]]) -> int:
    """What is ours and cannot be removed is no success, nor is a drive that the kernel does not take back."""
    stays = any(entry.get("known") and entry.get("refused") for entry in found)
    return FAILED if stays or any(not drive.get("alive") and not drive.get("returned") for drive in drives) else DONE


def _drive_sentence(drive: Mapping[str, object]) -> str:
    name = f"the drive {drive.get('serial') or 'of a damaged note'} at {drive.get('address') or 'an unknown address'}"
    if drive.get("alive"):
        return f"{name} is in use and stays taken"
    if drive.get("returned"):
        return f"{name} is back with the kernel"
    return f"{name} could not be given back to the kernel: look at dmesg, then run this again as root"


def _sentence(entry: dict[str, object]) -> str:
    if entry.get("alive"):
        return f"{entry['path']} is in use and stays"
    if entry.get("refused"):
        return f"{entry['refused']}; {entry['fix']}"
    left = entry.get("left")
    if isinstance(left, list) and left:
        return f"{entry['path']} stays: it holds files that Assay did not make ({', '.join(map(str, left))})"
    if entry.get("mount"):
        return f"{entry['path']} was mounted by a program that was killed, and is not any more; its files stay"
    return f"{entry['path']} is removed"
