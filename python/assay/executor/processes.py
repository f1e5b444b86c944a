"""ProcessExecutor of this machine, by Dask: whichever is free takes the next order. Nothing listens."""

from __future__ import annotations

import contextlib
import json
import os
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any

from assay.binary import die_with
from assay.executor.work import Heard, Work, answer, performed
from assay.untyped import Json


@dataclass(frozen=True)
class ProcessExecutor:
    """So many of them, which stay for all that is done: a catalog that was read is read."""

    size: int
    pool: Any
    here: bool = True

    def do(self, work: Work, orders: Sequence[Json], heard: Heard | None = None) -> list[Any]:
        """As `WorkExecutor` has it."""
        import dask
        from dask.callbacks import Callback

        once = dask.delayed(performed, pure=False, traverse=False)
        # As text: Dask would look through a document for more work.
        asked = [once(work, json.dumps(order), dask_key_name=f"order-{place}") for place, order in enumerate(orders)]

        def report(key: str, said: str, *_: Any) -> None:
            if heard is not None:
                heard(int(str(key).rpartition("-")[2]), answer(said))

        with dask.config.set(scheduler="processes", num_workers=self.size, chunksize=1), Callback(posttask=report):
            return [answer(said) for said in dask.compute(*asked, pool=self.pool, optimize_graph=False)]


@contextlib.contextmanager
def started(number: int) -> Iterator[ProcessExecutor]:
    """The processes, meanwhile; they end with this one, however it ends."""
    import multiprocessing
    from concurrent.futures import ProcessPoolExecutor

    # Asked for before any process starts: its packages come when they are first imported.
    import dask  # noqa: F401

    fresh = multiprocessing.get_context("spawn")
    with ProcessPoolExecutor(number, mp_context=fresh, initializer=_attached, initargs=(os.getpid(),)) as pool:
        yield ProcessExecutor(number, pool)


def _attached(parent: int) -> None:
    """A process whose parent was killed would wait for orders for ever."""
    die_with(parent)()


def cores() -> int:
    """Cores that this process may use."""
    return len(os.sched_getaffinity(0))
