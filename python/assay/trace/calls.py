"""System calls of a database by ptrace (`strace`): what it asks of the kernel, page cache or not.

It slows the database, so it is used only where it was asked for.
"""

from __future__ import annotations

import contextlib
import os
import re
import shutil
import signal
import subprocess
import time
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, field

from assay.error import NOT_POSSIBLE
from assay.trace.error import TraceError
from assay.trace.operation import OWN, TracedOperation

_READS = ("read", "pread64", "readv", "preadv", "preadv2")
_WRITES = ("write", "pwrite64", "writev", "pwritev", "pwritev2")
_FLUSHES = ("fsync", "fdatasync", "msync", "sync_file_range")
_NOT_FILES = ("/dev/", "/proc/", "/sys/")
MOST_BYTES = 256 << 20
_HEAD = re.compile(r"^(?P<task>\d+) +(?P<at>\d+\.\d+) (?P<rest>.*)$")
_CALL = re.compile(
    r"^(?P<name>\w+)\((?P<fd>\d+)?(?:<(?P<file>[^>]*)>)?(?P<middle>.*)\) += (?P<result>-?\d+).*<(?P<took>\d+\.\d+)>$"
)
_RESUMED = re.compile(r"^<\.\.\. \w+ resumed>(?P<rest>.*)$")
# Writes before a flush that are waited for.
_FEW = 16
_UNFINISHED = " <unfinished ...>"


def why_not() -> str:
    """Why calls cannot be followed; empty where strace is there."""
    return "" if shutil.which("strace") else "strace is not installed"


def follow(pids: Sequence[int], seconds: float, on_look: Callable[[], bool]) -> tuple[str, float]:
    """Lines of strace, and how long it followed.

    Raises:
        TraceError: where it may not.
    """
    handle = os.memfd_create("assay-calls")
    names = ",".join(_READS + _WRITES + _FLUSHES)
    command = ["strace", "-f", "-ttt", "-T", "-y", "-s", "0", "-e", "signal=none", "-e", f"trace={names}"]
    command += ["-o", f"/proc/self/fd/{handle}", *(word for pid in pids for word in ("-p", str(pid)))]
    with os.fdopen(handle, "rb+") as text:
        process = subprocess.Popen(command, stderr=subprocess.PIPE, pass_fds=(handle,), start_new_session=True)
        begun = time.monotonic()
        try:
            while time.monotonic() - begun < seconds and process.poll() is None and not on_look():
                time.sleep(0.1)
                if os.fstat(handle).st_size > MOST_BYTES:
                    break
        finally:
            lasted = time.monotonic() - begun
            _end(process)
        said = process.stderr.read().decode("utf-8", "replace") if process.stderr is not None else ""
        text.seek(0)
        lines = text.read().decode("utf-8", "replace")
    if not lines and ("ptrace" in said or "permitted" in said):
        reason = said.strip().splitlines()[0]
        hint = "run as root or as the owner, and look at /proc/sys/kernel/yama/ptrace_scope"
        raise TraceError(f"its calls may not be followed: {reason}", hint=hint, code=NOT_POSSIBLE)
    return lines, lasted


def _end(process: subprocess.Popen[bytes]) -> None:
    """Lets go of the database; a strace that does not is killed, and the kernel lets go for it."""
    with contextlib.suppress(ProcessLookupError):
        process.send_signal(signal.SIGINT)
    try:
        process.wait(10)
    except subprocess.TimeoutExpired:
        process.kill()
        process.wait()


@dataclass
class Calls:
    """Reads lines of strace. Without an offset a file is taken to be worked through in order."""

    operations: list[TracedOperation] = field(default_factory=list)
    positions: dict[tuple[int, str], int] = field(default_factory=dict)
    guessed: int = 0
    _begun: dict[int, tuple[float, str]] = field(default_factory=dict)
    _pending: dict[str, list[TracedOperation]] = field(default_factory=dict)

    def read(self, lines: Iterable[str]) -> list[TracedOperation]:
        """Operations on files; those on sockets, pipes and terminals are left out."""
        for line in lines:
            head = _HEAD.match(line)
            if head is not None:
                self._line(int(head["task"]), float(head["at"]), head["rest"])
        return self.operations

    def _line(self, task: int, at_s: float, rest: str) -> None:
        if rest.endswith(_UNFINISHED):
            self._begun[task] = (at_s, rest.removesuffix(_UNFINISHED))
            return
        resumed = _RESUMED.match(rest)
        if resumed is not None:
            at_s, before = self._begun.pop(task, (at_s, ""))
            rest = before + resumed["rest"]
        call = _CALL.match(rest)
        if call is not None and int(call["result"]) >= 0:
            self._call(task, at_s, call)

    def _call(self, task: int, at_s: float, call: re.Match[str]) -> None:
        name, file, moved = call["name"], call["file"] or "", int(call["result"])
        if name in _FLUSHES:
            kind, moved = "flush", 0
        elif not file.startswith("/") or file.startswith(_NOT_FILES) or moved == 0:
            return
        else:
            kind = "read" if name in _READS else "write"
        offset = self._offset(task, name, file, call["middle"], moved) if kind != "flush" else 0
        ended = at_s + float(call["took"])
        operation = TracedOperation(kind, file, offset, moved, at_s, ended, task, OWN, sync=kind != "write")
        self.operations.append(operation)
        if kind == "write":
            self._pending.setdefault(file, []).append(operation)
        elif kind == "flush":
            self._flushed(file)

    def _flushed(self, file: str) -> None:
        """Few writes before a flush are those of a log: somebody waits. Many are a checkpoint."""
        waiting = self._pending.pop(file, [])
        if len(waiting) <= _FEW:
            for one in waiting:
                one.sync = True

    def _offset(self, task: int, name: str, file: str, middle: str, moved: int) -> int:
        last = middle.rsplit(", ", 2)
        if name.startswith(("pread", "pwrite")):
            word = last[-2] if name.endswith("v2") else last[-1]
            return int(word) if word.isdigit() else 0
        del task
        self.guessed += 1
        place = (0, file)
        offset = self.positions.get(place, 0)
        self.positions[place] = offset + moved
        return offset
