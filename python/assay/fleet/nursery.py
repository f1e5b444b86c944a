"""Many workers on one machine: what all of them need is loaded once, and each is a fork that shares that memory.

A process of Python that loads Dask takes seconds of a CPU and some 75 MB; a fork of one that has loaded it does not.
`python -I -m assay.fleet.nursery` reads its orders as one line, prints `NAME ADDRESS` when the scheduler knows a
worker, and ends all of them when it is ended, or ends with whoever ordered them.
"""

from __future__ import annotations

import contextlib
import gc
import json
import os
import select
import signal
import sys
import time
from collections.abc import Sequence
from dataclasses import dataclass, field
from pathlib import Path

from assay.binary import Binary, die_with
from assay.error import FAILED, AssayError
from assay.fleet import address, network, serve, work
from assay.fleet.keys import Pair
from assay.untyped import Json

_AT_ONCE = 2
"""Workers that start beside each other, for each CPU."""
_END_S = 8.0


@dataclass
class Nursery:
    """Who was forked, and the pipes of those that are not up yet."""

    children: dict[int, str] = field(default_factory=dict)
    starting: dict[int, str] = field(default_factory=dict)

    def bring_up(self, orders: Sequence[Json]) -> None:
        """All of them, some at a time; a line for each, without an address where it ended instead."""
        most, waiting = _AT_ONCE * len(os.sched_getaffinity(0)), list(orders)
        while waiting or self.starting:
            while waiting and len(self.starting) < most:
                self._fork(waiting.pop(0))
            for handle in select.select(list(self.starting), [], [])[0]:
                found = os.read(handle, 1 << 10).decode().strip()
                os.close(handle)
                print(self.starting.pop(handle), found, flush=True)

    def _fork(self, order: Json) -> None:
        (told, tells), (hears, says) = os.pipe2(os.O_CLOEXEC), os.pipe2(os.O_CLOEXEC)
        parent = os.getpid()
        child = os.fork()
        if child == 0:
            os.close(says)
            _live(order, tells, hears, parent)
        os.close(tells)
        os.close(hears)
        self.children[child] = self.starting[told] = str(order["name"])
        if order["number"]:
            # It says that it is in a network of its own, and waits there for the cable.
            os.read(told, 1)
            network.connect(int(order["number"]), child)
        os.close(says)

    def end(self) -> None:
        """All of them: by their own way, and those that are still there after some seconds at once."""
        for number in (signal.SIGTERM, signal.SIGKILL):
            for child in self.children:
                os.kill(child, number)
            until = time.monotonic() + _END_S
            while self.children and time.monotonic() < until:
                self._reap()
                time.sleep(0.02)

    def _reap(self) -> None:
        for child in list(self.children):
            if os.waitpid(child, os.WNOHANG)[0]:
                del self.children[child]


def _live(order: Json, tells: int, hears: int, parent: int) -> None:
    """A fork: becomes the worker that was ordered, and never returns."""
    code = FAILED
    try:
        signal.signal(signal.SIGTERM, signal.SIG_DFL)
        die_with(parent)()
        # What finds it by its name: its command line is that of all.
        Path("/proc/self/comm").write_text(str(order["name"]), encoding="utf-8")
        if order["number"]:
            network.unshare()
            os.write(tells, b"1")
            os.read(hears, 1)
            network.inside(int(order["number"]))
        code = _worker(order, tells)
    except AssayError as error:
        print(f"{order['name']}: {error.message}", file=sys.stderr, flush=True)
    except OSError as error:
        print(f"{order['name']}: {error}", file=sys.stderr, flush=True)
    finally:
        os._exit(code)


def _worker(order: Json, tells: int) -> int:
    def told(found: str) -> None:
        os.write(tells, found.encode())
        os.close(tells)

    where, name = address.parse(order["scheduler"], keyed=True), str(order["name"])
    return serve.worker(name, where, str(order["listen"]), Pair.of(Path(order["keys"]), name), told)


def main() -> None:
    """Loads, forks, and stays."""
    signal.signal(signal.SIGTERM, lambda *_: sys.exit(0))
    orders = json.loads(sys.stdin.readline())
    serve.ready()
    _load()
    nursery = Nursery()
    try:
        nursery.bring_up(orders)
        while True:
            signal.pause()
    except OSError as error:
        sys.exit(f"a worker's network cannot be made: {error}")
    finally:
        nursery.end()


def _load() -> None:
    """What every worker will need. What is there before the fork is never collected: that would copy its pages."""
    import distributed

    from assay.machine import diagnosis, facts

    with contextlib.suppress(AssayError):
        work.digest(Binary.find().path)
    del distributed, diagnosis, facts
    gc.collect()
    gc.freeze()


if __name__ == "__main__":
    main()
