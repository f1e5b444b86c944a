"""The hosts of a fleet as an executor: whichever is free takes the next piece, and a lost host's goes to another.

What is computed may be computed twice: nothing is measured, and what a soak writes lies in a folder of its own.
"""

from __future__ import annotations

import time
from collections import deque
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from typing import Any

from assay.binary import Binary
from assay.error import FAILED, NOT_POSSIBLE, AssayError
from assay.executor.work import Heard, Work
from assay.fleet import computing
from assay.fleet import work as host
from assay.fleet.call import Fleet
from assay.fleet.error import FleetError
from assay.untyped import Json

_LOOK_S = 0.01


def executor_of(fleet: Fleet) -> FleetExecutor:
    """The hosts of a fleet.

    Raises:
        FleetError: where one of them would not answer as this machine does: it has another Assay.
    """
    mine = host.versions() | {"assayer_sha256": host.digest(Binary.find().path)}
    for name, look in fleet.ask("look", {one: {} for one in fleet.there}).items():
        if differing := [key for key, value in mine.items() if look[key] != value]:
            message = f"{name} has another Assay than this machine ({', '.join(differing)}), and would answer otherwise"
            raise FleetError(message, "install the same on both; `assay fleet doctor` shows them", NOT_POSSIBLE)
    return FleetExecutor(fleet)


@dataclass
class FleetExecutor:
    """The hosts that are there."""

    fleet: Fleet
    here: bool = False

    @property
    def size(self) -> int:
        """How many hosts there are."""
        return max(1, len(self.fleet.there))

    def do(self, work: Work, orders: Sequence[Json], heard: Heard | None = None) -> list[Any]:
        """As `WorkExecutor` has it.

        Raises:
            AssayError: what the work raises, or that no host is left.
        """
        return _Doing(self.fleet, computing.name(work), orders, heard or (lambda *_: None)).done()


@dataclass
class _Doing:
    """Orders that wait, and those that are under way by host."""

    fleet: Fleet
    work: str
    orders: Sequence[Json]
    heard: Callable[[int, Any], None]
    found: dict[int, Any] = field(default_factory=dict)
    under_way: dict[str, tuple[int, Any]] = field(default_factory=dict)

    def done(self) -> list[Any]:
        waiting = deque(range(len(self.orders)))
        while len(self.found) < len(self.orders):
            for one in self.fleet.there:
                if one not in self.under_way and waiting:
                    place = waiting.popleft()
                    asked = {"work": self.work, "order": self.orders[place]}
                    self.under_way[one] = place, self.fleet.submit(one, "compute", asked)
            if not self.under_way:
                lost = ", ".join(f"{one.host} ({one.seen})" for one in self.fleet.lost.values())
                raise FleetError(f"no host is left to compute: {lost}", "start their workers again", FAILED)
            waiting.extendleft(self._collected())
            time.sleep(_LOOK_S)
        return [self.found[place] for place in range(len(self.orders))]

    def _collected(self) -> list[int]:
        """Takes the answers that are there; places of orders whose host was lost."""
        again = []
        for name, (place, future) in list(self.under_way.items()):
            if not future.done():
                continue
            del self.under_way[name]
            said = self.fleet.answer(name, future, f"computing {self.work}")
            if isinstance(said, AssayError):
                raise said
            if said is None:
                again.append(place)
            else:
                self.found[place] = said["answer"]
                self.heard(place, said["answer"])
        return again
