"""The programs of the guest: the host's own, or out of packages that are unpacked and not installed."""

from __future__ import annotations

import os
import re
import shutil
import subprocess
from collections.abc import Iterable
from dataclasses import dataclass
from pathlib import Path

from assay.error import NOT_POSSIBLE

from assay_lab import apt
from assay_lab.cache import Cache, key_of
from assay_lab.error import LabError

PACKAGE_OF = {
    **dict.fromkeys(("kmod",), "kmod"),
    **dict.fromkeys(("busybox",), "busybox-static"),
    **dict.fromkeys(("mke2fs", "tune2fs", "e2fsck", "debugfs", "filefrag", "chattr"), "e2fsprogs"),
    **dict.fromkeys(("mkfs.xfs", "xfs_repair", "xfs_io"), "xfsprogs"),
    **dict.fromkeys(("mkfs.btrfs", "btrfs"), "btrfs-progs"),
    **dict.fromkeys(("mkfs.f2fs", "fsck.f2fs"), "f2fs-tools"),
    **dict.fromkeys(("mdadm",), "mdadm"),
    **dict.fromkeys(("ndctl",), "ndctl"),
    **dict.fromkeys(("daxctl",), "daxctl"),
    **dict.fromkeys(("lvm",), "lvm2"),
    **dict.fromkeys(("dmsetup",), "dmsetup"),
    **dict.fromkeys(("losetup", "mount", "umount", "swapon", "swapoff"), "mount"),
    **dict.fromkeys(("mkswap", "wipefs", "blkid", "lsblk", "blockdev", "setpriv", "setsid", "taskset"), "util-linux"),
    # Busybox's own would start its applets in the place of programs of the same name.
    **dict.fromkeys(("env", "timeout", "nohup", "nice"), "coreutils"),
    **dict.fromkeys(("xargs", "find"), "findutils"),
    **dict.fromkeys(("sfdisk",), "fdisk"),
    **dict.fromkeys(("nvme",), "nvme-cli"),
    **dict.fromkeys(("fio",), "fio"),
    **dict.fromkeys(("dash",), "dash"),
}
"""Programs and the Debian package of each."""
NEEDED = ("kmod", "busybox", "dash")
_FOLDERS = ("usr/sbin", "usr/bin", "sbin", "bin")
_LIBRARY = re.compile(r"=> (/\S+) \(|^\s+(/\S+) \(", re.MULTILINE)


@dataclass(frozen=True)
class Tools:
    """Programs by name, and the libraries of all of them by soname."""

    programs: dict[str, Path]
    libraries: dict[str, Path]
    lacking: dict[str, str]
    """Programs that could not be had, each with the package that would bring it."""


def assemble(cache: Cache, also: Iterable[Path] = ()) -> Tools:
    """The guest's programs; `also` are further ones whose libraries are wanted."""
    programs = {name: found for name in PACKAGE_OF if (found := _on_host(name)) is not None}
    root = _unpacked(cache, packages_missing())
    if root is not None:
        programs |= {name: found for name in PACKAGE_OF if name not in programs and (found := _under(root, name))}
    lacking = {name: PACKAGE_OF[name] for name in PACKAGE_OF if name not in programs}
    needed = [name for name in NEEDED if name in lacking]
    if needed:
        names = " ".join(lacking[name] for name in needed)
        message = f"the lab's guest needs {', '.join(needed)}, which this machine lacks"
        raise LabError(message, hint=f"sudo apt-get install -y {names}", code=NOT_POSSIBLE)
    return Tools(programs, _libraries([*programs.values(), *also], root), lacking)


def packages_missing() -> list[str]:
    """The packages of programs that are not installed here."""
    return sorted({package for name, package in PACKAGE_OF.items() if _on_host(name) is None})


def _on_host(name: str) -> Path | None:
    path = os.pathsep.join([os.environ.get("PATH", ""), "/usr/sbin", "/sbin", "/usr/bin", "/bin"])
    found = shutil.which(name, path=path)
    if found is None:
        return None
    program = Path(found).resolve()
    # A wrapper script, or a busybox that needs libraries, is not what the guest can use.
    if not _is_elf(program) or (name == "busybox" and _needed(program, None)):
        return None
    return program if os.access(program, os.R_OK) else None


def _unpacked(cache: Cache, packages: list[str]) -> Path | None:
    """A folder with what these packages and their missing dependencies hold."""
    if not packages:
        return None
    if not apt.there():
        return cache.newest("tools")
    try:
        debs = apt.describe(apt.missing(packages))
    except LabError:
        newest = cache.newest("tools")
        if newest is None:
            raise
        return newest
    return cache.entry("tools", key_of(*(deb.file + deb.digest for deb in debs)), lambda at: apt.fetch(debs, at))


def _under(root: Path, name: str) -> Path | None:
    return next((root / folder / name for folder in _FOLDERS if _is_elf(root / folder / name)), None)


def _is_elf(path: Path) -> bool:
    try:
        with path.open("rb") as file:
            return file.read(4) == b"\x7fELF"
    except OSError:
        return False


def _libraries(programs: Iterable[Path], root: Path | None) -> dict[str, Path]:
    """Every library that the programs need, by the path at which the guest looks for it."""
    found: dict[str, Path] = {}
    for program in sorted(set(programs)):
        for library in _needed(program, root):
            found.setdefault(_place(library), library.resolve())
    return found


def _needed(program: Path, root: Path | None) -> list[Path]:
    folders = [] if root is None else sorted({path.parent for path in root.rglob("*.so*")})
    environment = os.environ | {"LC_ALL": "C", "LD_LIBRARY_PATH": os.pathsep.join(map(str, folders))}
    done = subprocess.run(["ldd", str(program)], capture_output=True, text=True, check=False, env=environment)
    if "not found" in done.stdout:
        gone = [line.split()[0] for line in done.stdout.splitlines() if "not found" in line]
        raise LabError(f"{program.name} needs {', '.join(gone)}, which no package brought", code=NOT_POSSIBLE)
    return [Path(first or second) for first, second in _LIBRARY.findall(done.stdout)]


def _place(library: Path) -> str:
    """The loader keeps its path, which is written into every program; all others lie in /lib."""
    return str(library) if library.name.startswith("ld-linux") else f"/lib/{library.name}"
