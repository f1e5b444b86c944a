"""All that a guest is made of, put together: program, kernel, initial RAM disk, processor."""

from __future__ import annotations

import platform
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from assay.error import BAD_JOB

from assay_lab import accel, emulator, kernel, rootfs, tools
from assay_lab.cache import Cache
from assay_lab.error import LabError
from assay_lab.kernel import Kernel
from assay_lab.qemu import GIB, MIB, MachineSpec
from assay_lab.tools import Tools

_SMALLEST_MEMORY = 768 * MIB


@dataclass(frozen=True)
class Wanted:
    """What a person asked for."""

    accel: str = "auto"
    memory_bytes: int = 2 * GIB
    kernel: Path | None = None
    modules: Path | None = None


@dataclass(frozen=True)
class Parts:
    """What was found and made."""

    qemu: str
    qemu_version: str
    kernel: Kernel
    tools: Tools
    initrd: Path
    accel: str
    accel_reason: str
    programs: tuple[Path, ...]
    memory_bytes: int

    def spec(self) -> MachineSpec:
        """A machine without drives."""
        return MachineSpec(
            self.kernel.image, self.initrd, program=self.qemu, accel=self.accel, memory_bytes=self.memory_bytes
        )

    def document(self) -> dict[str, Any]:
        """For lab.json."""
        return {
            "kernel": self.kernel.version,
            "kernel_origin": self.kernel.origin,
            "qemu": self.qemu_version,
            "accel": self.accel,
            "accel_reason": self.accel_reason,
            "memory_bytes": self.memory_bytes,
            "lacking": self.tools.lacking,
        }


def assemble(wanted: Wanted, programs: tuple[Path, ...], tell: Callable[[str], None]) -> Parts:
    """Finds and makes all parts for a guest that runs `programs`. `tell` hears what takes long."""
    _check(wanted)
    cache = Cache.of_user()
    if emulator.pending(cache):
        tell("unpacking QEMU out of packages, about 20 MB, once")
    program = emulator.find(cache)
    version = emulator.version(program)
    if cache.newest("kernel") is None or cache.newest("rootfs") is None:
        tell(f"assembling the guest in {cache.root}: kernel and tools out of packages, about 100 MB, once")
    found = tools.assemble(cache, programs)
    image = kernel.assemble(cache, found.programs["kmod"], wanted.kernel, wanted.modules)
    initrd = rootfs.assemble(cache, image, found)
    spec = MachineSpec(image.image, initrd, program=program, memory_bytes=wanted.memory_bytes)
    chosen, reason = accel.choose(cache, spec, wanted.accel, f"{version} {image.version} {platform.release()}", tell)
    return Parts(program, version, image, found, initrd, chosen, reason, programs, wanted.memory_bytes)


def _check(wanted: Wanted) -> None:
    if wanted.accel not in accel.CHOICES:
        hint = f"choose one of {', '.join(accel.CHOICES)}"
        raise LabError(f"there is no acceleration `{wanted.accel}`", hint=hint, code=BAD_JOB)
    if wanted.memory_bytes < _SMALLEST_MEMORY:
        message = f"a guest with {wanted.memory_bytes >> 20} MiB of memory does not come up"
        raise LabError(message, hint=f"give it {_SMALLEST_MEMORY >> 20} MiB or more with --memory", code=BAD_JOB)
