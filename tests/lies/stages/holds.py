"""Means to hold something still for a while; each lets go at the end."""

from __future__ import annotations

import contextlib
import signal
import time
from collections.abc import Iterator
from pathlib import Path

from e2e import places
from e2e.program import Running


@contextlib.contextmanager
def file_system(at: Path) -> Iterator[None]:
    """A file system that takes no writes."""
    places.tool("fsfreeze", "--freeze", str(at))
    try:
        yield
    finally:
        places.tool("fsfreeze", "--unfreeze", str(at))


def stopped(run: Running, seconds: float) -> None:
    """The process stands still, by a signal."""
    run.signal(signal.SIGSTOP)
    try:
        time.sleep(seconds)
    finally:
        run.signal(signal.SIGCONT)
