"""Whether the processor's own virtualisation carries a guest here, found out by booting one."""

from __future__ import annotations

import os
import subprocess
import tempfile
import time
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

from assay.error import NOT_POSSIBLE

from assay_lab import guest
from assay_lab.cache import Cache
from assay_lab.error import LabError
from assay_lab.qemu import MachineSpec

CHOICES = ("auto", "kvm", "tcg")
_DEVICE = Path("/dev/kvm")
_LIMIT_S = 25.0
_POLL_S = 0.1


def choose(cache: Cache, spec: MachineSpec, wanted: str, versions: str, tell: Callable[[str], None]) -> tuple[str, str]:
    """`kvm` or `tcg`, and why. What a trial found is remembered for these versions."""
    if wanted == "tcg":
        return "tcg", "asked for"
    if not usable():
        why = f"{_DEVICE} is not there" if not _DEVICE.exists() else f"this user may not use {_DEVICE}"
        return _without_kvm(wanted, why)
    remembered = cache.remembered("kvm")
    if not isinstance(remembered, dict) or remembered.get("versions") != versions:
        tell(f"trying whether {_DEVICE} carries a guest (once, {_LIMIT_S:.0f} s at most) ...")
        remembered = {"versions": versions, "works": comes_up(spec)}
        cache.remember("kvm", remembered)
    if remembered["works"]:
        return "kvm", f"{_DEVICE} carries a guest"
    return _without_kvm(wanted, f"{_DEVICE} opens, but no guest came up in it within {_LIMIT_S:.0f} s")


def usable() -> bool:
    """Whether this user may open KVM's device."""
    return os.access(_DEVICE, os.R_OK | os.W_OK)


def _without_kvm(wanted: str, why: str) -> tuple[str, str]:
    if wanted == "kvm":
        raise LabError(f"KVM cannot be used: {why}", hint="leave --accel out; emulation is slower", code=NOT_POSSIBLE)
    return "tcg", why


def comes_up(spec: MachineSpec, limit_s: float = _LIMIT_S) -> bool:
    """Boots a machine without drives under KVM as far as its first greeting."""
    with tempfile.TemporaryDirectory(prefix="assay-lab-kvm-") as folder:
        console = Path(folder) / "console"
        with (Path(folder) / "log").open("wb") as log:
            process = guest.start(replace(spec, accel="kvm", mode="hello", console=console), log)
            try:
                return _greets(process, console, limit_s)
            finally:
                process.kill()
                process.wait()


def _greets(process: subprocess.Popen[bytes], console: Path, limit_s: float) -> bool:
    limit = time.monotonic() + limit_s
    while time.monotonic() < limit:
        if console.exists() and b"lab: hello" in console.read_bytes():
            return True
        if process.poll() is not None:
            return False
        time.sleep(_POLL_S)
    return False
