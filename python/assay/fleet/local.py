"""A fleet of this machine alone: a scheduler and so many workers, as processes that end with this one."""

from __future__ import annotations

import contextlib
import os
import tempfile
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

from assay.fleet import children, keys, network
from assay.fleet.error import FleetError
from assay.untyped import Json

MOST = 200
_FOR_EACH_CPU = 3


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


def at_once() -> int:
    """Workers of this machine that compute at a time: more would only wait for each other."""
    return _FOR_EACH_CPU * len(os.sched_getaffinity(0))


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
        scheduler, where = running.enter_context(children.scheduler(here, Path(place)))
        orders = [_order(number, host, where, place, not refused) for number, host in enumerate(hosts, 1)]
        nursery = running.enter_context(children.nursery(orders))
        note = (
            f"workers are processes of this machine, on its loopback: {refused}"
            if refused
            else "workers are processes of this machine, each in a network of its own"
        )
        try:
            yield Local(where, Path(place), hosts, note)
        finally:
            # Both at once; what follows waits for each.
            for process in (nursery, scheduler):
                process.terminate()


def _order(number: int, host: str, where: str, place: str, apart: bool) -> Json:
    """What a worker is told: its number where it has a network of its own, else 0."""
    listen = network.address(number) if apart else "127.0.0.1"
    return {"name": host, "number": number if apart else 0, "listen": listen, "scheduler": where, "keys": place}
