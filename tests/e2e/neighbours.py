"""Processes that disturb a run. Each is ended by its own id."""

from __future__ import annotations

import contextlib
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path


@contextlib.contextmanager
def process(*command: str, apart: bool = False) -> Iterator[subprocess.Popen[bytes]]:
    """A process that runs as long as the block; `apart` gives it a session, and with it a CPU share, of its own."""
    none = subprocess.DEVNULL
    started = subprocess.Popen(command, stdin=none, stdout=none, stderr=none, start_new_session=apart)
    try:
        yield started
    finally:
        started.kill()
        started.wait()


@contextlib.contextmanager
def busy(count: int, *, apart: bool = False) -> Iterator[None]:
    """Processes that take all the CPU that they get."""
    with contextlib.ExitStack() as stack:
        for _ in range(count):
            stack.enter_context(process(sys.executable, "-c", "while True: pass", apart=apart))
        yield


_READER = """
import mmap, os, sys
name, block = sys.argv[1], int(sys.argv[2])
file = os.open(name, os.O_RDONLY | os.O_DIRECT)
page = mmap.mmap(-1, block)
blocks = os.lseek(file, 0, os.SEEK_END) // block
while True:
    for at in range(blocks):
        os.preadv(file, [page], at * block)
"""


@contextlib.contextmanager
def reader(place: Path, block: int = 128 << 10) -> Iterator[None]:
    """Direct reads of a file or device, over and over."""
    with process(sys.executable, "-c", _READER, str(place), str(block)):
        yield
