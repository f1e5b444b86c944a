"""Data that is not there, or is cheap to serve."""

from __future__ import annotations

import os
import subprocess

import pytest
from e2e import places, program
from e2e.jobs import MIB, dataset, job, klass
from e2e.program import Outcome, Running

from lies.gallery import REFUSED, lie
from lies.room import Room, as_found, device_target, during, small


def fallocate(*words: str) -> None:
    done = subprocess.run(["fallocate", *words], capture_output=True, text=True, check=False)
    if done.returncode != 0:
        pytest.skip(f"the file system of the temporary folder cannot do this: {done.stderr.strip()}")


@lie("holes", "Half of the file that is read are holes: the file system answers without the disk.", "unwritten-extents")
def holes(room: Room) -> Outcome:
    path = room.somebodys(os.urandom(16 * MIB))
    fallocate("--punch-hole", "--offset", str(4 * MIB), "--length", str(8 * MIB), str(path))
    return program.run(as_found(path, measure_s=1.0))


@lie("space-never-written", "Half of the file is allocated and was never written.", "unwritten-extents")
def never_written(room: Room) -> Outcome:
    path = room.somebodys(os.urandom(8 * MIB))
    fallocate("--offset", str(8 * MIB), "--length", str(8 * MIB), str(path))
    return program.run(as_found(path, measure_s=1.0))


@lie(
    "holes-punched-in-mid-run",
    "Somebody punches three quarters of the file while it is read.",
    "target-changed",
)
def punched(room: Room) -> Outcome:
    def punch(_: Running) -> None:
        name = next(room.folder.glob("*/*.data"))
        fallocate("--punch-hole", "--offset", str(4 * MIB), "--length", str(24 * MIB), str(name))

    return during(job(room.folder, klass(), **small(32), measure_s=1.2), punch)


@lie(
    "zeros",
    "The data set is all zeros, and a drive or file system that compresses stores nothing.",
    "compressible-data",
)
def zeros(room: Room) -> Outcome:
    return program.run(job(room.folder, **small(16, content="zero"), measure_s=1.0))


@lie(
    "discarded-device",
    "A device is read whose blocks were all discarded.",
    "unwritten-extents",
)
def discarded(room: Room) -> Outcome:
    with places.loop(room.spare / "image", 32 * MIB) as device:
        found = dataset(size=32 * MIB, layout="as-found")
        return program.run(job(device_target(device), klass(), datasets=[found], measure_s=1.0))


@lie(
    "shorter-than-asked",
    "64 MiB of a file are to be read that has 8 MiB.",
    REFUSED,
    says="does not fit",
)
def shorter(room: Room) -> Outcome:
    return program.run(as_found(room.somebodys(os.urandom(8 * MIB)), size=64 * MIB, measure_s=1.0))
