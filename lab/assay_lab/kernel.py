"""The guest's kernel: an image and as many modules as the lab uses."""

from __future__ import annotations

import lzma
import os
import re
import shutil
import subprocess
from collections.abc import Iterable
from dataclasses import dataclass
from pathlib import Path

from assay.error import BAD_JOB, NOT_POSSIBLE

from assay_lab import apt
from assay_lab.cache import Cache, key_of
from assay_lab.error import LabError

MODULES = (
    *("virtio_pci", "virtio_console", "virtio_rng", "9pnet_virtio", "9p"),
    *("nfit", "nd_pmem", "nd_btt", "device_dax", "dax_pmem", "kmem", "nvme", "loop", "null_blk", "brd", "zram"),
    *("ext4", "xfs", "btrfs", "f2fs", "vfat", "fuse"),
    *("raid0", "raid1", "raid10", "raid456", "linear", "md_mod"),
    *("dm_mod", "dm_delay", "dm_flakey", "dm_log_writes", "dm_snapshot", "dm_crypt"),
    *("vfio_pci", "vfio_iommu_type1", "uio_pci_generic", "pci_stub"),
    *("crc32c_generic", "crc32c_intel", "crc32_generic", "crc32_pclmul", "sha256_generic", "blake2b_generic"),
    *("xxhash_generic", "nls_cp437", "nls_ascii", "nls_iso8859_1", "scsi_mod", "sd_mod", "virtio_scsi"),
)
NEEDED = ("virtio_console", "9p", "9pnet_virtio", "nvme", "nfit", "nd_pmem")
_PACKAGES = ("linux-image-amd64", "linux-image-generic")
_CONCRETE = re.compile(r"^linux-(image|modules|modules-extra)-\d\S*$")


@dataclass(frozen=True)
class Kernel:
    """A kernel that the lab boots."""

    version: str
    image: Path
    """What QEMU loads: a bzImage, or the ELF file out of it."""
    modules: Path
    """The folder lib/modules/VERSION; its indexes know only what lies in it."""
    origin: str
    """Where it comes from, in words."""

    def has(self, name: str) -> bool:
        """Whether a module is there, or built in."""
        return _known(self.modules, name) is not None or _canonical(name) in _built_in(self.modules)


def assemble(cache: Cache, kmod: Path, image: Path | None = None, modules: Path | None = None) -> Kernel:
    """The kernel that was named, the distribution's, or this host's own."""
    if (image is None) != (modules is None):
        raise LabError("--kernel and --modules belong together", hint="name both, or neither", code=BAD_JOB)
    if image is not None and modules is not None:
        return _checked(_copied(cache, kmod, image, modules, f"{image} as named"))
    if apt.there():
        return _checked(_packaged(cache, kmod))
    own = of_host()
    if own is None:
        hint = "name one: --kernel VMLINUZ --modules /lib/modules/VERSION"
        raise LabError("there is no apt-get and no readable kernel in /boot", hint=hint, code=NOT_POSSIBLE)
    return _checked(_copied(cache, kmod, *own, "this host's own"))


def package_names() -> list[str]:
    """The packages that hold the distribution's full kernel; nothing where it has none by these names."""
    for name in _PACKAGES:
        found = [one for one in apt.dependencies(name) if _CONCRETE.match(one)]
        if found:
            return found
    return []


def _packaged(cache: Cache, kmod: Path) -> Kernel:
    names = package_names()
    if not names:
        newest = cache.newest("kernel")
        if newest is not None:
            return _in_entry(newest, "cached; apt-get knows no kernel package now")
        known = " or ".join(_PACKAGES)
        hint = "sudo apt-get update; or name a kernel: --kernel VMLINUZ --modules /lib/modules/VERSION"
        raise LabError(f"apt-get knows no kernel package ({known})", hint=hint, code=NOT_POSSIBLE)
    debs = apt.describe(names)

    def make(folder: Path) -> None:
        unpacked = folder / "unpacked"
        unpacked.mkdir()
        apt.fetch(debs, unpacked)
        images = sorted((unpacked / "boot").glob("vmlinuz-*"))
        version = images[-1].name.removeprefix("vmlinuz-") if images else ""
        source = next((unpacked / lib / version for lib in ("lib/modules", "usr/lib/modules")), unpacked)
        if not images or not source.is_dir():
            raise LabError(f"{', '.join(names)} hold no kernel with modules", code=NOT_POSSIBLE)
        _keep(kmod, images[-1], source, folder)
        shutil.rmtree(unpacked)

    key = key_of(*(deb.file + deb.digest for deb in debs), *MODULES)
    return _in_entry(cache.entry("kernel", key, make), ", ".join(deb.file for deb in debs))


def _copied(cache: Cache, kmod: Path, image: Path, modules: Path, origin: str) -> Kernel:
    for path, what in ((image, "kernel"), (modules / "modules.order", "module folder")):
        if not os.access(path, os.R_OK):
            hint = "name a readable kernel image and its folder /lib/modules/VERSION"
            raise LabError(f"the {what} {path} cannot be read", hint=hint, code=BAD_JOB)
    stamp = [(path, path.stat().st_size, path.stat().st_mtime_ns) for path in (image, modules / "modules.order")]
    key = key_of(*stamp, *MODULES)
    return _in_entry(cache.entry("kernel", key, lambda folder: _keep(kmod, image, modules, folder)), origin)


