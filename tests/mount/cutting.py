"""The power is cut of a drive under a database: who works there, and what is left of what was acknowledged."""

from __future__ import annotations

import contextlib
import os
import shutil
import signal
import time
from abc import ABC, abstractmethod
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

from mount.mounted import mounted

# Slow enough for a busy machine: the way through FUSE alone took 80 us beside a build.
DRIVE = "fixed:600,400,800"
# Whoever has not acknowledged so much by then never will.
_ACKNOWLEDGES_WITHIN_S = 60.0


@dataclass(frozen=True)
class Left:
    """What is there after a cut. `broken`: what the database says of its files where they are no database any more."""

    acknowledged: int
    missing: int
    broken: str = ""

    @property
    def whole(self) -> bool:
        """Nothing that was acknowledged is missing."""
        return not self.missing and not self.broken


class Worker(ABC):
    """A database at work: it acknowledges what it was told is durable."""

    @abstractmethod
    def acknowledged(self) -> int:
        """How much so far."""

    @abstractmethod
    def failed(self) -> str:
        """What it said, where it has ended; empty while it works."""


class Victim(ABC):
    """A database that is cut off."""

    name: str
    #: Flushes can be left out, and are then missed.
    loose = True

    @property
    def others(self) -> tuple[int, ...]:
        """Users besides this one whom the mount must let in."""
        return ()

    def reason(self) -> str:
        """Why it cannot be tried here; empty where it can."""
        return ""

    def prepare(self, room: Path) -> None:  # noqa: B027  Most need nothing.
        """Makes what must be in `room/files` beforehand; `room/mnt` is where it will be seen."""

    @abstractmethod
    def working(self, room: Path, *, durable: bool) -> contextlib.AbstractContextManager[Worker]:
        """Works in `room/mnt` meanwhile, told to make each change durable or none; in the end it is killed."""

    @abstractmethod
    def left(self, room: Path, acknowledged: int) -> Left:
        """Looks at what is in `room/files`."""


def fresh(room: Path) -> None:
    """Nothing is left of the cut before."""
    for name in ("files", "mnt"):
        shutil.rmtree(room / name, ignore_errors=True)
        (room / name).mkdir()


def cut(victim: Victim, room: Path, seed: int, *, durable: bool) -> Left:
    """Works until so much is acknowledged, cuts the power, and looks."""
    fresh(room)
    victim.prepare(room)
    with mounted(room, DRIVE, seed=seed, cut="on_signal", others=list(victim.others)) as one:
        with victim.working(room, durable=durable) as worker:
            wait_for(worker, 20 + 15 * seed)
            os.kill(one.pid, signal.SIGUSR1)
            wait_for_death(room / "mnt")
        # Read when nothing can be acknowledged any more.
        acknowledged = worker.acknowledged()
        assert one.end()["cut"] is not None
    return victim.left(room, acknowledged)


def wait_for(worker: Worker, acknowledged: int) -> None:
    """Until so much is acknowledged."""
    until = time.monotonic() + _ACKNOWLEDGES_WITHIN_S
    while worker.acknowledged() < acknowledged:
        said = worker.failed()
        assert not said, said
        assert time.monotonic() < until, f"{worker.acknowledged()} of {acknowledged} were acknowledged in a minute"
        time.sleep(0.002)


def wait_for_death(at: Path) -> None:
    """Until nothing is answered any more."""
    for _ in range(2000):
        with contextlib.suppress(FileExistsError):
            try:
                (at / f"new-{time.monotonic_ns()}").touch()
            except OSError:
                return
        time.sleep(0.005)
    raise AssertionError("the power is not cut")


@contextlib.contextmanager
def shut(room: Path, others: tuple[int, ...] = ()) -> Iterator[None]:
    """`room/mnt` shows the files without a drive, for whoever keeps the paths of what it wrote."""
    with mounted(room, "pass", others=list(others)):
        yield
