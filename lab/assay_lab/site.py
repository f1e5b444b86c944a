"""Where durability is checked in the guest: a site is a file system or a drive, a cell one way of writing to it.

Who writes and who looks afterwards are programs of the shell. Those of a site that names none are `assayer run` and
`assayer verify`; an index or an engine brings its own. Both find the place in `$PLACE` (a folder or a device) and in
`$STREAM` a file of the host, which survives the cut.

- The writer appends to the stream, by a system call each, what it is about to make durable before it begins, and what
  is durable once it is. It prints a line `{"event": "interval", "at_s": 1}` when it is at work, and goes on until it
  dies.
- The checker prints one JSON document, `{"datasets": [{"name": ..., "acknowledged": ..., "found": ..., "torn": ...,
  "lost": ..., "corrupt": ..., "examples": [...]}]}` with an entry for each cell: of what was acknowledged, how much was
  found, was torn by what was in flight, is lost, and is neither the one nor the other.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from enum import StrEnum
from typing import Any

from assay.study.job import FORMAT_VERSION, path_spec

from assay_lab.qemu import KIB, MIB

Json = dict[str, Any]

SHARED = "/share/power"
"""The guest's name of the folder with jobs, journals and what is found."""
_RUN = f"exec assayer run {SHARED}/$SITE.job"
_BLOCK = 4 * KIB
_BLOCKS = 64
_GROWN = 16 * MIB
_LONGEST_S = 600.0
_ACKNOWLEDGED_AT_LEAST = 5


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

    def judge(self, counted: Json | None) -> str:
        """A sentence where what was counted is not what is expected; nothing otherwise."""
        if counted is None:
            return f"{self.name}: the checker says nothing of it"
        acknowledged, lost, corrupt = (int(counted[key]) for key in ("acknowledged", "lost", "corrupt"))
        first = f" ({counted['examples'][0]})" if counted.get("examples") else ""
        if acknowledged < _ACKNOWLEDGED_AT_LEAST:
            return f"{self.name}: {acknowledged} blocks were acknowledged / {_ACKNOWLEDGED_AT_LEAST} at least"
        if self.expect is Expect.SHOWN:
            return ""
        if corrupt:
            return f"{self.name}: {corrupt} of {acknowledged} blocks are corrupt{first} / none"
        if self.expect is Expect.LOST and not lost:
            return f"{self.name}: nothing made {acknowledged} blocks durable, and none is seen as lost / some"
        if self.expect in (Expect.KEPT, Expect.SPARED) and lost:
            return f"{self.name}: {lost} of {acknowledged} blocks are lost{first} / none"
        return ""

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

    Scripts of the shell find the site's devices as `$1`, `$2`, ...; `make` makes the place, `revive` brings it back
    after the cut. Both leave a folder `/mnt/NAME`, unless the target is the device itself.
    """

    name: str
    cells: Sequence[Cell]
    drives: int = 1
    drive_bytes: int = 64 * MIB
    bus: str = "scsi"
    """`nvme`, `scsi`, or `pmem` for a module of persistent memory."""
    kind: str = "folder"
    make: str = ""
    revive: str = ""
    namespace: str = ""
    """What a module of persistent memory is made: `fsdax`, `devdax` or `sector`."""
    needs: Sequence[str] = field(default_factory=tuple)
    """Programs and modules, as a check names them."""
    audit: str = ""
    """After the look: unmounts the place and has its own program say whether its structure is sound; 0 where it is."""
    absent: int = 0
    """Drives, the last ones, that do not come back after the cut."""
    writer: str = _RUN
    checker: str = f"assayer verify {SHARED}/$SITE.job"

    def judge(self, counted: dict[str, Json]) -> list[str]:
        """Sentences about the cells that are not as expected."""
        said = (cell.judge(counted.get(cell.name)) for cell in self.cells)
        return [f"{self.name}: {one}" for one in said if one]

    @property
    def judged(self) -> bool:
        """Whether anything is expected of it."""
        return any(cell.expect is not Expect.SHOWN for cell in self.cells)

    @property
    def folder(self) -> str:
        """Where its file system is mounted."""
        return f"/mnt/{self.name}"

    @property
    def measures(self) -> bool:
        """Whether the measuring program is its writer, and needs a job."""
        return self.writer == _RUN

    @property
    def link(self) -> str:
        """A link to its device, whatever the guest calls that after a boot."""
        return f"/dev/disk/by-id/power-{self.name}"

    @property
    def member(self) -> str:
        """Folder or device that is written to."""
        return self.folder if self.kind == "folder" else self.link

    def job(self, serial: str, seed: int) -> Json:
        """The job of all its cells. `serial` confirms a device."""
        target: Json = {"id": "main", "kind": self.kind, "members": [self.member]}
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
