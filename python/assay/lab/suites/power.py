"""Power cuts: what was acknowledged as durable is there afterwards, and what nothing made durable is caught being lost."""

from __future__ import annotations

from collections.abc import Callable

from assay.lab.check import Broken, Skip, check
from assay.lab.cut import Found, Outcome, power_cut
from assay.lab.lab import Lab
from assay.lab.qemu import MIB
from assay.lab.site import Cell, Expect, Site

_ACKNOWLEDGED_AT_LEAST = 5
_STATES = 2

_BUFFERED = (
    Cell("pread", "fdatasync"),
    Cell("pread", "fsync"),
    Cell("pread", "o_dsync"),
    Cell("pread", "rwf_dsync"),
    Cell("pread", "fdatasync", layout="grow"),
    Cell("pread", "fdatasync", layout="preallocated"),
    Cell("mmap", "msync"),
    Cell("mmap", "msync", layout="preallocated"),
    Cell("libaio", "fdatasync", depth=4),
    Cell("io_uring", "fdatasync", depth=4),
    Cell("pread", "none", Expect.LOST),
    Cell("mmap", "none", Expect.LOST),
)
_FLUSHED = (
    Cell("pread+direct", "fdatasync"),
    Cell("libaio+direct", "fdatasync", depth=4),
    Cell("io_uring+direct", "fdatasync", depth=4),
    Cell("io_uring+direct+fixed", "fsync", depth=4),
)
# On drives of their own: no flush of a neighbour's covers for one that is missing.
_FORCED = (
    Cell("pread+direct", "o_dsync"),
    Cell("pread+direct", "rwf_dsync", layout="preallocated"),
    Cell("libaio+direct", "o_dsync", depth=4),
    Cell("io_uring+direct", "rwf_dsync", depth=4),
)
_PERSISTED = (
    Cell("pmem", "persist"),
    Cell("pmem+nt", "persist"),
    Cell("pmem+clwb", "persist"),
    Cell("pmem+clflushopt", "persist"),
)
_SPARED = Cell("pmem+nopersist", "none", Expect.SPARED)

_MKFS = {
    "ext4": ("mkfs.ext4 -q -F -b 4096", 64 * MIB, ("mke2fs",)),
    "xfs": ("mkfs.xfs -q -f", 320 * MIB, ("mkfs.xfs", "module:xfs")),
    "btrfs": ("mkfs.btrfs -q -f", 256 * MIB, ("mkfs.btrfs", "module:btrfs")),
    "f2fs": ("mkfs.f2fs -q -f", 128 * MIB, ("mkfs.f2fs", "module:f2fs")),
}


def _on_file_system(kind: str, cells: tuple[Cell, ...], suffix: str = "") -> Site:
    program, size, needs = _MKFS[kind]
    name = kind + suffix
    mount = f'mount -t {kind} "$1" /mnt/{name}'
    return Site(name, cells, drive_bytes=size, make=f'{program} "$1"\n{mount}', revive=mount, needs=needs)


def _on_array(level: int, members: int) -> Site:
    name, array = f"raid{level}", f"/dev/md{level}"
    created = f"mdadm --create {array} --run --assume-clean --level={level} --raid-devices={members} --metadata=1.2"
    quiet = f'{created} --chunk=64 "$@"\nmkfs.ext4 -q -F -b 4096 {array}\nmount -t ext4 {array} /mnt/{name}'
    back = f'mdadm --assemble --run {array} "$@"\nmount -t ext4 {array} /mnt/{name}'
    cells = (
        Cell("pread", "fdatasync"),
        Cell("pread+direct", "rwf_dsync"),
        Cell("io_uring+direct", "fdatasync", depth=4),
        Cell("mmap", "msync"),
        Cell("pread", "none", Expect.LOST),
    )
    needs = ("mdadm", "mke2fs", "module:md_mod", f"module:{'raid456' if level == 5 else name}")
    return Site(name, cells, drives=members, drive_bytes=32 * MIB, make=quiet, revive=back, needs=needs)


def _on_drive(name: str, cell: Cell, bus: str = "nvme") -> Site:
    return Site(name, (cell,), drive_bytes=16 * MIB, bus=bus, kind="block-device")


def _on_pmem(name: str, namespace: str, kind: str, options: str, cells: tuple[Cell, ...]) -> Site:
    program, size, needs = _MKFS[kind]
    reflink = " -m reflink=0" if kind == "xfs" else ""
    mount = f'mount -t {kind} {options} "$1" /mnt/{name}'
    made = f'{program}{reflink} "$1"\n{mount}'
    return Site(
        name, cells, drive_bytes=size, bus="pmem", make=made, revive=mount, namespace=namespace, needs=("ndctl", *needs)
    )


SITES = (
    _on_file_system("ext4", (*_BUFFERED, *_FLUSHED)),
    _on_file_system("ext4", _FORCED, "-forced"),
    _on_file_system("xfs", (*_BUFFERED, *_FLUSHED)),
    _on_file_system("xfs", _FORCED, "-forced"),
    _on_file_system("btrfs", (*_BUFFERED, *_FLUSHED)),
    _on_file_system("f2fs", (*_BUFFERED, *_FLUSHED)),
    _on_array(0, 2),
    _on_array(5, 3),
    _on_array(10, 4),
    _on_drive("nvme-flushed", Cell("pread+direct", "fdatasync")),
    _on_drive("nvme-uring", Cell("io_uring+direct", "fdatasync", depth=8)),
    _on_drive("nvme-aio", Cell("libaio+direct", "fsync", depth=8)),
    _on_drive("nvme-passthrough", Cell("nvme_passthrough+direct", "fdatasync", depth=4)),
    _on_drive("nvme-none", Cell("pread+direct", "none", Expect.LOST)),
    _on_drive("nvme-passthrough-none", Cell("nvme_passthrough+direct", "none", Expect.LOST)),
    _on_drive("nvme-passthrough-forced", Cell("nvme_passthrough+direct", "o_dsync", Expect.SHOWN)),
    _on_drive("scsi-forced", Cell("pread+direct", "o_dsync"), "scsi"),
    _on_drive("scsi-uring", Cell("io_uring+direct", "rwf_dsync", depth=8), "scsi"),
    _on_drive("scsi-none", Cell("io_uring+direct", "none", Expect.LOST, depth=8), "scsi"),
    _on_pmem("dax-ext4", "fsdax", "ext4", "-o dax=always", (*_PERSISTED, Cell("mmap", "msync"), Cell("pread", "fdatasync"), _SPARED)),
    _on_pmem("dax-xfs", "fsdax", "xfs", "-o dax=always", (*_PERSISTED, Cell("mmap", "msync"), Cell("pread", "fsync"))),
    _on_pmem(
        "not-dax",
        "fsdax",
        "ext4",
        "-o dax=never",
        (Cell("mmap", "msync"), Cell("pread", "fdatasync"), Cell("mmap", "none", Expect.LOST), Cell("pread", "none", Expect.LOST)),
    ),
    Site("devdax", (Cell("pmem", "persist"), Cell("pmem+clwb", "persist")), bus="pmem", kind="device-dax", namespace="devdax", needs=("ndctl",)),
    _on_pmem("btt", "sector", "ext4", "", (Cell("pread", "fdatasync"), Cell("pread+direct", "o_dsync"), Cell("mmap", "msync"), Cell("pread", "none", Expect.LOST))),
)
