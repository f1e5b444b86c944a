"""A file system that fails when it is told to (the program in this folder), mounted for a test."""

from __future__ import annotations

import contextlib
import os
import select
import shutil
import signal
import subprocess
from collections.abc import Iterator
from functools import cache
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parent.parent.parent
_ANSWERS_WITHIN_S = 30.0


@cache
def program() -> Path:
    """The file system's program, built as what is shipped: the tests' own profile may be building for minutes."""
    if not Path("/dev/fuse").exists():
        pytest.skip("the kernel has no FUSE (/dev/fuse is missing)")
    if os.geteuid() != 0:
        pytest.skip("only root can mount the file system that fails")
    cargo = shutil.which("cargo")
    if cargo is None:
        pytest.skip("cargo is not on PATH, and builds the file system that fails")
    command = [cargo, "build", "--release", "--locked", "--quiet", "--package", "assay-faultfs"]
    done = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    return Path(os.environ.get("CARGO_TARGET_DIR", ROOT / "target")) / "release" / "assay-faultfs"


class FaultFs:
    """A mounted one. Lines to it and answers are told in `src/main.rs`."""

    def __init__(self, process: subprocess.Popen[str], at: Path) -> None:
        self._process = process
        self.at = at

    def tell(self, line: str) -> str:
        """Says a line; the answer, which must come."""
        assert self._process.stdin is not None
        self._process.stdin.write(line + "\n")
        self._process.stdin.flush()
        answer = self.heard()
        assert not answer.startswith("error"), answer
        return answer

    def heard(self) -> str:
        """The next line that it says."""
        out = self._process.stdout
        assert out is not None
        ready, _, _ = select.select([out], [], [], _ANSWERS_WITHIN_S)
        assert ready, "the file system does not answer"
        line = out.readline()
        assert line, f"the file system ended with exit code {self._process.wait()}"
        return line.strip()

    def rule(self, *words: str) -> None:
        """A fault: OPERATION EFFECT [from=N] [count=N] [name=PART]."""
        self.tell(" ".join(("rule", *words)))

    def clear(self) -> None:
        """No fault any more."""
        self.tell("clear")

    def crash(self, how: str = "lose") -> None:
        """What was not synced is lost (`lose`), or by chance lost, kept or torn (`torn`)."""
        self.tell(f"crash {how}")

    def calls(self) -> dict[str, int]:
        """How often each operation was called, and under `hits` how often a rule held."""
        return {name: int(count) for name, count in (word.split("=") for word in self.tell("calls").split())}


def moved(fs: FaultFs, way: str) -> str:
    """What became of 64 KiB that a path wrote and read again in `file`: `whole`, what is wrong, or the path's error."""
    command = [str(program()), "moves", *way.split(), str(fs.at / "file")]
    done = subprocess.run(command, capture_output=True, text=True, timeout=_ANSWERS_WITHIN_S, check=False)
    return done.stdout.strip() or done.stderr.strip()


@contextlib.contextmanager
def mounted(at: Path, *, seed: int = 1, space: int = 64 << 30) -> Iterator[FaultFs]:
    """Mounts one; at the end it is gone, also where somebody still uses it or it hangs."""
    command = [str(program()), str(at), str(seed), str(space)]
    at.mkdir(parents=True, exist_ok=True)
    process = subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)
    fs = FaultFs(process, at)
    try:
        assert fs.heard() == "mounted"
        yield fs
    finally:
        _end(process, at)


def _end(process: subprocess.Popen[str], at: Path) -> None:
    """The end of its input ends it. One that hangs is killed, which ends the connection and every call that waits."""
    for pipe in (process.stdin, process.stdout):
        if pipe is not None:
            with contextlib.suppress(OSError):
                pipe.close()
    try:
        process.wait(10)
    except subprocess.TimeoutExpired:
        process.send_signal(signal.SIGKILL)
        process.wait()
    # A connection may end between two looks.
    if _is_dead(at) or os.path.ismount(at) or _is_dead(at):
        subprocess.run(["umount", "--lazy", str(at)], capture_output=True, check=False)
    at.rmdir()


def _is_dead(at: Path) -> bool:
    try:
        at.stat()
    except OSError:
        return True
    return False
