"""A running guest, and commands in it."""

from __future__ import annotations

import ctypes
import os
import re
import selectors
import shlex
import signal
import socket
import subprocess
import time
from collections.abc import Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from types import TracebackType
from typing import Any, Self

from assay.error import NOT_POSSIBLE

from assay_lab import qemu
from assay_lab.error import GuestError, GuestGoneError, LabError
from assay_lab.qemu import MachineSpec, Share

BOOT_LIMIT_S = 240.0
_GRACE_S = 20.0
_LAST_LINES = 6
_PR_SET_PDEATHSIG = 1
_LIBC = ctypes.CDLL(None, use_errno=True)
_ESCAPES = re.compile(r"\x1b\[[0-9;?]*[A-Za-z]|\x1bc|\r")


@dataclass(frozen=True)
class Completed:
    """A command that ended in the guest."""

    command: str
    returncode: int
    stdout: str
    stderr: str


class Job:
    """A command that runs in the guest, beside others."""

    def __init__(self, guest: Guest, name: str, command: str) -> None:
        self._guest = guest
        self.name = name
        self.command = command

    def path(self, kind: str) -> Path:
        """Its file `out`, `err` or `in` on the host: it grows while the command runs, and outlives a power cut."""
        return self._guest.share / ".lab" / f"{self.name}.{kind}"

    @property
    def done(self) -> bool:
        """Whether it ended."""
        self._guest.listen(0.0)
        return self.name in self._guest.ended

    def wait(self, timeout_s: float = 60.0) -> Completed:
        """Waits for its end; a command that takes longer is ended, and that is an error."""
        limit = time.monotonic() + timeout_s
        while self.name not in self._guest.ended:
            if time.monotonic() >= limit:
                self._guest.tell(f"kill {self.name}")
                message = f"`{_short(self.command)}` did not end within {timeout_s:.0f} s in the guest"
                raise GuestError(message + self._said(), hint=self._guest.where())
            self._guest.listen(min(1.0, max(0.0, limit - time.monotonic())))
        code = self._guest.ended[self.name]
        out, err = (self._text(kind) for kind in ("out", "err"))
        for kind in ("sh", "in", "out", "err"):
            self.path(kind).unlink(missing_ok=True)
        return Completed(self.command, code, out, err)

    def _text(self, kind: str) -> str:
        try:
            return self.path(kind).read_text(errors="replace")
        except OSError:
            return ""

    def _said(self) -> str:
        lines = [line for line in self._text("err").splitlines() if line.strip()]
        return f"; it said last: {lines[-1]}" if lines else ""


