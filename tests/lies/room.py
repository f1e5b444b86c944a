"""Where a lie is staged: a folder, a disk of its own, and the means to act in mid-run."""

from __future__ import annotations

import os
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from assay.untyped import Json
from e2e import program
from e2e.jobs import MIB, dataset, job
from e2e.places import Loop
from e2e.program import Outcome, Running


@dataclass(frozen=True)
class Room:
    """What a stage may use; all of it is removed by whoever made it."""

    folder: Path
    """An empty folder on the disk where the tests run, to measure in."""
    spare: Path
    """An empty folder for images and mount points."""
    device: Loop
    """A disk of its own, 256 MiB, that the whole gallery shares."""
    place: Path
    """Where the disk is mounted (ext4)."""

    def somebodys(self, content: bytes, name: str = "table") -> Path:
        """A file of somebody's, on disk."""
        return written(self.spare / name, content)


def written(path: Path, content: bytes) -> Path:
    """A file, on disk and not in the page cache."""
    with path.open("wb") as file:
        file.write(content)
        os.fsync(file.fileno())
        os.posix_fadvise(file.fileno(), 0, 0, os.POSIX_FADV_DONTNEED)
    return path


def file_target(path: Path) -> Json:
    """A file of somebody's, as target."""
    return {"id": "main", "kind": "file", "members": [str(path)]}


def as_found(path: Path, *classes: Json, size: int = 0, **more: Any) -> Json:
    """A job that reads a file of somebody's, or the first `size` bytes of it."""
    found = dataset(size=size or path.stat().st_size, layout="as-found")
    return job(file_target(path), *classes, **({"datasets": [found]} | more))


def device_target(device: Loop, *, writes: bool = False) -> Json:
    """A block device, as target."""
    target: Json = {"id": "main", "kind": "block-device", "members": [str(device.device)]}
    return target | ({"serials": [device.serial], "yes_destroy": True} if writes else {})


def during(wanted: Json, act: Callable[[Running], object], at_s: float = 0.3, prefix: Sequence[str] = ()) -> Outcome:
    """Runs a job and does something once its window is `at_s` old."""
    run = program.start(wanted, prefix)
    try:
        if run.until("interval", at_s=at_s) is not None:
            act(run)
    finally:
        outcome = run.end()
    return outcome


def small(megabytes: int = 8, **more: Any) -> Json:
    """The data sets of a job: one small one."""
    return {"datasets": [dataset(size=megabytes * MIB, **more)]}
