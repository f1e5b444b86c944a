"""One kill: a command is started, ended at a moment, and what it leaves is looked at."""

from __future__ import annotations

import contextlib
import os
import random
import signal
import subprocess
import tempfile
import time
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

from . import scene
from .cases import CASES, Case, possible

#: Seconds that a command may take to end after it was told to, and what it started after it.
PATIENCE_S = 30.0
HOWS = ("INT", "INT INT", "TERM", "KILL")
#: Done, failed, interrupted with what was finished kept; a second interrupt may end it by the signal.
_LAUNCHER = Path(__file__).resolve().parents[2] / "assay"
_CODES = (0, 1, 3, 4, 5, 130, -signal.SIGINT, -signal.SIGTERM, -signal.SIGKILL)


@dataclass(frozen=True)
class Kill:
    """A command, a signal, and a moment in its usual time, from 0 to 1; or when a process runs that has a word."""

    case: str
    how: str
    moment: float
    word: str = ""

    def __str__(self) -> str:
        if self.word:
            return f"{self.case}: {self.how} when {self.word} runs"
        return f"{self.case}: {self.how} at {self.moment * CASES[self.case].longest_s:.2f} s"


@dataclass(frozen=True)
class Seen:
    """What became of it; `wrong` is "" where it is as it must be."""

    kill: Kill
    alive: bool
    code: int
    wrong: str


def drawn(number: int, seed: int) -> list[Kill]:
    """So many kills, going round the commands that can be run here."""
    chance = random.Random(seed)  # noqa: S311  Moments that can be repeated.
    cases = [case.name for case in CASES.values() if possible(case)]
    order: list[str] = []
    while len(order) < number:
        order += chance.sample(cases, len(cases))
    return [Kill(case, chance.choice(HOWS), chance.random()) for case in order[:number]]


def run(kill: Kill) -> Seen:
    """Starts, kills, looks."""
    case = CASES[kill.case]
    with _folders() as (at, memory):
        before = scene.outside(at.parent)
        alive, code, hung, said = _killed(case, kill, at, memory)
        wrong = hung or _complaint(case, code, said) or scene.lost(at / "out") or _acknowledged(case, at, memory)
        wrong = wrong or _left(case, at, memory, before)
    return Seen(kill, alive, code, wrong)


def _command(words: str, at: Path, memory: Path) -> list[str]:
    named = words.replace("AT", str(at)).replace("SHM", str(memory))
    return [str(_LAUNCHER), *named.split()]


def _environment(at: Path) -> dict[str, str]:
    room = at.parent
    own = {"XDG_STATE_HOME": str(room / "state"), "TMPDIR": str(room / "tmp"), scene.MARK: str(room)}
    return os.environ | own


def _killed(case: Case, kill: Kill, at: Path, memory: Path) -> tuple[bool, int, str, str]:
    if signal.getsignal(signal.SIGINT) is signal.SIG_IGN:
        # As behind a script: who is started would not hear of an interrupt.
        signal.signal(signal.SIGINT, signal.default_int_handler)
    with tempfile.TemporaryFile(mode="w+") as said:
        process = subprocess.Popen(
            _command(case.words, at, memory),
            env=_environment(at),
            cwd=at.parent,
            stdin=subprocess.DEVNULL,
            stdout=said,
            stderr=said,
            start_new_session=True,
        )
        _await(process, kill, at.parent)
        alive = process.poll() is None
        for number, word in enumerate(kill.how.split() if alive else ()):
            time.sleep(0.3 * (number > 0))
            _send(process, word)
        hung = ""
        try:
            process.wait(PATIENCE_S)
        except subprocess.TimeoutExpired:
            hung = f"it did not end within {PATIENCE_S:.0f} s of {kill.how}"
            process.kill()
            process.wait()
        said.seek(0)
        return alive, process.returncode, hung, said.read()


def _await(process: subprocess.Popen[bytes], kill: Kill, room: Path) -> None:
    """Until its moment has come, or it has ended."""
    if not kill.word:
        with contextlib.suppress(subprocess.TimeoutExpired):
            process.wait(kill.moment * CASES[kill.case].longest_s)
    until = time.monotonic() + PATIENCE_S
    while kill.word and process.poll() is None and time.monotonic() < until:
        if any(kill.word in words for words in scene.processes(room).values()):
            return
        time.sleep(0.01)


def _send(process: subprocess.Popen[bytes], word: str) -> None:
    """An interrupt comes from the terminal, to all that run in front of it."""
    number = signal.Signals[f"SIG{word}"]
    with contextlib.suppress(ProcessLookupError):
        if word == "INT":
            os.killpg(process.pid, number)
        else:
            process.send_signal(number)


def _complaint(case: Case, code: int, said: str) -> str:
    if "Traceback" in said or "panicked" in said:
        return f"no sentence: {said[-900:]}"
    return "" if code in _CODES else f"{case.words} ended with {code}: {said[-500:]}"


def _acknowledged(case: Case, at: Path, memory: Path) -> str:
    if not case.verify or not (at / "kept").exists():
        return ""
    _gone(at.parent)
    done = _assay(case.verify, at, memory)
    return "" if done.returncode == 0 else f"acknowledged and not there: {(done.stdout + done.stderr)[-500:]}"


def _assay(words: str, at: Path, memory: Path) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        _command(words, at, memory),
        env=_environment(at),
        cwd=at.parent,
        capture_output=True,
        text=True,
        timeout=60,
        check=False,
    )


def _gone(room: Path) -> dict[int, str]:
    """Waits for processes to end by themselves; those that do not."""
    until = time.monotonic() + PATIENCE_S
    while (running := scene.processes(room)) and time.monotonic() < until:
        time.sleep(0.1)
    return running


def _left(case: Case, at: Path, memory: Path, before: set[str]) -> str:
    """What stays although `clean` has been."""
    running = _gone(at.parent)
    cleaned = _assay("clean AT SHM", at, memory)
    if "Traceback" in cleaned.stderr:
        return f"clean: {cleaned.stderr[-500:]}"
    left = [f"process {pid}: {words}" for pid, words in running.items()]
    left += [f"folder {name}" for name in scene.names(at, (*case.keeps, "mnt"))]
    left += [f"in memory {name}" for name in scene.names(memory, ())]
    left += sorted(scene.outside(at.parent) - before)
    for pid in running:
        with contextlib.suppress(ProcessLookupError):
            os.kill(pid, signal.SIGKILL)
    return f"left behind: {left}; clean said: {(cleaned.stdout + cleaned.stderr).strip()[-300:]}" if left else ""


@contextlib.contextmanager
def _folders() -> Iterator[tuple[Path, Path]]:
    """A folder on the drive and one in memory, with a register and a place for temporary files of their own."""
    with (
        tempfile.TemporaryDirectory(prefix="kills-") as room,
        tempfile.TemporaryDirectory(prefix="kills-", dir="/dev/shm") as memory,
    ):
        Path(room).chmod(0o755)
        (Path(room) / "tmp").mkdir()
        (Path(room) / "tmp").chmod(0o1777)
        (Path(room) / "at").mkdir()
        (Path(room) / "at" / "mnt").mkdir()
        try:
            yield Path(room) / "at", Path(memory)
        finally:
            subprocess.run(["umount", "--lazy", f"{room}/at/mnt"], capture_output=True, check=False)
