"""Speaking to a fleet: who is there, named tasks with their keys, clocks, and who was lost."""

from __future__ import annotations

import contextlib
import itertools
import json
import ssl
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from assay.error import FAILED, AssayError
from assay.fleet import address, clock, serve
from assay.fleet.clock import Offset
from assay.fleet.error import FleetError
from assay.fleet.keys import RUN, Pair
from assay.fleet.settings import WORKERS_TIMEOUT_S
from assay.fleet.tasks import perform
from assay.untyped import Json

_LOOK_S = 0.1
_AGAIN_S = 1.0
_SHORT_S = 0.01
"""Between two looks, where many workers share the CPUs of one machine."""
_SHARE_OF_LEAD = 0.5
"""And within this share of the time before the moment they get ready one after the other."""


@dataclass(frozen=True)
class Lost:
    """A host that was there and is not: what it did then, and what was seen."""

    host: str
    during: str
    seen: str
    at: float | None = None
    """When it was seen, by this process's monotonic clock, s; none where that is not known."""


@dataclass
class Fleet:
    """The hosts that belong to a run, by name, and those that were lost."""

    client: Any
    run: str
    workers: dict[str, str]
    lost: dict[str, Lost] = field(default_factory=dict)
    at_once: int = 0
    """How many may compute at a time, where all workers are on one machine; 0: as many as there are."""
    _calls: Iterator[int] = field(default_factory=itertools.count)

    @property
    def hosts(self) -> list[str]:
        """Names of all hosts, lost ones too."""
        return list(self.workers)

    @property
    def there(self) -> list[str]:
        """Names of the hosts that are there."""
        return [host for host in self.workers if host not in self.lost]

    def submit(self, host: str, task: str, arguments: Json, key: str = "") -> Any:
        """A named task for one host and no other, once."""
        return self.client.submit(
            perform,
            task,
            json.dumps(arguments),
            key=key or f"{self.run}/{host}/{task}.{next(self._calls)}",
            workers=[self.workers[host]],
            allow_other_workers=False,
            resources={"assay": 1},
            retries=0,
            pure=False,
        )

    def ask(self, task: str, arguments: Mapping[str, Json]) -> dict[str, Any]:
        """The same of every host that is there and has arguments. A host that is lost meanwhile is left out.

        Raises:
            FleetError: where a host answers with an error; it is named.
        """
        hosts = [host for host in self.there if host in arguments]
        futures, _ = self.each(hosts, lambda host: self.submit(host, task, arguments[host]))
        found = {}
        for host, future in futures.items():
            answer = self.answer(host, future, task)
            if isinstance(answer, AssayError):
                raise FleetError(f"{host}: {answer.message}", answer.hint, answer.code)
            if answer is not None:
                found[host] = answer["answer"]
        return found

    def each(
        self, hosts: Sequence[str], begin: Callable[[str], Any], *, together: bool = False, lead_s: float = 0.0
    ) -> tuple[dict[str, Any], dict[str, float]]:
        """A task for each, until all have ended in whatever way; and when each was seen to have, by this clock, s.

        Where many workers are on one machine, some at a time, unless they have to be under way `together`: then they
        are told one after the other, well before the moment `lead_s` from now. Short looks, so that an interrupt is
        taken.
        """
        most = len(hosts) if together or not self.at_once else self.at_once
        waiting, futures, ended = list(hosts), dict[str, Any](), dict[str, float]()
        while waiting or len(ended) < len(futures):
            while waiting and len(futures) - len(ended) < most:
                host = waiting.pop(0)
                futures[host] = begin(host)
                if together and self.at_once:
                    time.sleep(lead_s * _SHARE_OF_LEAD / len(hosts))
            for host, future in futures.items():
                if host not in ended and future.done():
                    ended[host] = time.monotonic()
            if len(ended) < len(hosts):
                time.sleep(_LOOK_S if most == len(hosts) else _SHORT_S)
        return futures, ended

    def answer(self, host: str, future: Any, during: str, ended: float | None = None) -> Json | AssayError | None:
        """What a task answered; none where its host was lost, which is noted with when it ended."""
        if future.status != "finished":
            self.lost[host] = Lost(host, during, _seen(future), ended)
            return None
        try:
            found: Json = json.loads(future.result())
        except Exception as error:  # noqa: BLE001  A result that never arrives is a host that is lost.
            self.lost[host] = Lost(host, during, f"its answer did not arrive ({type(error).__name__})")
            return None
        if problem := found.get("error"):
            return AssayError(str(problem["message"]), hint=str(problem["hint"]), code=int(problem["exit_code"]))
        return found

    def offsets(self) -> dict[str, Offset]:
        """Clocks of all hosts that are there; a host that does not answer is lost."""
        found = {}
        for host in self.there:
            try:
                exchanges = self.client.sync(self._clock, self.workers[host])
                found[host] = clock.best(exchanges)
            except Exception as error:  # noqa: BLE001  Whatever Dask raises: the host cannot be reached.
                self.lost[host] = Lost(host, "comparing clocks", _short(error))
        return found

    def pages(self) -> int | None:
        """The port of the scheduler's own loopback that shows Dask's live pages; none where it shows none."""
        return self.client.sync(self._pages) or None

    async def _pages(self) -> int:
        return int(await self.client.scheduler.assay_pages())

    async def _clock(self, worker: str) -> list[Json]:
        found: list[Json] = await self.client.scheduler.assay_clock(worker=worker)
        return found

    def stop(self) -> None:
        """Has all hosts finish what they measure, and keep it."""
        with contextlib.suppress(Exception):
            self.client.sync(self._stop)

    async def _stop(self) -> None:
        await self.client.scheduler.assay_stop()


