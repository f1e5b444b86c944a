"""Where durability is checked in the guest: a site is a file system or a drive, a cell one way of writing to it."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from enum import StrEnum
from typing import Any

from assay.lab.qemu import KIB, MIB
from assay.study.job import FORMAT_VERSION, path_spec

Json = dict[str, Any]

SHARED = "/share/power"
"""The guest's name of the folder with jobs, journals and what is found."""
_BLOCK = 4 * KIB
_BLOCKS = 64
_GROWN = 64 * MIB
_LONGEST_S = 600.0


class Expect(StrEnum):
    """What a power cut does to what a cell was told is durable."""

    KEPT = "kept"
    """It is all there."""
    LOST = "lost"
    """Nothing made it durable: some of it is lost, and the check sees that."""
    SPARED = "spared"
    """Nothing made it durable, and this emulation cannot lose it all the same."""
    SHOWN = "shown"
    """The emulation leaves it open; what is found is reported and not judged."""


@dataclass(frozen=True)
class Cell:
    """One class of writes."""

    path: str
    """A path and its options, as on the command line: `io_uring+direct`."""
    durability: str
    expect: Expect = Expect.KEPT
    depth: int = 1
    layout: str = "written"

    @property
    def name(self) -> str:
        """Name of its class and of its data set."""
        words = [self.path.replace("+", "-"), self.durability]
        words += [f"q{self.depth}"] if self.depth > 1 else []
        words += [self.layout] if self.layout != "written" else []
        return "-".join(words)

    def dataset(self) -> Json:
        """Its data set: small, so that every block is written over and over; a file that grows never begins anew."""
        size = _GROWN if self.layout == "grow" else _BLOCK * _BLOCKS
        return {"name": self.name, "target": "main", "bytes": size, "content": "stamped", "layout": self.layout}

    def written(self) -> Json:
        """Its class."""
        return {
            "name": self.name,
            "dataset": self.name,
            "path": path_spec(self.path),
            "operation": {"kind": "write"},
            "pattern": {"kind": "sequential" if self.layout == "grow" else "uniform"},
            "size": _BLOCK,
            "depth": self.depth,
            "durability": {"kind": self.durability, "every": 1},
        }


@dataclass(frozen=True)
class Site:
    """A place in the guest, and the cells that write to it at the same time.

    Scripts of the shell find the site's devices as `$1`, `$2`, ...; `make` makes the place, `revive` brings it back after
    the cut. Both leave a folder `/mnt/NAME`, unless the target is the device itself.
    """

    name: str
    cells: Sequence[Cell]
    drives: int = 1
    drive_bytes: int = 64 * MIB
    bus: str = "scsi"
    """`nvme`, `scsi`, or `pmem` for a module of persistent memory."""
    kind: str = "folder"
    device: str = '"$1"'
    """What the place is, for the shell: a drive, an array."""
    make: str = ""
    revive: str = ""
    namespace: str = ""
    """What a module of persistent memory is made: `fsdax`, `devdax` or `sector`."""
    needs: Sequence[str] = field(default_factory=tuple)
    """Programs and modules, as a check names them."""

    @property
    def folder(self) -> str:
        """Where its file system is mounted."""
        return f"/mnt/{self.name}"

    def job(self, member: str, serial: str, seed: int) -> Json:
        """The job of all its cells. `member` is a folder or a device of the guest."""
        target: Json = {"id": "main", "kind": self.kind, "members": [member]}
        if self.kind != "folder":
            target |= {"serials": [serial], "yes_destroy": True}
        return {
            "version": FORMAT_VERSION,
            "name": f"power cut on {self.name}",
            "seed": seed,
            "targets": [target],
            "datasets": [cell.dataset() for cell in self.cells],
            "classes": [cell.written() for cell in self.cells],
            "window": {"measure_s": _LONGEST_S, "interval_ms": 500},
            "checks": {"acknowledgements": f"{SHARED}/{self.name}.journal", "journalling": "write"},
            "scratch": "power",
            "keep_scratch": True,
            "free_percent_at_least": 0,
        }
