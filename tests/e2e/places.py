"""Places to measure that can be small, full, read-only, slow or broken; all undone at the end."""

from __future__ import annotations

import contextlib
import os
import subprocess
import time
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

import pytest

BLKIO = Path("/sys/fs/cgroup/blkio")


def privileged(what: str) -> None:
    """Skips the test where this user may not do it."""
    if os.geteuid() != 0:
        pytest.skip(f"only root can make {what}")


def tool(*command: str) -> str:
    """Runs a tool; the test is skipped with its complaint where it is missing or refuses."""
    try:
        done = subprocess.run(command, capture_output=True, text=True, check=False, stdin=subprocess.DEVNULL)
    except FileNotFoundError:
        pytest.skip(f"{command[0]} is not installed")
    if done.returncode != 0:
        pytest.skip(f"{' '.join(command)} is not possible here: {done.stderr.strip()}")
    return done.stdout.strip()


@dataclass
class Loop:
    """A loop device over an image."""

    device: Path
    image: Path

    @property
    def name(self) -> str:
        """Kernel name."""
        return self.device.name

    @property
    def serial(self) -> str:
        """What identifies it: there is no serial number, so the program says what it takes for one."""
        from . import program

        serial: str = program.document("guard", str(self.device), accepted=(0, 4))["serial"]
        return serial


@contextlib.contextmanager
def loop(image: Path, size: int, *, direct: bool = True) -> Iterator[Loop]:
    """A loop device over a new image; `direct` keeps the page cache out of it."""
    privileged("loop devices")
    with image.open("wb") as file:
        file.truncate(size)
    device = tool("losetup", "--find", "--show", f"--direct-io={'on' if direct else 'off'}", str(image))
    try:
        yield Loop(Path(device), image)
    finally:
        detach(device)
        image.unlink(missing_ok=True)


def detach(device: str) -> None:
    """Gives a loop device back; the kernel may still be closing it."""
    for _ in range(50):
        if subprocess.run(["losetup", "--detach", device], capture_output=True, check=False).returncode == 0:
            return
        time.sleep(0.1)


@contextlib.contextmanager
def mounted(source: str, at: Path, *options: str) -> Iterator[Path]:
    """A mount, undone at the end."""
    privileged("mounts")
    at.mkdir(exist_ok=True)
    tool("mount", *options, source, str(at))
    try:
        yield at
    finally:
        unmount(at)
        at.rmdir()


def unmount(at: Path) -> None:
    """Ends a mount; what still uses it is given a moment."""
    for _ in range(50):
        if subprocess.run(["umount", str(at)], capture_output=True, check=False).returncode == 0:
            return
        time.sleep(0.1)
    subprocess.run(["umount", "--lazy", str(at)], capture_output=True, check=False)


@contextlib.contextmanager
def tmpfs(at: Path, size: int) -> Iterator[Path]:
    """A small file system in memory."""
    with mounted("tmpfs", at, "-t", "tmpfs", "-o", f"size={size}") as place:
        yield place


@contextlib.contextmanager
def disk(
    image: Path, at: Path, size: int, *, direct: bool = True, options: str = "defaults"
) -> Iterator[tuple[Loop, Path]]:
    """A disk of its own with an ext4 file system: nobody else's load is on it."""
    with loop(image, size, direct=direct) as device:
        tool("mkfs.ext4", "-q", "-m", "0", "-E", "lazy_itable_init=0,nodiscard", str(device.device))
        with mounted(str(device.device), at, "-o", options) as place:
            lost = place / "lost+found"
            lost.rmdir()
            yield device, place


@contextlib.contextmanager
def throttled(device: Path, *, reads_per_s: int = 0, read_bytes_per_s: int = 0) -> Iterator[Path]:
    """A control group whose members' reads of a device are limited; the process file of it."""
    privileged("control groups")
    if not (BLKIO / "blkio.throttle.read_bps_device").exists():
        pytest.skip("the kernel has no blkio control group of version 1 with throttling")
    group = BLKIO / f"assay-e2e-{os.getpid()}"
    group.mkdir()
    try:
        limit(group, device, reads_per_s=reads_per_s, read_bytes_per_s=read_bytes_per_s)
        yield group
    finally:
        leave(group, BLKIO)


def limit(group: Path, device: Path, *, reads_per_s: int = 0, read_bytes_per_s: int = 0) -> None:
    """Sets the limits of a control group for a device; 0 is none."""
    number = device.stat().st_rdev
    at = f"{os.major(number)}:{os.minor(number)}"
    (group / "blkio.throttle.read_iops_device").write_text(f"{at} {reads_per_s}")
    (group / "blkio.throttle.read_bps_device").write_text(f"{at} {read_bytes_per_s}")


def leave(group: Path, parent: Path) -> None:
    """Empties and removes a control group."""
    for _ in range(50):
        for pid in (group / "cgroup.procs").read_text().split():
            with contextlib.suppress(OSError):
                (parent / "cgroup.procs").write_text(pid)
        with contextlib.suppress(OSError):
            group.rmdir()
            return
        time.sleep(0.1)


def inside(group: Path) -> tuple[str, ...]:
    """A command prefix that starts another command as a member of a control group."""
    return ("sh", "-c", f'echo $$ > {group}/cgroup.procs && exec "$@"', "sh")
