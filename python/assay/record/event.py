"""What the measuring program says while it runs, line by line.

Made from schema/ by `tools/record_types.py`; a test says when it is stale.
"""

from typing import Literal, TypedDict

from assay.record.record import Record
from assay.record.work import WorkRecord


class EventStarted(TypedDict, total=False):
    """The job was read and found good."""

    event: Literal["started"]
    name: str
    pid: int
    seconds: float
    version: int


class EventProgress(TypedDict, total=False):
    """Something that takes time moved on: preparing data, filling caches, warming up."""

    detail: str
    done: float
    event: Literal["progress"]
    stage: str


IntervalSample = TypedDict(
    "IntervalSample",
    {
        "bytes": int,
        "class": str,
        "max_ns": int,
        "mean_ns": float,
        "operations": int,
    },
    total=False,
)
"""Figures of one class over one interval."""


class EventInterval(TypedDict, total=False):
    """An interval of the window ended."""

    at_s: float
    classes: list[IntervalSample]
    event: Literal["interval"]


class EventFinished(TypedDict, total=False):
    """The run ended; its record."""

    event: Literal["finished"]
    record: Record


class EventWorked(TypedDict, total=False):
    """The run of an index, an engine or a database ended; its record."""

    event: Literal["worked"]
    record: WorkRecord


class EventRefused(TypedDict, total=False):
    """The run could not be done."""

    event: Literal["refused"]
    exit_code: int
    fix: str
    reason: str


Event = EventStarted | EventProgress | EventInterval | EventFinished | EventWorked | EventRefused
"""One line of a run's standard output."""
