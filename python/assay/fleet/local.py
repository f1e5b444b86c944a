"""A fleet of this machine alone: a scheduler and so many workers, as processes that end with this one."""

from __future__ import annotations

import contextlib
import os
import subprocess
import sys
import tempfile
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path

from assay.binary import die_with
from assay.error import FAILED
from assay.fleet import keys, network
from assay.fleet.error import FleetError

MOST = 200
_END_S = 10.0


@dataclass(frozen=True)
class Local:
    """Where the scheduler listens, the keys, and what is to be said of the workers."""

    address: str
    keys: Path
    names: tuple[str, ...]
    note: str


def names(count: int) -> tuple[str, ...]:
    """What workers of this machine are called."""
    width = len(str(count))
    return tuple(f"h{number:0{width}d}" for number in range(1, count + 1))


@contextlib.contextmanager
def started(count: int) -> Iterator[Local]:
    """The processes, meanwhile."""
    if not 1 <= count <= MOST:
        raise FleetError(f"--local {count}: between 1 and {MOST} workers", "give a number of workers")
    hosts = names(count)
    with (
        network.private() as refused,
        tempfile.TemporaryDirectory(prefix="assay-fleet-") as place,
        contextlib.ExitStack() as running,
    ):
        keys.make(Path(place), hosts, days=2)
        here = "127.0.0.1" if refused else network.HUB
        scheduler = running.enter_context(_process(["scheduler", "--listen", f"tls://{here}:0", "--keys", place]))
        where = _first_word(scheduler, "the scheduler")
        processes = [scheduler]
        for number, host in enumerate(hosts, 1):
            processes.append(_worker(running, number, host, where, place, not refused))
        # Each says its address when the scheduler knows it: so many may take long to begin.
        for host, process in zip(hosts, processes[1:], strict=True):
            _first_word(process, host)
        note = (
            f"workers are processes of this machine, on its loopback: {refused}"
            if refused
            else "workers are processes of this machine, each in a network of its own"
        )
        try:
            yield Local(where, Path(place), hosts, note)
        finally:
            # All at once; what follows waits for each.
            for process in processes:
                process.terminate()


def _worker(
    running: contextlib.ExitStack, number: int, host: str, where: str, place: str, apart: bool
) -> subprocess.Popen[str]:
    listen = network.address(number) if apart else "127.0.0.1"
    words = ["worker", where, "--name", host, "--listen", listen, "--keys", place]
    if not apart:
        return running.enter_context(_process(words))
    before = [sys.executable, "-I", "-m", "assay.fleet.network", str(number)]
    process = running.enter_context(_process(words, before, waits=True))
    _first_word(process, host)
    try:
        network.connect(number, process.pid)
    except OSError as error:
        raise FleetError(f"{host} has no network: {error}", "look at what the kernel has for veth", FAILED) from error
    if process.stdin is not None:
        process.stdin.close()
    return process


@contextlib.contextmanager
def _process(words: Sequence[str], before: Sequence[str] = (), waits: bool = False) -> Iterator[subprocess.Popen[str]]:
    """`assay fleet WORDS` beside this one; it ends with this one, however that ends."""
    process = subprocess.Popen(
        [*before, sys.executable, "-I", "-m", "assay", "fleet", *words],
        stdin=subprocess.PIPE if waits else subprocess.DEVNULL,
        stdout=subprocess.PIPE,
        text=True,
        start_new_session=True,
        preexec_fn=die_with(os.getpid()),  # noqa: PLW1509  No threads yet.
    )
    try:
        yield process
    finally:
        process.terminate()
        try:
            process.wait(_END_S)
        except subprocess.TimeoutExpired:
            process.kill()
            process.wait()
        for pipe in (process.stdin, process.stdout):
            if pipe is not None:
                pipe.close()


def _first_word(process: subprocess.Popen[str], who: str) -> str:
    line = process.stdout.readline().strip() if process.stdout is not None else ""
    if not line:
        raise FleetError(f"{who} did not start", "the lines above say why", FAILED)
    return line
