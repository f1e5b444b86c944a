"""One operation, and all that a recording brought. Times in seconds of the recording's clock, sizes in bytes."""

from __future__ import annotations

from dataclasses import dataclass, field

from assay.untyped import Json

OWN, KERNEL, OTHER = "own", "kernel", "other"
"""Who asked for an operation: the database's own tasks, a thread of the kernel, somebody else."""


@dataclass(slots=True)
class TracedOperation:
    """A read, a write or a flush. `end_s` is below `at_s` where the end was not seen.

    `place` is the device or the file. `sync` says that somebody waits for it, `metadata` that the file system asked for
    it on its own account.
    """

    kind: str
    place: str
    offset: int
    bytes: int
    at_s: float
    end_s: float
    task: int
    origin: str
    sync: bool = False
    metadata: bool = False


@dataclass
class Recording:
    """What a means brought. `kernel_share` is the part of the kernel's own writes that is the database's."""

    means: str
    seconds: float
    operations: list[TracedOperation]
    kernel_share: float = 1.0
    buffered: bool = False
    lost: int = 0
    sync_calls: int | None = None
    cannot_know: list[str] = field(default_factory=list)
    assumed: list[str] = field(default_factory=list)
    facts: Json = field(default_factory=dict)


@dataclass(frozen=True)
class Stop:
    """Why a recording ended before its time; empty where it did not. `interrupted`: somebody asked for it."""

    reason: str = ""
    interrupted: bool = False
