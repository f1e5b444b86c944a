"""Operations out of a file that another program wrote: fio's log of its operations, or blktrace's events."""

from __future__ import annotations

import struct
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path
from typing import BinaryIO

from assay.error import BAD_JOB
from assay.trace import classes
from assay.trace.device import SECTOR
from assay.trace.error import TraceError
from assay.trace.found import FoundServer
from assay.trace.operation import OWN, Recording, TracedOperation

MOST = 2_000_000
"""Operations that are read; a longer file is read from its begin."""
_LONGEST_LINE = 4096
_LARGEST_BYTES = 1 << 28
_FARTHEST = 1 << 62
_LONGEST_NUMBER = 19
_SHORTEST_S = 0.001

# `struct blk_io_trace` of linux/blktrace_api.h: magic and version, sequence, time in ns, sector, bytes, action, pid,
# device, CPU, error, bytes that follow.
_EVENT = "IIQQIIIIIHH"
_MAGIC = 0x65617400
_QUEUE, _ISSUE, _COMPLETE = 1, 7, 8
_WRITE, _FLUSH, _SYNC, _NOTIFY, _META, _DISCARD = (1 << (16 + bit) for bit in (1, 2, 3, 10, 12, 13))


def read(path: Path, depth: int = 32) -> FoundServer:
    """The classes of a file. `depth` bounds what is in flight where the file does not say when operations ended.

    Raises:
        TraceError: where it cannot be read, is of another kind, or says not when operations began.
    """
    try:
        with path.open("rb") as file:
            first = file.read(4)
            file.seek(0)
            found = _blktrace(path, file) if _order(first) else _iolog(path, file, depth)
    except OSError as error:
        raise TraceError(f"{path} cannot be read: {error.strerror}", hint="name a file", code=BAD_JOB) from error
    if not found.classes:
        raise TraceError(f"{path} holds no reads and no writes", hint="record while something works", code=BAD_JOB)
    if found.seconds < _SHORTEST_S:
        said = f"{path} spans less than a millisecond: no rate can be told from that"
        raise TraceError(said, hint="record for longer", code=BAD_JOB)
    return found


def _found(means: str, operations: list[TracedOperation], ended: float, *, whole: bool) -> FoundServer:
    seconds = max(ended, 1e-9)
    seen = classes.classes_of(Recording(means, seconds, operations))
    found = FoundServer(means, seconds, seen.classes, cannot_know=seen.not_known(seconds))
    found.stopped = "" if whole else f"the file has more than {MOST:,} operations; the first ones were read"
    found.facts = {"operations": len(operations), "discards": sum(one.kind == "discard" for one in operations)}
    return found


def _iolog(path: Path, file: BinaryIO, depth: int) -> FoundServer:
    head = file.readline(_LONGEST_LINE).strip()
    if head == b"fio version 2 iolog":
        said = f"{path} does not say when operations began (fio's log of version 2)"
        hint = "write the log anew with fio 3.31 or later, which notes the time of each"
        raise TraceError(said, hint=hint, code=BAD_JOB)
    if head != b"fio version 3 iolog":
        said = f"{path} is neither a log of fio's (write_iolog) nor events of blktrace"
        hint = "fio's begins with `fio version 3 iolog`; `blkparse -d FILE` writes the events of all CPUs into one file"
        raise TraceError(said, hint=hint, code=BAD_JOB)
    operations = list(_first(_iolog_operations(path, file)))
    whole = len(operations) <= MOST
    operations = sorted(_synced(operations[:MOST]), key=lambda one: one.at_s)
    begin = operations[0].at_s if operations else 0.0
    moved = [replace(one, at_s=one.at_s - begin) for one in operations]
    found = _found("iolog", moved, moved[-1].at_s if moved else 0.0, whole=whole)
    found.classes = [replace(one, depth=max(1, depth)) for one in found.classes]
    found.cannot_know += ["when operations ended, and so how many were in flight"]
    found.assumed = [
        f"at most {depth} in flight for each class",
        "every file is a part of one as large as what was touched",
    ]
    return found


def _first(operations: Iterator[TracedOperation]) -> Iterator[TracedOperation]:
    """One more than are kept, so that it is seen whether there are more."""
    for number, one in enumerate(operations):
        yield one
        if number >= MOST:
            return


_KINDS = {"read": "read", "write": "write", "trim": "discard", "sync": "flush", "datasync": "flush"}
_FILE_WORDS = ("add", "open", "close")


