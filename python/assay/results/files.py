"""Writing results so that a crash or a full disk never harms what is there already."""

from __future__ import annotations

import errno
import json
import os
from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING, Any

from assay.document import limits
from assay.error import BAD_JOB, FAILED, AssayError

if TYPE_CHECKING:
    from assay.results.repeated import RepeatedTwins

_SENTENCES = {
    errno.ENOSPC: ("the disk of the results is full", "free some space, then continue with --resume"),
    errno.EDQUOT: ("the quota of the results' disk is used up", "free some space, then continue with --resume"),
    errno.EROFS: ("the file system of the results is read-only", "choose another folder with --out"),
    errno.EACCES: ("there is no permission to write the results", "choose another folder with --out"),
    errno.EIO: ("the disk of the results failed to write", "look at the kernel's log (dmesg), choose another disk"),
    errno.ENOENT: ("the folder of the results has vanished", "do not remove it during a run"),
}


class ResultError(AssayError):
    """Results could not be written or read; what was written before is intact."""


def explain(error: OSError, path: Path) -> ResultError:
    """A sentence for an error of the file system."""
    known = _SENTENCES.get(error.errno or 0, (f"results cannot be written ({error.strerror})", "see the file's folder"))
    return ResultError(f"{known[0]}: {path}; earlier results are intact", hint=known[1], code=FAILED)


def make_folder(folder: Path) -> Path:
    """Makes a folder for results where it is not there yet.

    Raises:
        ResultError: where that is not possible.
    """
    try:
        folder.mkdir(parents=True, exist_ok=True)
    except OSError as error:
        reason = error.strerror or error
        raise ResultError(f"{folder} cannot be made: {reason}", hint="choose another folder with --out") from error
    return folder


def require_ours(folder: Path, *names: str) -> None:
    """Refuses to go on with what somebody else wrote, or may have: a plan says what is run and where to.

    Raises:
        ResultError: where the folder, or one of the files that are there, is another user's or others may write to it.
    """
    for path in (folder, *(folder / name for name in names)):
        try:
            facts = path.stat()
        except FileNotFoundError:
            continue
        except OSError as error:
            raise ResultError(f"{path} cannot be looked at: {error.strerror}", hint="name your own results") from error
        if facts.st_uid != os.geteuid():
            message = f"{path} belongs to user {facts.st_uid}, and what it says would be run as user {os.geteuid()}"
            raise ResultError(message, hint="go on as the user who began it, or begin anew", code=BAD_JOB)
        if facts.st_mode & 0o002 or (facts.st_mode & 0o020 and facts.st_gid != os.getegid()):
            message = f"others may write to {path}, and what it says would be run"
            raise ResultError(message, hint=f"look at it, then chmod go-w {path}", code=BAD_JOB)


def write_atomically(path: Path, write: Callable[[Path], None]) -> None:
    """Lets `write` make a file beside `path` and puts it in place when it is safely on disk."""
    draft = path.with_name(f".{path.name}.{os.getpid()}.tmp")
    try:
        write(draft)
        _sync(draft)
        draft.replace(path)
        _sync(path.parent)
    except OSError as error:
        draft.unlink(missing_ok=True)
        raise explain(error, path) from error


def write_json(path: Path, document: Any) -> None:
    """Writes a JSON document atomically and durably."""
    text = json.dumps(document, indent=1, ensure_ascii=False, allow_nan=False) + "\n"
    write_atomically(path, lambda draft: _write_text(draft, text))


def _write_text(path: Path, text: str) -> None:
    path.write_text(text, encoding="utf-8")


def _sync(path: Path) -> None:
    descriptor = os.open(path, os.O_RDONLY)
    try:
        os.fsync(descriptor)
    finally:
        os.close(descriptor)


def read_json(path: Path, twins: RepeatedTwins | None = None) -> Any:
    """Reads a JSON document of a result folder; of `twins` those that its documents repeat are parsed once."""
    try:
        if twins is not None:
            return twins.parsed(path.read_bytes(), lambda text: limits.json_document(text, str(path)))
        return limits.json_document(path.read_text(encoding="utf-8"), str(path))
    except FileNotFoundError as error:
        hint = "name the folder that a run wrote"
        raise ResultError(f"{path} is not there", hint=hint, code=FAILED) from error
    except (OSError, ValueError) as error:
        raise ResultError(f"{path} cannot be read: {error}", hint="the file is damaged", code=FAILED) from error


def documents(directory: Path) -> list[Path]:
    """Its JSON files in the order of their names: names are sorted, as ten thousand paths take long to compare."""
    try:
        names = sorted(entry.name for entry in os.scandir(directory))
    except OSError:
        return []
    return [directory / name for name in names if name.endswith(".json")]
