"""`assay lab doctor`: what the lab finds here, and the command that brings what is missing."""

from __future__ import annotations

import shutil
from collections.abc import Callable
from dataclasses import asdict, dataclass

from assay.error import AssayError

from assay_lab import accel, apt, emulator, kernel, tools
from assay_lab.cache import Cache
from assay_lab.error import LabError
from assay_lab.workspace import require_memory, with_room

_GUEST_BYTES = 2 << 30


@dataclass(frozen=True)
class Finding:
    """One thing that the lab needs."""

    topic: str
    good: bool
    needed: bool
    seen: str
    fix: str = ""

    def document(self) -> dict[str, object]:
        """As JSON shows it."""
        return asdict(self)


def examine() -> list[Finding]:
    """Looks; downloads and boots nothing."""
    topics: list[tuple[str, bool, Callable[[], str]]] = [
        ("qemu", True, lambda: emulator.describe(Cache.of_user())),
        ("kernel", True, _kernel),
        ("tools", True, _tools),
        ("kvm", False, _kvm),
        ("memory", True, _memory),
        ("disk", True, lambda: f"drives lie in {with_room(_GUEST_BYTES)}"),
        ("programs", True, _unpacking),
    ]
    return [_finding(topic, needed, look) for topic, needed, look in topics]


def _finding(topic: str, needed: bool, look: Callable[[], str]) -> Finding:
    try:
        return Finding(topic, True, needed, look())
    except AssayError as error:
        return Finding(topic, False, needed, error.message, error.hint)


def _kernel() -> str:
    if not apt.there():
        own = kernel.of_host()
        if own is None:
            hint = "name one with --kernel VMLINUZ --modules DIR"
            raise LabError("no apt-get, and no readable kernel in /boot with modules", hint=hint)
        return f"this host's own: {own[0]}"
    names = kernel.package_names()
    if not names:
        raise LabError("apt-get knows no kernel package", hint="sudo apt-get update")
    cached = "in the cache" if Cache.of_user().newest("kernel") else "will be downloaded, not installed"
    return f"{', '.join(names)} ({cached})"


def _tools() -> str:
    packages = tools.packages_missing()
    if not packages:
        return "all are installed on this machine"
    if not apt.there():
        raise LabError(f"missing: {' '.join(packages)}", hint="install them with this system's package manager")
    apt.describe(apt.missing(packages))
    return f"out of packages, not installed: {' '.join(packages)}"


def _kvm() -> str:
    remembered = Cache.of_user().remembered("kvm")
    if accel.usable() and isinstance(remembered, dict) and not remembered.get("works"):
        raise LabError("/dev/kvm opens, but no guest came up in it; the lab emulates the processor, which is slower")
    if not accel.usable():
        hint = "with KVM on this machine: sudo usermod -a -G kvm USER; without it nothing is to be done"
        raise LabError("/dev/kvm cannot be used; the lab emulates the processor, which is slower", hint=hint)
    return "a guest came up in it" if remembered else "/dev/kvm opens; the first run tries it"


def _memory() -> str:
    require_memory(_GUEST_BYTES)
    return "enough for a guest of 2 GiB"


def _unpacking() -> str:
    lacking = [name for name in ("ldd",) if shutil.which(name) is None]
    if lacking:
        raise LabError(f"{', '.join(lacking)} is missing", hint="sudo apt-get install -y libc-bin")
    return "ldd is there"