class Guest:
    """A machine that runs; a context that ends it."""

    def __init__(self, process: subprocess.Popen[bytes], port: socket.socket, spec: MachineSpec, share: Path) -> None:
        self._process = process
        self._port = port
        self._spec = spec
        self._heard = b""
        self._count = 0
        self.share = share
        self.ended: dict[str, int] = {}
        self.kernel = ""

    @classmethod
    def boot(cls, spec: MachineSpec, share: Path, timeout_s: float = BOOT_LIMIT_S) -> Guest:
        """Starts a machine and waits until its agent answers. `share` is its folder /share."""
        (share / ".lab").mkdir(exist_ok=True)
        ours, theirs = socket.socketpair()
        console = share / ".lab" / "console.log"
        spec = replace(spec, console=console, agent_fd=theirs.fileno(), shares=[*spec.shares, Share("share", share)])
        console.unlink(missing_ok=True)
        with theirs, (share / ".lab" / "qemu.log").open("wb") as log:
            process = start(spec, log, (theirs.fileno(),))
        guest = cls(process, ours, spec, share)
        try:
            guest._await_agent(timeout_s)
        except BaseException:
            guest.cut()
            raise
        return guest

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close() if kind is None else self.cut()

    @property
    def pid(self) -> int:
        """QEMU's process."""
        return self._process.pid

    @property
    def alive(self) -> bool:
        """Whether the machine is on."""
        return self._process.poll() is None

    def start(self, command: str | Sequence[str], stdin: str = "") -> Job:
        """Starts a command and does not wait for it."""
        text = command if isinstance(command, str) else shlex.join(command)
        self._count += 1
        job = Job(self, f"c{self._count}", text)
        job.path("sh").write_text(text + "\n")
        job.path("in").write_text(stdin)
        self.tell(f"run {job.name}")
        return job

    def run(
        self, command: str | Sequence[str], timeout_s: float = 60.0, check: bool = True, stdin: str = ""
    ) -> Completed:
        """Runs a command of the shell to its end. With `check`, an exit code other than 0 is an error."""
        done = self.start(command, stdin).wait(timeout_s)
        if check and done.returncode != 0:
            lines = [line for line in (done.stderr + done.stdout).splitlines() if line.strip()]
            # Programs that show their usage say first what was wrong; all others say it at last.
            said = ": " + " ... ".join(dict.fromkeys((lines[0].strip(), lines[-1].strip()))) if lines else ""
            raise GuestError(f"`{_short(done.command)}` failed in the guest (exit code {done.returncode}){said}")
        return done

    def assayer(self, *arguments: str, stdin: str = "", timeout_s: float = 60.0, check: bool = True) -> Completed:
        """Runs the measuring program."""
        return self.run(["assayer", *arguments], timeout_s, check, stdin)

    def cut(self) -> None:
        """A power cut: the machine is gone in this instant, and nothing is written any more."""
        if self.alive:
            self._process.send_signal(signal.SIGKILL)
        self._process.wait()
        self._port.close()

    def close(self, timeout_s: float = _GRACE_S) -> None:
        """Powers it off in order; by force where that takes too long."""
        if self.alive:
            try:
                self.tell("off")
                self._process.wait(timeout_s)
            except (GuestError, subprocess.TimeoutExpired):
                pass
        self.cut()

    def console(self) -> str:
        """What the guest's console shows."""
        path = self._spec.console
        try:
            return _ESCAPES.sub("", path.read_text(errors="replace")) if path is not None else ""
        except OSError:
            return ""

    def where(self) -> str:
        """The last lines of the console, for who looks for the cause."""
        lines = [line.strip() for line in self.console().splitlines() if line.strip()]
        telling = next((at for at, line in enumerate(lines) if "Kernel panic" in line or "BUG:" in line), None)
        shown = lines[-_LAST_LINES:] if telling is None else lines[max(0, telling - 2) : telling + _LAST_LINES]
        return "its console ends: " + " | ".join(shown) if shown else "its console is empty"

    def tell(self, line: str) -> None:
        """A line to the agent."""
        try:
            self._port.sendall(line.encode() + b"\n")
        except OSError as error:
            raise self._gone() from error

    def listen(self, timeout_s: float) -> None:
        """Takes in what the agent says within a time."""
        with selectors.DefaultSelector() as selector:
            selector.register(self._port, selectors.EVENT_READ)
            if not selector.select(timeout_s):
                return
        try:
            heard = self._port.recv(1 << 16)
        except OSError:
            heard = b""
        if not heard:
            raise self._gone()
        *lines, self._heard = (self._heard + heard).split(b"\n")
        for line in lines:
            self._take(line.decode(errors="replace").split())

    def _take(self, words: list[str]) -> None:
        if words[:1] == ["ready"]:
            self.kernel = " ".join(words[1:])
        elif words[:1] == ["done"] and len(words) == 3:
            self.ended[words[1]] = int(words[2])

    def _await_agent(self, timeout_s: float) -> None:
        limit = time.monotonic() + timeout_s
        while not self.kernel:
            left = limit - time.monotonic()
            if left <= 0:
                message = f"the guest did not come up within {timeout_s:.0f} s"
                raise GuestError(message, hint=self.where(), code=NOT_POSSIBLE)
            self.listen(min(1.0, left))

    def _gone(self) -> GuestError:
        """The machine ended by itself: why, as far as it can be told."""
        try:
            code = self._process.wait(5)
        except subprocess.TimeoutExpired:
            return GuestGoneError("the guest's agent hung up", hint=self.where())
        if code != 0:
            said = _last_line(self.share / ".lab" / "qemu.log") or "it said nothing"
            return GuestGoneError(f"QEMU {_ending(code)}: {said}", hint=self.where(), code=NOT_POSSIBLE)
        panic = "the guest's kernel panicked" if "Kernel panic" in self.console() else "the guest switched itself off"
        return GuestGoneError(panic, hint=self.where())


def start(
    spec: MachineSpec, log: Any, inherited: Sequence[int] = (), own_session: bool = True
) -> subprocess.Popen[bytes]:
    """Starts QEMU; it does not outlive this process."""
    try:
        return subprocess.Popen(
            qemu.command(spec),
            stdin=subprocess.DEVNULL if own_session else None,
            stdout=log if own_session else None,
            stderr=log,
            pass_fds=tuple(inherited),
            start_new_session=own_session,
            preexec_fn=_die_with(os.getpid()),  # noqa: PLW1509  This program starts no threads.
        )
    except OSError as error:
        hint = "sudo apt-get install -y qemu-system-x86"
        raise LabError(f"{spec.program} cannot be started: {error.strerror}", hint=hint, code=NOT_POSSIBLE) from error


def _die_with(parent: int) -> Any:
    def prepare() -> None:
        _LIBC.prctl(_PR_SET_PDEATHSIG, signal.SIGKILL)
        if os.getppid() != parent:
            os.kill(os.getpid(), signal.SIGKILL)

    return prepare


def _ending(code: int) -> str:
    """How a process ended; a code below 0 is a signal's number."""
    if code > 0:
        return f"ended with exit code {code}"
    return f"was ended by {signal.Signals(-code).name if -code in set(signal.Signals) else f'signal {-code}'}"


def _short(command: str) -> str:
    first = command.strip().splitlines()[0] if command.strip() else ""
    return first if len(first) <= 80 else first[:77] + "..."


def _last_line(path: Path) -> str:
    try:
        lines = [line.strip() for line in path.read_text(errors="replace").splitlines() if line.strip()]
    except OSError:
        return ""
    return lines[-1] if lines else ""
