"""QEMU: this machine's own, or out of packages that are unpacked and not installed, as any user."""

from __future__ import annotations

import os
import platform
import shutil
import subprocess
from pathlib import Path

from assay.error import NOT_POSSIBLE

from assay_lab import apt
from assay_lab.apt import Deb
from assay_lab.cache import Cache, key_of
from assay_lab.error import LabError

QEMU = "qemu-system-x86_64"
PACKAGE = "qemu-system-x86"
# Where these are installed without it, QEMU would look for its accelerators and firmware beside itself, in vain.
_BESIDE = ("qemu-system-common", "qemu-system-data", "seabios", "ipxe-qemu")
_KIND = "qemu"
_STARTER = "start-qemu"
# QEMU finds its firmware relative to itself; its libraries have to be named. `exec` keeps the process's number.
_SCRIPT = """#!/bin/sh
root=$(dirname "$(readlink -f "$0")")
LD_LIBRARY_PATH={folders}${{LD_LIBRARY_PATH:+:$LD_LIBRARY_PATH}}
export LD_LIBRARY_PATH
exec "$root/usr/bin/{program}" "$@"
"""


def find(cache: Cache) -> str:
    """QEMU's program; unpacked into the cache where it is not installed and apt-get can bring it."""
    _for_this_processor()
    found = shutil.which(QEMU)
    if found is not None:
        return found
    if not apt.there():
        newest = cache.newest(_KIND)
        if newest is None:
            raise _missing("and there is no apt-get to bring it")
        return str(newest / _STARTER)
    debs = _packages()
    entry = cache.entry(_KIND, key_of(*(deb.file + deb.digest for deb in debs)), lambda at: _unpack(debs, at))
    return str(entry / _STARTER)


def pending(cache: Cache) -> bool:
    """Whether `find` has to download it first."""
    return shutil.which(QEMU) is None and cache.newest(_KIND) is None and apt.there()


def describe(cache: Cache) -> str:
    """What `find` would find, without downloading anything."""
    _for_this_processor()
    found = shutil.which(QEMU)
    if found is not None:
        return version(found)
    newest = cache.newest(_KIND)
    if newest is not None:
        return f"{version(str(newest / _STARTER))} (out of packages, not installed)"
    if not apt.there():
        raise _missing("and there is no apt-get to bring it")
    megabytes = sum(deb.bytes for deb in _packages()) / 1e6
    return f"not installed; the first run unpacks it out of packages ({megabytes:.0f} MB)"


def version(program: str) -> str:
    """As it says itself."""
    try:
        done = subprocess.run([program, "--version"], capture_output=True, text=True, check=False, timeout=20)
    except (OSError, subprocess.TimeoutExpired) as error:
        raise LabError(f"{program} does not start: {error}", code=NOT_POSSIBLE) from error
    lines = done.stdout.splitlines()
    if done.returncode != 0 or not lines:
        complaint = done.stderr.strip().splitlines()
        said = complaint[-1] if complaint else f"exit code {done.returncode}"
        raise LabError(f"{program} does not start: {said}", hint=f"install {PACKAGE} again", code=NOT_POSSIBLE)
    return lines[0]


def _packages() -> list[Deb]:
    return apt.describe(sorted({*apt.missing([PACKAGE]), *apt.installed(_BESIDE)}))


def _unpack(debs: list[Deb], folder: Path) -> None:
    apt.fetch(debs, folder)
    # The C library and the loader are this machine's: a second one beside them does not start.
    libraries = sorted({path.parent.relative_to(folder) for path in folder.rglob("*.so*")})
    own = [path for path in libraries if not (folder / path / "libc.so.6").exists()]
    starter = folder / _STARTER
    folders = os.pathsep.join(f'"$root/{path}"' for path in own)
    starter.write_text(_SCRIPT.format(folders=folders or '""', program=QEMU))
    starter.chmod(0o755)
    version(str(starter))


def _for_this_processor() -> None:
    if platform.machine() not in ("x86_64", "AMD64"):
        message = f"the lab's guest is an x86-64 machine, and there are packages for {platform.machine()} here"
        raise LabError(message, hint="use an x86-64 machine", code=NOT_POSSIBLE)


def _missing(why: str) -> LabError:
    hint = f"sudo apt-get install -y --no-install-recommends {PACKAGE}, or what this system calls it"
    return LabError(f"{QEMU} is not installed, {why}", hint=hint, code=NOT_POSSIBLE)
