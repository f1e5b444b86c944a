"""Places in the guest: namespaces of persistent memory, file systems, arrays. All work in a running guest."""

from __future__ import annotations

import json
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass

from assay_lab.error import GuestError
from assay_lab.guest import Guest

_MAKE_S = 120
_MKFS = {
    "ext4": ("mke2fs", "-q", "-t", "ext4", "-F", "-b", "4096"),
    "xfs": ("mkfs.xfs", "-q", "-f"),
    "btrfs": ("mkfs.btrfs", "-q", "-f"),
    "f2fs": ("mkfs.f2fs", "-q", "-f"),
}
_REGIONS = """
for region in /sys/bus/nd/devices/region*; do
    IFS=, read -r module rest <"$region/mapping0"
    echo "${region##*region} $(cat "/sys/bus/nd/devices/$module/nfit/handle")"
done
"""
FILE_SYSTEMS = tuple(_MKFS)


@dataclass(frozen=True)
class Namespace:
    """A namespace of persistent memory."""

    name: str
    mode: str
    device: str
    """/dev/pmem0, /dev/pmem0s or /dev/dax0.0."""


def namespace(guest: Guest, module: int, mode: str, options: Sequence[str] = ()) -> Namespace:
    """The namespace of a module, made in this mode (`fsdax`, `devdax`, `sector`) where it is not in it yet."""
    region = region_of(guest, module)
    name = f"namespace{region}.0"
    there = _described(guest, region, name)
    if there is None or there.mode != mode:
        # The map of pages in memory leaves the module's own space to data; sectors have none.
        extra = ["--map=mem"] if mode in ("fsdax", "devdax") else ["-l", "4096"]
        guest.run(["ndctl", "create-namespace", "-f", "-e", name, "-m", mode, *extra, *options], timeout_s=_MAKE_S)
        there = _described(guest, region, name)
    if there is None:
        raise GuestError(f"ndctl made {name} and does not list it")
    return there


def region_of(guest: Guest, module: int) -> int:
    """The kernel's number of a module: it counts them in the order in which it happens to find them.

    QEMU numbers their handles from 1 in the order of its command line.
    """
    found = guest.run(_REGIONS).stdout.split()
    by_handle = {int(handle, 16): int(region) for region, handle in zip(found[::2], found[1::2], strict=True)}
    if module + 1 not in by_handle:
        raise GuestError(f"the guest's kernel does not know module {module} of persistent memory, only {by_handle}")
    return by_handle[module + 1]


def _described(guest: Guest, region: int, name: str) -> Namespace | None:
    text = guest.run(["ndctl", "list", "-N", "-X", "-r", f"region{region}"], check=False).stdout.strip()
    listed = json.loads(text) if text else []
    found = [one for one in (listed if isinstance(listed, list) else [listed]) if one.get("dev") == name]
    if not found or found[0].get("mode") == "raw":
        return None
    one = found[0]
    dax = [each["chardev"] for each in one.get("daxregion", {}).get("devices", []) if "chardev" in each]
    device = one.get("blockdev") or one.get("chardev") or (dax[0] if dax else "")
    return Namespace(name, str(one["mode"]), f"/dev/{device}")


def mkfs(guest: Guest, kind: str, device: str, options: Sequence[str] = ()) -> None:
    """Makes a file system."""
    guest.run([*_MKFS[kind], *options, device], timeout_s=_MAKE_S)


@contextmanager
def mounted(guest: Guest, device: str, options: str = "", at: str = "/mnt/place") -> Iterator[str]:
    """A device mounted on a folder of the guest while the context lasts."""
    words = ["-o", options] if options else []
    guest.run(["mkdir", "-p", at])
    guest.run(["mount", *words, device, at], timeout_s=_MAKE_S)
    try:
        yield at
    finally:
        if guest.alive:
            guest.run(["umount", at], timeout_s=_MAKE_S)


@contextmanager
def file_system(guest: Guest, kind: str, device: str, options: str = "", make: Sequence[str] = ()) -> Iterator[str]:
    """A fresh file system, mounted while the context lasts."""
    mkfs(guest, kind, device, make)
    with mounted(guest, device, options, f"/mnt/{kind}") as folder:
        yield folder


@contextmanager
def array(
    guest: Guest,
    level: int,
    devices: Sequence[str],
    name: str = "/dev/md0",
    chunk_kib: int = 64,
    options: Sequence[str] = (),
) -> Iterator[str]:
    """An md array while the context lasts. Its members count as in sync: they are empty."""
    words = ["mdadm", "--create", name, "--run", "--assume-clean", f"--level={level}", f"--raid-devices={len(devices)}"]
    chunk = [] if level == 1 else [f"--chunk={chunk_kib}"]
    guest.run([*words, *chunk, *options, "--metadata=1.2", *devices], timeout_s=_MAKE_S)
    try:
        yield name
    finally:
        if guest.alive:
            guest.run(["mdadm", "--stop", name], timeout_s=_MAKE_S)
            guest.run(["mdadm", "--zero-superblock", *devices], timeout_s=_MAKE_S)
