"""The measuring program as Python sees it: documents it prints, and a run with its events."""

from __future__ import annotations

import ctypes
import itertools
import json
import os
import signal
import subprocess
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import IO, Any

from assay import home, lease
from assay.error import FAILED, NOT_POSSIBLE, AssayError
from assay.untyped import Json

_OF_THE_SECOND = frozenset({"index", "engine", "soak", "tpcc"})
"""Commands that `assayer` hands to `assayer-db`."""

_PR_SET_PDEATHSIG = 1
_LIBC = ctypes.CDLL(None, use_errno=True)


class BinaryError(AssayError):
    """The measuring program is missing, or did not answer as agreed."""


class Binary:
    """`assayer`, found once."""

    def __init__(self, path: Path) -> None:
        self.path = path

    @classmethod
    def find(cls) -> Binary:
        """The program of this installation, or the one that the variable ASSAYER names."""
        try:
            return cls(home.binary())
        except home.HomeError as error:
            raise _not_there(error) from error

    def _complete(self, arguments: Sequence[str]) -> None:
        """The second program is there where a command needs it; a program that somebody named brings its own."""
        if not _OF_THE_SECOND.isdisjoint(arguments[:2]) and self.path == home.binary():
            try:
                home.second_program()
            except home.HomeError as error:
                raise _not_there(error) from error

    def document(self, *arguments: str, given: Json | None = None, accepted: Sequence[int] = (0,)) -> Any:
        """What a command prints as one JSON document; `given` goes to its standard input."""
        text = None if given is None else json.dumps(given)
        done = self._call(arguments, text)
        if done.returncode not in accepted:
            raise BinaryError(_complaint(arguments, done), hint=_hint(done), code=_exit_code(done.returncode))
        try:
            return json.loads(done.stdout)
        except ValueError as error:
            message = f"`assayer {arguments[0]}` printed no JSON document"
            raise BinaryError(message, hint="build it again: it is of another version") from error

    def _call(self, arguments: Sequence[str], text: str | None) -> subprocess.CompletedProcess[str]:
        self._complete(arguments)
        command = [str(self.path), *arguments]
        try:
            return subprocess.run(
                command,
                input=text or "",
                capture_output=True,
                text=True,
                check=False,
                pass_fds=lease.descriptors(),
                env=lease.environment(),
            )
        except OSError as error:
            raise _cannot_start(self.path, error) from error

    def start(self, job: Json, log: IO[Any], command: Sequence[str] = ("run", "-")) -> Run:
        """Starts a run, or other work that takes a job on standard input; its messages go to `log`."""
        self._complete(command)
        try:
            process = subprocess.Popen(
                [str(self.path), *command],
                stdin=subprocess.PIPE,
                stdout=subprocess.PIPE,
                stderr=log,
                start_new_session=True,
                pass_fds=lease.descriptors(),
                env=lease.environment(),
                preexec_fn=die_with(os.getpid()),  # noqa: PLW1509  This program starts no threads.
            )
        except OSError as error:
            raise _cannot_start(self.path, error) from error
        return Run(process, job)


class Run:
    """A run of the measuring program."""

    def __init__(self, process: subprocess.Popen[bytes], job: Json) -> None:
        self._process = process
        self._hand_over(job)

    @property
    def pid(self) -> int:
        """Its process."""
        return self._process.pid

    def _hand_over(self, job: Json) -> None:
        if self._process.stdin is None:
            return
        try:
            self._process.stdin.write(json.dumps(job).encode())
            self._process.stdin.close()
        except BrokenPipeError:
            return  # It ended before it read the job; its exit code says why.

    def events(self) -> Iterator[Json]:
        """Events until the run ends. A line that was cut off by its death is left out."""
        if self._process.stdout is None:
            return
        with self._process.stdout as lines:
            for line in lines:
                event = _parsed(line)
                if event is not None:
                    yield event

    def interrupt(self) -> None:
        """Asks it to finish what it is at and to write it."""
        self._signal(signal.SIGINT)

    def kill(self) -> None:
        """Ends it at once."""
        self._signal(signal.SIGKILL)

    def _signal(self, number: signal.Signals) -> None:
        if self._process.poll() is None:
            self._process.send_signal(number)

    def wait(self) -> int:
        """Its exit code; negative where a signal ended it."""
        return self._process.wait()


def die_with(parent: int) -> Any:
    """The child does not outlive this process, however it ends: nobody would read its events."""

    def prepare() -> None:
        _LIBC.prctl(_PR_SET_PDEATHSIG, signal.SIGKILL)
        if os.getppid() != parent:
            os.kill(os.getpid(), signal.SIGKILL)

    return prepare


def _parsed(line: bytes) -> Json | None:
    try:
        event = json.loads(line)
    except ValueError:
        return None
    return event if isinstance(event, dict) and "event" in event else None


def _not_there(error: home.HomeError) -> BinaryError:
    return BinaryError(str(error), hint="`./assay` builds it on its first call", code=FAILED)


def _cannot_start(path: Path, error: OSError) -> BinaryError:
    return BinaryError(f"{path} cannot be started: {error.strerror}", hint="build it: cargo build --release -p assayer")


def said(log: str) -> tuple[str, str]:
    """What a program's messages say at last: the error and the hint; else what it panicked at; else the last line."""
    lines = [line.strip() for line in log.splitlines() if line.strip()]
    errors = [line.removeprefix("error: ") for line in lines if line.startswith("error: ")]
    hints = [line.removeprefix("hint: ") for line in lines if line.startswith("hint: ")]
    panics = [after for line, after in itertools.pairwise(lines) if " panicked at " in line]
    if panics and not errors:
        return panics[0], "this is a defect of Assay: report it, with the command and what it printed"
    return (errors or lines or [""])[-1], (hints or [""])[-1]


def _complaint(arguments: Sequence[str], done: subprocess.CompletedProcess[str]) -> str:
    reason = _refusal(done.stdout).get("reason") or said(done.stderr)[0] or "it said nothing"
    return f"`assayer {' '.join(arguments)}` ended with exit code {done.returncode}: {reason}"


def _refusal(text: str) -> Json:
    try:
        found = json.loads(text)
    except ValueError:
        return {}
    return found if isinstance(found, dict) else {}


def _hint(done: subprocess.CompletedProcess[str]) -> str:
    return str(_refusal(done.stdout).get("fix") or said(done.stderr)[1])


def _exit_code(returned: int) -> int:
    return returned if FAILED <= returned <= NOT_POSSIBLE else FAILED
