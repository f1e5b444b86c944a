"""A mount while it lives: started, asked, ended."""

from __future__ import annotations

import contextlib
import json
import os
import signal
import subprocess
from collections.abc import Iterator, Sequence
from pathlib import Path

from assay import home
from assay.error import FAILED, AssayError
from assay.untyped import Json

# A program whose mount does not end within so many seconds is killed, which ends every call that waits there.
_ENDS_WITHIN_S = 20.0


class Playing:
    """A program that plays a drive."""

    def __init__(self, process: subprocess.Popen[str], state: Json) -> None:
        self._process = process
        self._ended = False
        self.state = state
        """What the program said of it at the start; at the end what it has played."""

    @classmethod
    def start(cls, job: Json, *, own_session: bool = True) -> Playing:
        """Mounts; `own_session` keeps interrupts of the terminal away from it.

        Raises:
            AssayError: where it is not mounted, with the program's reason.
        """
        process = subprocess.Popen(
            [str(program()), "mount", "-"],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            text=True,
            start_new_session=own_session,
        )
        assert process.stdin is not None  # noqa: S101  All three were asked for as pipes.
        assert process.stdout is not None  # noqa: S101
        with contextlib.suppress(BrokenPipeError), process.stdin as requests:
            requests.write(json.dumps(job))
        line = process.stdout.readline()
        if not line:
            raise _refused(process)
        return cls(process, json.loads(line)["state"])

    @property
    def pid(self) -> int:
        """Its process."""
        return self._process.pid

    def wait(self) -> Json:
        """What it has played, once somebody has unmounted it; the same again when asked again."""
        if self._ended:
            return self.state
        assert self._process.stdout is not None  # noqa: S101
        line = self._process.stdout.readline()
        self._ended = True
        if not line:
            raise _refused(self._process)
        self.state = json.loads(line)["state"]
        _closed(self._process)
        return self.state

    def end(self) -> Json:
        """Unmounts it; what it has played."""
        if self._process.poll() is None:
            self._process.send_signal(signal.SIGTERM)
        try:
            self._process.wait(_ENDS_WITHIN_S)
        except subprocess.TimeoutExpired:
            self._process.kill()
            self._process.wait()
        return self.wait()


def _closed(process: subprocess.Popen[str]) -> str:
    """Waits for its end; what it said to people."""
    assert process.stdout is not None  # noqa: S101
    assert process.stderr is not None  # noqa: S101
    with process.stdout, process.stderr:
        said = process.stderr.read()
    process.wait()
    return said


def _refused(process: subprocess.Popen[str]) -> AssayError:
    said = _closed(process)
    code = process.returncode
    lines = [line for line in said.splitlines() if line.strip()]
    errors = [line.removeprefix("error: ") for line in lines if line.startswith("error: ")]
    hints = [line.removeprefix("hint: ") for line in lines if line.startswith("hint: ")]
    message = errors[-1] if errors else f"the program that mounts ended with exit code {code}"
    return AssayError(message, hint=(hints or [""])[-1], code=code if code > 0 else FAILED)


def program() -> Path:
    """The program that mounts; a checkout builds it when it is first asked for."""
    try:
        return home.mount_program()
    except home.HomeError as error:
        raise AssayError(str(error), hint="`./assay` builds it on its first call", code=FAILED) from error


def status(at: Path) -> Json:
    """What is played, or was, at a folder.

    Raises:
        AssayError: where nothing was mounted there.
    """
    command = [str(program()), "status", os.path.abspath(at)]  # noqa: PTH100  A dead mount cannot be resolved.
    process = subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
    assert process.stdout is not None  # noqa: S101
    text = process.stdout.read()
    if not text:
        raise _refused(process)
    _closed(process)
    found: Json = json.loads(text)
    return found


@contextlib.contextmanager
def playing(job: Json) -> Iterator[Playing]:
    """A drive that is played meanwhile; unmounted however this ends."""
    one = Playing.start(job | {"ends_with_parent": True})
    try:
        yield one
    finally:
        one.end()


def told(state: Json) -> Sequence[str]:
    """Sentences about what was played."""
    cpu = f"{state['cpu_s']:.1f} s of CPU, {state['holder_cpu_s']:.1f} s of it waiting for moments"
    if state.get("awake_cpu_s"):
        cpu += f", {state['awake_cpu_s']:.1f} s keeping idle CPUs awake"
    late = [f"suspect: {reason} (docs/verdicts/{reason}.md)" for reason in state["reasons"]]
    cut = state["cut"]
    if cut:
        left = ", ".join(f"{cut[word]} {word}" for word in ("kept", "lost", "torn"))
        notes = [f"the power was cut: of the writes that no flush had covered {left}", *state["notes"]]
    else:
        notes = state["notes"]
    return [state["sentence"], f"{state['seconds']:.0f} s, {cpu}", *notes, *late]
