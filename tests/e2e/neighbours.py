"""Processes that disturb a run. Each is ended by its own id."""

from __future__ import annotations

import contextlib
import os
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


_WRITER = """
import mmap, os, sys
name, size = sys.argv[1], int(sys.argv[2])
file = os.open(name, os.O_WRONLY | os.O_CREAT | os.O_DIRECT)
page = mmap.mmap(-1, 128 << 10)
page.write(os.urandom(len(page)))
while True:
    for at in range(0, size, len(page)):
        os.pwrite(file, page, at)
"""


@contextlib.contextmanager
def writer(file: Path, size: int) -> Iterator[None]:
    """Direct writes of a file of this size, over and over."""
    with process(sys.executable, "-c", _WRITER, str(file), str(size)):
        yield


_FLUSHER = """
import os, sys
file = os.open(sys.argv[1], os.O_RDONLY)
while True:
    os.fsync(file)
"""


@contextlib.contextmanager
def flusher(device: Path) -> Iterator[None]:
    """Flushes of a device, one after the other; no bytes are moved."""
    with process(sys.executable, "-c", _FLUSHER, str(device)):
        yield


@contextlib.contextmanager
def copier() -> Iterator[None]:
    """Copies of a large piece of memory, over and over."""
    with process(sys.executable, "-c", "a = bytearray(64 << 20)\nb = bytearray(64 << 20)\nwhile True: a[:] = b"):
        yield


@contextlib.contextmanager
def one_cpu() -> Iterator[int]:
    """Everything that is started in the block shares one CPU."""
    all_of_them = os.sched_getaffinity(0)
    one = max(all_of_them)
    os.sched_setaffinity(0, {one})
    try:
        yield one
    finally:
        os.sched_setaffinity(0, all_of_them)
