"""The two processes of a fleet that stay: the scheduler, and a worker on each host."""

from __future__ import annotations

import asyncio
import contextlib
import os
import signal
import socket
import time
from collections.abc import Awaitable, Callable
from typing import Any

from assay.error import FAILED
from assay.fleet import clock, guard, settings, shelf
from assay.fleet.address import Address
from assay.fleet.error import FleetError
from assay.fleet.keys import Pair
from assay.untyped import Json

_NO_PAGES = "127.0.0.1:0"
_NEVER_MORE_THAN_S = 30
_GREET_S = 15.0
Say = Callable[[str], None]


def ready() -> None:
    """Dask, told what it needs to be told and guarded; before anything else of it is used."""
    settings.apply()
    guard.install()


def scheduler(address: Address, pair: Pair | None, say: Say, pages: int | None = None) -> int:
    """Serves until it is told to stop; `say` hears the address. Dask's pages, on this machine's port `pages` alone.

    Raises:
        FleetError: where pages are wanted and bokeh, which draws them, is not installed, or the port is taken.
    """
    ready()
    if pages is not None:
        settings.allow_pages(pages)
    asyncio.run(_scheduler(address, pair, say, pages))
    return 0


def worker(name: str, where: Address, host: str, pair: Pair | None, say: Say, *, attached: int | None = None) -> int:
    """Works for a scheduler until that is gone, or it is told to stop, or `attached`, a descriptor, is at its end."""
    ready()
    greet(where, pair)
    try:
        asyncio.run(_worker(name, where, host, pair, say, attached))
    except (OSError, TimeoutError, RuntimeError) as error:
        raise not_taken(where, error) from error
    return 0


def greet(where: Address, pair: Pair | None) -> None:
    """Shakes hands with a scheduler once: who is not believed learns it at once, where Dask would try for long.

    Raises:
        FleetError: where nobody answers there, or one of both is not believed.
    """
    try:
        with socket.create_connection((where.host, where.port), timeout=_GREET_S) as opened:
            if pair is not None:
                pair.greet(opened)
    except OSError as error:
        raise not_taken(where, error) from error


async def _scheduler(address: Address, pair: Pair | None, say: Say, pages: int | None) -> None:
    from distributed import Scheduler

    security = pair.security() if pair else None
    opened = Scheduler(
        host=address.host,
        port=address.port,
        protocol=address.scheme,
        security=security,
        # Locks, queues, events, shuffles: shared state that a measurement has no use for.
        extensions={},
        dashboard=pages is not None,
        dashboard_address=_NO_PAGES if pages is None else f"127.0.0.1:{pages}",
    )
    opened.handlers["assay_clock"] = lambda worker: _exchanges(opened, worker)
    opened.handlers["assay_stop"] = lambda: _stop_all(opened)
    opened.handlers["assay_pages"] = lambda: pages or 0
    async with opened:
        say(opened.address)
        await _until_told(opened.finished(), opened.close)


async def _exchanges(scheduler: Any, worker: str) -> list[Json]:
    """Clocks before, there, and after, twenty times."""
    found = []
    speaks = scheduler.rpc(worker)
    for _ in range(clock.EXCHANGES):
        sent = _both()
        host = await speaks.assay_clock()
        found.append({"sent": sent, "host": host, "received": _both()})
    return found


def _both() -> Json:
    return {"monotonic_ns": time.monotonic_ns(), "wall_ns": time.time_ns()}


async def _stop_all(scheduler: Any) -> int:
    """Has every worker finish what it measures, and keep it."""
    told = 0
    for worker in list(scheduler.workers):
        with contextlib.suppress(OSError):
            await scheduler.rpc(worker).assay_stop()
            told += 1
    return told


async def _worker(name: str, where: Address, host: str, pair: Pair | None, say: Say, attached: int | None) -> None:
    from distributed import Worker

    from assay.fleet.work import UNDER_WAY

    opened = Worker(
        str(where),
        name=name,
        nthreads=1,
        resources={"assay": 1},
        host=host or None,
        protocol=where.scheme,
        security=pair.security() if pair else None,
        memory_limit=0,
        extensions={},
        dashboard=False,
        dashboard_address=_NO_PAGES,
        local_directory=str(shelf.folder("dask")),
        death_timeout=_NEVER_MORE_THAN_S,
    )
    opened.handlers["assay_clock"] = clock.now
    opened.handlers["assay_stop"] = UNDER_WAY.stop
    async with opened:
        say(opened.address)
        await _until_told(opened.finished(), lambda: _closed(opened), attached)


async def _closed(worker: Any) -> None:
    """What is measured finishes first, so that nothing is left of it."""
    from assay.fleet.work import UNDER_WAY

    UNDER_WAY.stop()
    await worker.close(nanny=False)


async def _until_told(
    finished: Awaitable[Any], close: Callable[[], Awaitable[Any]], attached: int | None = None
) -> None:
    """Waits until the server ends; SIGINT and SIGTERM end it, and the end of what it is attached to."""
    stop = asyncio.Event()
    loop = asyncio.get_running_loop()
    for number in (signal.SIGINT, signal.SIGTERM):
        loop.add_signal_handler(number, stop.set)
    if attached is not None:
        loop.add_reader(attached, _heard, loop, attached, stop)
    ended, told = asyncio.ensure_future(finished), asyncio.ensure_future(stop.wait())
    await asyncio.wait({ended, told}, return_when=asyncio.FIRST_COMPLETED)
    if told.done():
        await close()
    told.cancel()


def _heard(loop: asyncio.AbstractEventLoop, attached: int, stop: asyncio.Event) -> None:
    """Nothing is said any more to a worker: what can be read is the end."""
    with contextlib.suppress(OSError):
        if os.read(attached, 1 << 12):
            return
    loop.remove_reader(attached)
    stop.set()


def not_taken(where: Address, error: BaseException) -> FleetError:
    """Why a scheduler cannot be spoken to, in a sentence."""
    cause: BaseException | None = error
    while cause is not None:
        if "certificate" in str(cause).lower() or "SSL" in type(cause).__name__:
            hint = "give the keys that `assay fleet keys` made for this fleet, and its ca.pem"
            return FleetError(f"{where} and this host do not believe each other's certificates", hint, FAILED)
        cause = cause.__cause__ or cause.__context__
    hint = "look whether `assay fleet scheduler` runs there, and whether a firewall lets it be reached"
    return FleetError(f"{where} does not answer as a fleet's scheduler: {error}", hint, FAILED)
