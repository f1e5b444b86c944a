"""Block requests out of the lines of the kernel's tracing.

A request is asked for (`block_getrq`, by the task that needs it), issued to the device (`block_rq_issue`, often by a
worker of the kernel) and completed. Who asked is taken from the first, size and time from the second, latency from the
third. A flush has no sectors: it is counted where it is asked for.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Collection, Iterable, Sequence
from dataclasses import dataclass, field

from assay.trace.device import SECTOR, TracedDevice
from assay.trace.operation import KERNEL, OTHER, OWN, TracedOperation

_LINE = re.compile(
    r"^ *(?P<comm>.*)-(?P<task>\d+) +\[\d+\] \S+ +(?P<at>\d+\.\d+): (?P<event>\w+)(?:\(|: )(?P<rest>.*)$",
)
_ASKED = re.compile(r"^(?P<dev>\d+,\d+) (?P<flags>\w+) (?P<sector>\d+) \+ (?P<count>\d+) ")
_ISSUED = re.compile(r"^(?P<dev>\d+,\d+) (?P<flags>\w+) (?P<bytes>\d+) \(.*\) (?P<sector>\d+) \+ (?P<count>\d+) ")
_ENDED = re.compile(r"^(?P<dev>\d+,\d+) (?P<flags>\w+) \(.*\) (?P<sector>\d+) \+ (?P<count>\d+) ")
_FORKED = re.compile(r" pid=(?P<parent>\d+) child_comm=.* child_pid=(?P<child>\d+)")
_INODE = re.compile(r"^bdi (?P<bdi>\S+): ino=(?P<ino>\d+) ")
_SYNC = ("sys_fsync", "sys_fdatasync", "sys_msync", "sys_sync_file_range", "sys_sync")


@dataclass
class Blocks:
    """What the lines say: operations, calls that make data durable (by task), and lines that could not be read."""

    operations: list[TracedOperation] = field(default_factory=list)
    sync_tasks: list[int] = field(default_factory=list)
    unread: int = 0


class Reader:
    """Reads lines in order. `own` are the database's tasks, and grows with those that they start; `inodes` its files,
    by which it is known whose pages a thread of the kernel writes back."""

    def __init__(
        self,
        devices: Sequence[TracedDevice],
        own: set[int] | None,
        is_kernel: Callable[[int, str], bool],
        inodes: Collection[int] = (),
    ) -> None:
        self._devices = {f"{device.number[0]},{device.number[1]}": device for device in devices}
        self._own = own
        self._is_kernel = is_kernel
        self._askers: dict[tuple[str, int], tuple[int, str]] = {}
        self._open: dict[tuple[str, int], TracedOperation] = {}
        self._flushes: dict[str, list[TracedOperation]] = {}
        self._origins: dict[int, str] = {}
        self._inodes = frozenset(inodes)
        self._writes_back: dict[int, bool] = {}
        self.found = Blocks()

    def read(self, lines: Iterable[str]) -> Blocks:
        """All lines of a recording."""
        for line in lines:
            match = _LINE.match(line)
            if match is not None:
                self._event(match["event"], int(match["task"]), match["comm"], float(match["at"]), match["rest"])
            elif line.strip() and not line.startswith(("#", "CPU:")):
                self.found.unread += 1
        return self.found

    def _event(self, event: str, task: int, comm: str, at_s: float, rest: str) -> None:
        if event == "block_getrq":
            self._asked(task, comm, at_s, rest)
        elif event == "block_rq_issue":
            self._issued(task, comm, at_s, rest)
        elif event == "block_rq_complete":
            self._ended(at_s, rest)
        elif event == "sched_process_fork":
            self._forked(rest)
        elif event == "writeback_single_inode_start" and (match := _INODE.match(rest)) is not None:
            self._writes_back[task] = int(match["ino"]) in self._inodes
        elif event in _SYNC:
            self.found.sync_tasks.append(task)

    def _forked(self, rest: str) -> None:
        match = _FORKED.search(f" {rest}")
        if match is not None and self._own is not None and int(match["parent"]) in self._own:
            self._own.add(int(match["child"]))

    def _asked(self, task: int, comm: str, at_s: float, rest: str) -> None:
        match = _ASKED.match(rest)
        if match is None or match["dev"] not in self._devices:
            return
        if match["flags"].startswith("F"):
            flush = TracedOperation("flush", match["dev"], 0, 0, at_s, -1.0, task, self._origin(task, comm), sync=True)
            self.found.operations.append(flush)
            self._flushes.setdefault(match["dev"], []).append(flush)
        self._askers[match["dev"], int(match["sector"])] = (task, self._origin(task, comm))

    def _issued(self, task: int, comm: str, at_s: float, rest: str) -> None:
        match = _ISSUED.match(rest)
        device = self._devices.get(match["dev"]) if match is not None else None
        if match is None or device is None:
            return
        sector, flags = int(match["sector"]), match["flags"].removeprefix("F")
        kind = {"R": "read", "W": "write", "D": "discard"}.get(flags[:1])
        if kind is None or not device.holds(sector) or int(match["bytes"]) == 0:
            return
        asked = self._askers.pop((match["dev"], sector), None)
        asker = asked if asked is not None else (task, self._origin(task, comm))
        operation = TracedOperation(
            kind=kind,
            place=device.name,
            offset=sector * SECTOR,
            bytes=int(match["bytes"]),
            at_s=at_s,
            end_s=-1.0,
            task=asker[0],
            origin=asker[1],
            sync="S" in flags or kind == "read",
            metadata="M" in flags,
        )
        self.found.operations.append(operation)
        self._open[match["dev"], sector] = operation

    def _ended(self, at_s: float, rest: str) -> None:
        match = _ENDED.match(rest)
        if match is None:
            return
        if match["flags"].startswith("FF"):
            for flush in self._flushes.pop(match["dev"], []):
                flush.end_s = at_s
            return
        # A request that is completed in parts reports where each part begins; the first one ends it here.
        operation = self._open.pop((match["dev"], int(match["sector"])), None)
        if operation is not None:
            operation.end_s = at_s

    def _origin(self, task: int, comm: str) -> str:
        """Whose request it is now. Write-back of files that are not the database's is somebody else's."""
        if self._own is None or task in self._own:
            return OWN
        if task not in self._origins:
            self._origins[task] = KERNEL if self._is_kernel(task, comm) else OTHER
        if self._origins[task] == KERNEL and not self._writes_back.get(task, True):
            return OTHER
        return self._origins[task]

    @property
    def knows_inodes(self) -> bool:
        """It was seen whose pages the kernel wrote back."""
        return bool(self._inodes) and bool(self._writes_back)

    def own_sync_calls(self) -> int:
        """Calls that make data durable, by the database's tasks."""
        own = self._own
        return sum(own is None or task in own for task in self.found.sync_tasks)