def of_host() -> tuple[Path, Path] | None:
    """Image and modules of the newest kernel installed here that can be read."""
    for modules in sorted(Path("/lib/modules").glob("*"), reverse=True):
        image = Path("/boot") / f"vmlinuz-{modules.name}"
        if os.access(image, os.R_OK) and (modules / "modules.order").is_file():
            return image, modules
    return None


def _in_entry(entry: Path, origin: str) -> Kernel:
    modules = next((entry / "lib/modules").iterdir())
    return Kernel(modules.name, entry / "image", modules, origin)


def _keep(kmod: Path, image: Path, modules: Path, folder: Path) -> None:
    """Puts the image and the wanted modules with all that these need into a folder, and indexes them."""
    version = modules.name
    if not (modules / "modules.dep").is_file():
        _depmod(kmod, modules.parent.parent.parent, version)
    kept = folder / "lib/modules" / version
    for name in _closure(modules):
        (kept / name).parent.mkdir(parents=True, exist_ok=True)
        shutil.copyfile(modules / name, kept / name)
    for index in ("modules.order", "modules.builtin", "modules.builtin.modinfo"):
        if (modules / index).is_file():
            shutil.copyfile(modules / index, kept / index)
    _depmod(kmod, folder, version)
    (folder / "image").write_bytes(bootable(image.read_bytes()))


def bootable(image: bytes) -> bytes:
    """The ELF file in a bzImage that xz compressed: unpacking it once here saves seconds of every emulated boot.

    Anything else stays as it is. The payload's place is told by the boot protocol (Documentation/arch/x86/boot.rst).
    """
    if image[0x202:0x206] != b"HdrS":
        return image
    setup = (image[0x1F1] or 4) + 1
    start = setup * 512 + int.from_bytes(image[0x248:0x24C], "little")
    payload = image[start : start + int.from_bytes(image[0x24C:0x250], "little")]
    if not payload.startswith(b"\xfd7zXZ\x00"):
        return image
    try:
        unpacked = lzma.LZMADecompressor().decompress(payload)
    except lzma.LZMAError:
        return image
    # Without the note of PVH, QEMU would not know where to enter it.
    return unpacked if unpacked.startswith(b"\x7fELF") and b"Xen\x00" in unpacked else image


def _depmod(kmod: Path, root: Path, version: str) -> None:
    # kmod does what the name says that it is called by.
    command = ["depmod", "-b", str(root), version]
    try:
        done = subprocess.run(command, executable=kmod, capture_output=True, text=True, check=False, timeout=120)
    except (OSError, subprocess.TimeoutExpired) as error:
        raise LabError(f"depmod ({kmod}) cannot index the kernel's modules: {error}") from error
    if done.returncode != 0:
        raise LabError(f"depmod ({kmod}) failed: {done.stderr.strip()[-200:]}")


def _closure(modules: Path) -> list[str]:
    """Files of the wanted modules and of all that they need."""
    needs: dict[str, list[str]] = {}
    for line in (modules / "modules.dep").read_text().splitlines():
        name, _, rest = line.partition(":")
        needs[name] = rest.split()
    by_name = {_module_name(file): file for file in needs}
    soft = _soft(modules)
    wanted: dict[str, None] = {}
    pending = [_canonical(name) for name in MODULES]
    while pending:
        name = pending.pop()
        file = by_name.get(name)
        if file is None or file in wanted:
            continue
        wanted[file] = None
        pending += [_module_name(need) for need in needs[file]]
        pending += soft.get(name, [])
    return sorted(wanted)


def _soft(modules: Path) -> dict[str, list[str]]:
    """What modules would like to have beside them."""
    found: dict[str, list[str]] = {}
    path = modules / "modules.softdep"
    for line in path.read_text().splitlines() if path.is_file() else ():
        words = line.split()
        if words[:1] == ["softdep"]:
            found.setdefault(_canonical(words[1]), []).extend(
                _canonical(word) for word in words[2:] if not word.endswith(":")
            )
    return found


def _known(modules: Path, name: str) -> str | None:
    lines = (modules / "modules.dep").read_text().splitlines()
    files = (line.partition(":")[0] for line in lines)
    return next((file for file in files if _module_name(file) == _canonical(name)), None)


def _built_in(modules: Path) -> set[str]:
    path = modules / "modules.builtin"
    return {_module_name(line) for line in path.read_text().splitlines()} if path.is_file() else set()


def _module_name(file: str) -> str:
    return _canonical(Path(file).name.split(".ko")[0])


def _canonical(name: str) -> str:
    return name.replace("-", "_")


def _checked(kernel: Kernel) -> Kernel:
    lacking: Iterable[str] = [name for name in NEEDED if not kernel.has(name)]
    if lacking:
        hint = "use a full kernel of the distribution, such as Debian's linux-image-amd64"
        message = f"the kernel {kernel.version} ({kernel.origin}) lacks {', '.join(lacking)}"
        raise LabError(message, hint=hint, code=NOT_POSSIBLE)
    return kernel
