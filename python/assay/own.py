"""What Assay makes on targets and removes again: the Python door of the one room that removes.

A process of the measuring program makes folders on request, notes them in this user's register and removes them. Should
this process be killed, that one sees its requests end and removes what was made.
"""

from __future__ import annotations

import atexit
import contextlib
import json
import os
import subprocess
import threading
from pathlib import Path

from assay import lease
from assay.binary import Binary
from assay.error import FAILED, AssayError
from assay.untyped import Json


class OwnError(AssayError):
    """Something cannot be made, or is not removed."""


class _Room:
    """The process that makes and removes."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._process: subprocess.Popen[str] | None = None

    def ask(self, request: Json) -> Path:
        """Sends a request; the path that it was about."""
        with self._lock:
            process = self._started()
            answer = _answer(process, request)
        if refused := answer.get("refused"):
            raise OwnError(str(refused["reason"]), hint=str(refused["fix"]), code=FAILED)
        return Path(answer["path"])

    def _started(self) -> subprocess.Popen[str]:
        if self._process is None or self._process.poll() is not None:
            # A session of its own: an interrupt at the terminal is not meant for it.
            self._process = subprocess.Popen(
                [str(Binary.find().path), "own"],
                stdin=subprocess.PIPE,
                stdout=subprocess.PIPE,
                text=True,
                start_new_session=True,
                pass_fds=lease.descriptors(),
                env=lease.environment(),
            )
        return self._process

    def close(self) -> None:
        """No more requests: what was not to be kept goes."""
        process, self._process = self._process, None
        if process is not None and process.stdin is not None:
            with contextlib.suppress(OSError):
                process.stdin.close()
            process.wait()

    def forget(self) -> None:
        """For a process that was forked: the requests are its parent's, and end with that one."""
        process, self._process, self._lock = self._process, None, threading.Lock()
        for pipe in () if process is None else (process.stdin, process.stdout):
            if pipe is not None:
                pipe.close()


def _answer(process: subprocess.Popen[str], request: Json) -> Json:
    assert process.stdin is not None  # noqa: S101  Both were asked for as pipes.
    assert process.stdout is not None  # noqa: S101
    try:
        process.stdin.write(json.dumps(request) + "\n")
        process.stdin.flush()
        answer: Json = json.loads(process.stdout.readline())
    except (OSError, ValueError) as error:
        hint = "look whether somebody ended it, then run it again; `assay clean` removes what it made"
        raise OwnError("the process that makes Assay's folders has ended", hint=hint, code=FAILED) from error
    return answer


_ROOM = _Room()
atexit.register(_ROOM.close)
os.register_at_fork(after_in_child=_ROOM.forget)


def make(folder: Path, prefix: str, owner: int | None = None, *, measured: bool = True) -> Path:
    """A new folder of Assay's own, removed in the end however this process ends.

    `owner` is a user who may have files in it, where it is given a place inside. Where the folder above is `measured`,
    no other run may measure there meanwhile.
    """
    return _ROOM.ask({"make": {"folder": str(folder), "prefix": prefix, "other": owner, "lease": measured}})


def remove(path: Path, inside: str | None = None) -> None:
    """Removes a folder that was made here, or one inside of it, with all that it holds."""
    _ROOM.ask({"remove": {"path": str(path), "inside": inside}})


def keep(path: Path) -> None:
    """It stays when this process ends; `assay clean` removes it."""
    _ROOM.ask({"keep": {"path": str(path)}})


def make_folder(path: Path, owner: tuple[int, int] | None = None) -> None:
    """A folder inside of one that was made here, for this user or another one alone."""
    path.mkdir(mode=0o700)
    if owner is not None:
        os.chown(path, *owner, follow_symlinks=False)
