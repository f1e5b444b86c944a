"""The file system that a target lies on: its kind, its options, its free space."""

from collections.abc import Iterator, Mapping
from typing import Any

from assay.machine.facts import MachineFacts
from assay.machine.finding import Finding, Level
from assay.space import kept

FREE_SHARE_GOOD = 0.20
_MEMORY = {"tmpfs", "ramfs", "hugetlbfs"}
_REMOTE = {"nfs", "nfs4", "cifs", "smb3", "9p", "virtiofs", "ceph", "glusterfs", "fuse.sshfs"}
_LAYERED = {"overlay", "aufs", "ecryptfs"}


def _each(facts: MachineFacts) -> Iterator[tuple[str, Mapping[str, Any]]]:
    for target in facts.targets():
        if target.get("file_system"):
            yield str(target.get("path", "")), target["file_system"]


def kind(facts: MachineFacts) -> Iterator[Finding]:
    """Some file systems are not on a device at all."""
    for path, system in _each(facts):
        name = str(system.get("kind", ""))
        seen = f"{name} at {system.get('mount_point', '')}"
        if name in _MEMORY:
            why = "this is memory: no device is measured"
            yield Finding(Level.WARN, "file system", seen, why, "name a folder on the disk with --on", path)
        elif name in _REMOTE:
            why = "the network and the server are part of every figure"
            yield Finding(Level.NOTE, "file system", seen, why, "name a folder on a local disk with --on", path)
        elif name in _LAYERED:
            why = "a layer lies between the files and the disk, and may refuse direct I/O"
            yield Finding(
                Level.WARN, "file system", seen, why, "name a folder that is mounted from the host with --on", path
            )
        else:
            yield Finding(Level.OK, "file system", seen, target=path)


def read_only(facts: MachineFacts) -> Iterator[Finding]:
    """Nothing can be prepared there."""
    for path, system in _each(facts):
        options = str(system.get("options", "")).split(",")
        if "ro" in options:
            fix = f"sudo mount -o remount,rw {system.get('mount_point')}, or name another folder with --on"
            yield Finding(Level.BLOCKER, "mount options", "mounted read-only", "no data can be prepared", fix, path)


def discard(facts: MachineFacts) -> Iterator[Finding]:
    """Deleting files sends TRIM at once, or in batches."""
    for path, system in _each(facts):
        if "discard" in str(system.get("options", "")).split(","):
            why = "every deleted file sends TRIM commands, which delay other I/O"
            fix = f"sudo mount -o remount,nodiscard {system.get('mount_point')} and enable fstrim.timer"
            yield Finding(Level.NOTE, "TRIM", "mounted with discard", why, fix, path)


def free_space(facts: MachineFacts) -> Iterator[Finding]:
    """A full file system is slow, and a full disk stops others."""
    for path, system in _each(facts):
        total, free = float(system.get("total_bytes", 0)), float(system.get("free_bytes", 0))
        if total <= 0:
            continue
        seen = f"{free / 2**30:.1f} GiB of {total / 2**30:.1f} GiB ({free / total:.0%})"
        if free <= kept(total):
            why = f"Assay never lets free space fall under {kept(total) / 2**30:.1f} GiB here"
            yield Finding(
                Level.BLOCKER, "free space", seen, why, "free some space, or name another folder with --on", path
            )
        elif free / total < FREE_SHARE_GOOD:
            why = "file systems and flash devices slow down when they are nearly full"
            yield Finding(Level.WARN, "free space", seen, why, "free some space, then run fstrim", path)
        else:
            yield Finding(Level.OK, "free space", seen, target=path)


CHECKS = (kind, read_only, discard, free_space)
