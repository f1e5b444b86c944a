"""A volume that hosts share, throttled for all of them together by a control group (`blkio`)."""

from __future__ import annotations

import contextlib
import os
import shutil
import subprocess
import sys
import time
from collections.abc import Iterator
from pathlib import Path

_GROUPS = Path("/sys/fs/cgroup/blkio")
_LIMIT = "blkio.throttle.read_bps_device"


def why_not() -> str:
    """Why no device can be throttled here; empty where one can."""
    if os.geteuid() != 0:
        return "not root"
    if not (_GROUPS / _LIMIT).exists():
        return f"there is no {_GROUPS / _LIMIT}"
    missing = [one for one in ("losetup", "mkfs.ext4", "mount") if shutil.which(one) is None]
    return f"{missing[0]} is not installed" if missing else ""


@contextlib.contextmanager
def mounted(place: Path, size: int) -> Iterator[Path]:
    """A file system on a loop device, meanwhile; the device."""
    image = place.with_suffix(".image")
    with image.open("wb") as opened:
        opened.truncate(size)
    _do("mkfs.ext4", "-q", "-m", "0", str(image))
    device = _do("losetup", "--find", "--show", str(image)).strip()
    place.mkdir()
    try:
        _do("mount", device, str(place))
        try:
            yield Path(device)
        finally:
            _do("umount", str(place))
    finally:
        _do("losetup", "--detach", device)
        image.unlink()


@contextlib.contextmanager
def group(device: Path, read_bytes_per_s: int) -> Iterator[list[str]]:
    """A control group that reads so much of a device; what stands before a command that is to be in it."""
    made = _GROUPS / f"assay-test-{os.getpid()}"
    made.mkdir()
    try:
        number = device.stat().st_rdev
        (made / _LIMIT).write_text(f"{os.major(number)}:{os.minor(number)} {read_bytes_per_s}\n")
        enter = "import os, sys; open(sys.argv[1], 'w').write(str(os.getpid())); os.execv(sys.argv[2], sys.argv[2:])"
        yield [sys.executable, "-I", "-c", enter, str(made / "cgroup.procs")]
    finally:
        _remove(made)


def _remove(made: Path) -> None:
    """When its last process has left the kernel's lists."""
    for _ in range(100):
        with contextlib.suppress(OSError):
            made.rmdir()
            return
        time.sleep(0.1)
    made.rmdir()


def _do(*words: str) -> str:
    return subprocess.run(words, check=True, capture_output=True, text=True).stdout
