"""How far the clocks of hosts lie apart: by the best of twenty exchanges, with what that can be wrong by at most."""

from __future__ import annotations

import ctypes
import struct
import time
from collections.abc import Sequence
from dataclasses import dataclass

from assay.untyped import Json

EXCHANGES = 20
WALL_APART_S = 0.5
"""Dates of records that lie further apart than this mislead; a host whose clock is further off is named."""
_TIMEX_BYTES = 256
_UNSYNCHRONISED = 5
_LIBC = ctypes.CDLL(None, use_errno=True)


@dataclass(frozen=True)
class Offset:
    """A host's clock against the scheduler's, ns: monotonic clocks, by which loads begin, and clocks of the day."""

    ahead_ns: int
    error_ns: int
    wall_ahead_ns: int
    kernel_error_ns: int
    """What the host's kernel says that its clock of the day may be wrong by."""
    synchronised: bool
    scheduler_ns: int
    """The scheduler's monotonic clock at the best exchange."""

    def here(self, host_ns: int) -> int:
        """A time of the host on the scheduler's clock."""
        return host_ns - self.ahead_ns

    def there(self, scheduler_ns: int) -> int:
        """A time of the scheduler on the host's clock."""
        return scheduler_ns + self.ahead_ns

    def document(self) -> Json:
        """As it stands in fleet.json."""
        return {
            "ahead_ns": self.ahead_ns,
            "error_ns": self.error_ns,
            "wall_ahead_ns": self.wall_ahead_ns,
            "kernel_error_ns": self.kernel_error_ns,
            "synchronised": self.synchronised,
        }


def now() -> Json:
    """Both clocks of this host, and what its kernel thinks of the second one."""
    error_ns, synchronised = _kernel()
    return {
        "monotonic_ns": time.monotonic_ns(),
        "wall_ns": time.time_ns(),
        "kernel_error_ns": error_ns,
        "synchronised": synchronised,
    }


def best(exchanges: Sequence[Json]) -> Offset:
    """The offset by the exchange that took least time: half of that is the most that it can be wrong by.

    An exchange has the scheduler's clocks before and after it (`sent`, `received`), and the host's between (`host`).
    """
    one = min(exchanges, key=lambda one: one["received"]["monotonic_ns"] - one["sent"]["monotonic_ns"])
    sent, received, host = one["sent"], one["received"], one["host"]
    took = received["monotonic_ns"] - sent["monotonic_ns"]
    middle = sent["monotonic_ns"] + took // 2
    wall_middle = sent["wall_ns"] + (received["wall_ns"] - sent["wall_ns"]) // 2
    return Offset(
        ahead_ns=host["monotonic_ns"] - middle,
        error_ns=took - took // 2,
        wall_ahead_ns=host["wall_ns"] - wall_middle,
        kernel_error_ns=int(host["kernel_error_ns"]),
        synchronised=bool(host["synchronised"]),
        scheduler_ns=middle,
    )


def told(host: str, offset: Offset) -> str:
    """A sentence where a host's clock of the day is off; empty where it is not."""
    ahead_s = offset.wall_ahead_ns / 1e9
    if abs(ahead_s) <= WALL_APART_S:
        return ""
    way = "ahead of" if ahead_s > 0 else "behind"
    return (
        f"{host}'s clock is {abs(ahead_s):.1f} s {way} the scheduler's: the dates in its records are off by that; "
        "starts are not, they go by offsets that were measured"
    )


def _kernel() -> tuple[int, bool]:
    """adjtimex(2) with nothing to change: the largest error in ns, and whether the clock is synchronised."""
    buffer = ctypes.create_string_buffer(_TIMEX_BYTES)
    state = _LIBC.adjtimex(buffer)
    _, _, _, maximum_us, _, _ = struct.unpack_from("@i4xqqqqi", buffer.raw)
    return int(maximum_us) * 1000, 0 <= state < _UNSYNCHRONISED
