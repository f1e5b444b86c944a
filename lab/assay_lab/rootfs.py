"""The guest's initial RAM disk: tools, libraries, modules, and the agent that obeys the host."""

from __future__ import annotations

import subprocess
from pathlib import Path

from assay_lab.cache import Cache, key_of
from assay_lab.kernel import Kernel
from assay_lab.newc import Archive
from assay_lab.tools import Tools

_FOLDERS = ("proc", "sys", "dev", "run", "tmp", "mnt", "share", "host", "var", "etc")
# Programs that do what the name says that they are called by.
_NAMES = {
    "kmod": ("modprobe", "insmod", "rmmod", "lsmod", "modinfo", "depmod"),
    "mke2fs": ("mkfs.ext4", "mkfs.ext3", "mkfs.ext2"),
    "lvm": ("pvcreate", "vgcreate", "lvcreate", "vgchange", "lvremove", "vgremove", "pvremove"),
    "dash": ("sh",),
}


def assemble(cache: Cache, kernel: Kernel, tools: Tools) -> Path:
    """The archive, made once for what it holds."""
    files = [*tools.programs.values(), *tools.libraries.values()]
    stamps = [(path, path.stat().st_size, path.stat().st_mtime_ns) for path in sorted(files)]
    parts = (kernel.version, kernel.modules, kernel.modules.stat().st_mtime_ns, init(), agent(), _NAMES, _FOLDERS)
    key = key_of(*parts, *stamps, sorted(tools.programs))
    return cache.entry("rootfs", key, lambda folder: _write(folder / "initrd", kernel, tools)) / "initrd"


def init() -> str:
    """The first program."""
    return _script("init.sh")


def agent() -> str:
    """The program that carries out what the host asks."""
    return _script("agent.sh")


def _script(name: str) -> str:
    return (Path(__file__).parent / "inside" / name).read_text(encoding="ascii")


def _write(path: Path, kernel: Kernel, tools: Tools) -> None:
    # Not compressed: unpacking costs an emulated processor far more than loading.
    with path.open("wb") as stream:
        archive = Archive(stream)
        for name in _FOLDERS:
            archive.folder(name)
        # The kernel opens it for the first program before any file system is mounted.
        archive.character_device("dev/console", 5, 1)
        archive.text("init", init(), 0o755)
        archive.text("sbin/agent", agent(), 0o755)
        archive.text("etc/passwd", "root:x:0:0::/:/bin/sh\nnobody:x:65534:65534::/:/bin/sh\n")
        archive.text("etc/group", "root:x:0:\nnogroup:x:65534:\n")
        archive.link("etc/mtab", "/proc/mounts")
        _programs(archive, tools)
        _modules(archive, kernel)
        archive.close()


def _programs(archive: Archive, tools: Tools) -> None:
    taken: set[str] = set()
    for name, path in tools.programs.items():
        archive.file(f"sbin/{name}", path)
        links = _NAMES.get(name, ())
        for link in links:
            archive.link(f"sbin/{link}", name)
        taken |= {name, *links}
    archive.link("bin/sh", "/sbin/dash")
    # Real programs come first in PATH; what there is none of, busybox does.
    for applet in sorted(set(_applets(tools.programs["busybox"])) - taken):
        archive.link(f"bin/{applet}", "/sbin/busybox")
    for place, library in tools.libraries.items():
        archive.file(place, library)


def _modules(archive: Archive, kernel: Kernel) -> None:
    root = f"lib/modules/{kernel.version}"
    for path in sorted(kernel.modules.rglob("*")):
        if path.is_file():
            archive.file(f"{root}/{path.relative_to(kernel.modules)}", path, 0o644)


def _applets(busybox: Path) -> list[str]:
    done = subprocess.run([str(busybox), "--list"], capture_output=True, text=True, check=False)
    return done.stdout.split()
