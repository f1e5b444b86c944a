"""A fleet whose hosts are made one by one, each in a network of its own, some with a clock of their own."""

from __future__ import annotations

import contextlib
import shutil
import subprocess
import sys
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from assay.fleet import keys, network

from .processes import command, serving


@dataclass(frozen=True)
class Made:
    """Where its scheduler listens, its keys, and the workers' processes by name."""

    address: str
    keys: Path
    workers: dict[str, int]


def shifted(seconds: int) -> list[str]:
    """What stands before a command whose monotonic clock is so far ahead."""
    unshare = shutil.which("unshare") or "unshare"
    return [unshare, "--time", "--fork", "--kill-child", "--monotonic", str(seconds)]


@contextlib.contextmanager
def fleet(place: Path, before: Mapping[str, Sequence[str]]) -> Iterator[Made]:
    """A scheduler in a network of its own, and a worker for each name, with the words that stand before its command."""
    keys.make(place, list(before), 2)
    with network.private() as refused, contextlib.ExitStack() as running:
        assert not refused, refused
        listen = ("scheduler", "--listen", f"tls://{network.HUB}:0", "--keys", place)
        address = running.enter_context(serving(*listen))
        workers = {}
        for number, (name, words) in enumerate(before.items(), 1):
            workers[name] = running.enter_context(_worker(number, name, address, place, words))
        yield Made(address, place, workers)


@contextlib.contextmanager
def _worker(number: int, name: str, address: str, place: Path, before: Sequence[str]) -> Iterator[int]:
    own = [sys.executable, "-I", "-m", "assay.fleet.network", str(number)]
    words = command("worker", address, "--name", name, "--listen", network.address(number), "--keys", place)
    process = subprocess.Popen([*own, *before, *words], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)
    try:
        assert process.stdout is not None
        assert process.stdin is not None
        assert process.stdout.readline().strip() == "ready"
        network.connect(number, process.pid)
        process.stdin.close()
        assert process.stdout.readline().strip(), f"{name} did not start"
        yield process.pid
    finally:
        process.kill()
        process.wait()
        if process.stdout is not None:
            process.stdout.close()