def _iolog_operations(path: Path, file: BinaryIO) -> Iterator[TracedOperation]:
    """Lines of version 3: microseconds, file, action, and of an operation its offset and bytes."""
    places: dict[str, int] = {}
    for number, raw in enumerate(iter(lambda: file.readline(_LONGEST_LINE), b""), 2):
        words = raw.decode("utf-8", "replace").split()
        if not words or (len(words) >= 3 and words[2] in _FILE_WORDS):
            continue
        kind = _KINDS.get(words[2], "") if len(words) == 5 else ""
        at_us, offset, bytes_ = (_whole(words[index]) for index in (0, 3, 4)) if kind else (-1, -1, -1)
        moves = kind in ("read", "write")
        if min(at_us, offset, bytes_) < 0 or (moves and bytes_ > _LARGEST_BYTES):
            said = f"{path}, line {number}: `{' '.join(words)[:80]}` is no line of a log of version 3"
            hint = "microseconds, file, action, offset, bytes; an operation moves up to 256 MiB"
            raise TraceError(said, hint=hint, code=BAD_JOB)
        task = places.setdefault(words[1], len(places))
        yield TracedOperation(kind, words[1], offset, bytes_, at_us / 1e6, -1.0, task, OWN)


def _whole(word: str) -> int:
    """A whole number up to 2^62; below 0 where it is none."""
    digits = word.isascii() and word.isdigit() and len(word) <= _LONGEST_NUMBER
    return int(word) if digits and int(word) <= _FARTHEST else -1


def _synced(operations: list[TracedOperation]) -> list[TracedOperation]:
    """Somebody waits for the writes of a file that is synced."""
    places = {one.place for one in operations if one.kind == "flush"}
    for one in operations:
        one.sync = one.kind != "write" or one.place in places
    return [one for one in operations if one.kind == "flush" or one.bytes > 0]


def _order(first: bytes) -> str:
    """Byte order of blktrace's events; empty where the file is none."""
    orders = (order for order in "<>" if len(first) == 4 and struct.unpack(f"{order}I", first)[0] >> 8 == _MAGIC >> 8)
    return next(orders, "")


def _blktrace(path: Path, file: BinaryIO) -> FoundServer:
    issued = _Events(_ISSUE)
    queued = _Events(_QUEUE)
    for event in _events(path, file):
        issued.take(event)
        queued.take(event)
        if len(queued.operations) > MOST or len(issued.operations) > MOST:
            break
    # A device without a queue of its own, as of md or device mapper, issues nothing.
    seen = issued if issued.operations else queued
    operations = sorted(seen.operations[:MOST], key=lambda one: one.at_s)
    begin = operations[0].at_s if operations else 0.0
    for one in operations:
        one.at_s, one.end_s = one.at_s - begin, one.end_s - begin if one.end_s >= 0 else -1.0
    last = max((max(one.at_s, one.end_s) for one in operations), default=0.0)
    found = _found("blktrace", operations, last, whole=len(seen.operations) <= MOST)
    found.cannot_know += [
        "which file an operation was for: offsets are those of the device",
        "what the page cache answered: that is no block operation",
    ]
    found.assumed = ["everything in the file is the load's, whoever asked for it"]
    return found


class _Events:
    """Operations that begin with one kind of event and end when the device completes them."""

    def __init__(self, begins: int) -> None:
        self._begins = begins
        self._open: dict[tuple[int, int], TracedOperation] = {}
        self.operations: list[TracedOperation] = []

    def take(self, event: tuple[int, ...]) -> None:
        _, _, time_ns, sector, bytes_, action, pid, device, _, _, _ = event
        if action & _NOTIFY:
            return
        if action & 0xFF == self._begins:
            self._begin(time_ns / 1e9, sector, bytes_, action, pid, device)
        elif action & 0xFF == _COMPLETE and (one := self._open.pop((device, sector), None)) is not None:
            one.end_s = max(one.at_s, time_ns / 1e9)

    def _begin(self, at_s: float, sector: int, bytes_: int, action: int, pid: int, device: int) -> None:
        place = f"{device >> 20},{device & 0xFFFFF}"
        kind = "write" if action & _WRITE else "read"
        if bytes_ == 0:
            if action & _FLUSH:
                self.operations.append(TracedOperation("flush", place, 0, 0, at_s, -1.0, pid, OWN, sync=True))
            return
        if action & _DISCARD or bytes_ > _LARGEST_BYTES:
            kind = "discard"
        offset = sector * SECTOR
        sync, metadata = kind == "read" or bool(action & _SYNC), bool(action & _META)
        one = TracedOperation(kind, place, offset, bytes_, at_s, -1.0, pid, OWN, sync, metadata)
        self._open[device, sector] = one
        self.operations.append(one)


def _events(path: Path, file: BinaryIO) -> Iterator[tuple[int, ...]]:
    order = _order(file.read(4))
    file.seek(0)
    form = struct.Struct(order + _EVENT)
    while head := file.read(form.size):
        if len(head) < form.size:
            return  # The last event of a recording that was ended while it wrote.
        event = form.unpack(head)
        if event[0] >> 8 != _MAGIC >> 8:
            said = f"{path}, byte {file.tell() - form.size}: no event of blktrace begins there"
            raise TraceError(said, hint="make the file anew: `blkparse DEVICE -d FILE -o /dev/null`", code=BAD_JOB)
        file.seek(event[-1], 1)
        yield event