@contextlib.contextmanager
def connected(
    where: str, pair: Pair | None, run: str, hosts: Sequence[str], wait_s: float = WORKERS_TIMEOUT_S
) -> Iterator[Fleet]:
    """A fleet: the hosts that are named, or all that are there, when they are there.

    Raises:
        FleetError: where the scheduler is not believed or not there, or a host is missing.
    """
    serve.ready()
    from distributed import Client

    found = address.parse(where, pair is not None)
    until = time.monotonic() + wait_s
    _greeted(found, pair, until if wait_s > WORKERS_TIMEOUT_S else 0.0)
    try:
        client = Client(str(found), security=pair.security() if pair else None, timeout="15s", set_as_default=False)
    except (OSError, TimeoutError) as error:
        raise serve.not_taken(found, error) from error
    try:
        yield Fleet(client, run, _workers(client, hosts, until))
    finally:
        with contextlib.suppress(Exception):
            client.close(timeout=5)


def pair_of_run(keys: Any) -> Pair | None:
    """Who orders runs; none where no folder of keys is named."""
    return Pair.of(keys, RUN) if keys else None


def _greeted(found: address.Address, pair: Pair | None, until: float) -> None:
    """When the scheduler is there. Who does not believe it learns that at once."""
    while True:
        try:
            return serve.greet(found, pair)
        except FleetError as error:
            if isinstance(error.__cause__, ssl.SSLError) or time.monotonic() > until:
                raise
        time.sleep(_AGAIN_S)


def _workers(client: Any, hosts: Sequence[str], until: float) -> dict[str, str]:
    """Addresses by name, when all that are named are there."""
    while True:
        # -1: all of them; Dask names five otherwise.
        workers = client.scheduler_info(n_workers=-1)["workers"]
        there = {str(worker["name"]): address for address, worker in workers.items()}
        missing = [host for host in hosts if host not in there]
        if there and not missing:
            return {host: there[host] for host in (hosts or sorted(there))}
        if time.monotonic() > until:
            break
        time.sleep(_LOOK_S)
    if not there:
        raise FleetError("the scheduler has no workers", "start `assay fleet worker` on each host", FAILED)
    said = f"not there: {', '.join(missing)}; there: {', '.join(sorted(there))}"
    raise FleetError(f"hosts are missing, and a fleet runs whole or not at all ({said})",
                     "start `assay fleet worker` there, or take them out of the file", FAILED)  # fmt: skip


def _seen(future: Any) -> str:
    if future.status in ("cancelled", "lost"):
        return "the scheduler does not know of it any more"
    try:
        error = future.exception(timeout=5)
    except Exception as other:  # noqa: BLE001  As above.
        error = other
    name = f"{type(error).__name__} {error}"
    if "KilledWorker" in name or "workers died" in name:
        return "its worker ended, or was not heard of"
    if "NoValidWorkerError" in name:
        return "its worker had gone"
    return _short(error)


def _short(error: object) -> str:
    text = str(error).strip().splitlines()
    return f"{type(error).__name__}: {text[0][:200]}" if text else type(error).__name__
