"""Folders for servers that run as another user."""

import contextlib
import os
import shutil
import subprocess
import tempfile
from collections.abc import Iterator
from pathlib import Path

import pytest


@pytest.fixture
def open_target() -> Iterator[Path]:
    """A folder that other users may enter: pytest shuts its own to them, again at the start of every other session."""
    folder = Path(tempfile.mkdtemp(prefix="assay-test-"))
    folder.chmod(0o755)
    try:
        yield folder
        assert list(folder.iterdir()) == []
    finally:
        shutil.rmtree(folder, ignore_errors=True)


MEMORY = Path("/dev/shm")


@pytest.fixture
def quick_disk(open_target: Path) -> Iterator[Path]:
    """A file system on a loop device in memory: a device with counters of its own, and none that others keep busy.

    The folder itself where this user may make none.
    """
    with contextlib.ExitStack() as stack:
        try:
            yield _loop(open_target, stack)
        except (OSError, subprocess.CalledProcessError):
            stack.close()
            yield open_target


def _loop(folder: Path, stack: contextlib.ExitStack) -> Path:
    if os.geteuid() != 0 or shutil.disk_usage(MEMORY).free < 6 << 30:
        return folder
    image = MEMORY / f"assay-test-{os.getpid()}.img"
    stack.callback(image.unlink, missing_ok=True)
    with image.open("wb") as file:
        file.truncate(2 << 30)
    run("mkfs.ext4", "-q", "-m", "0", str(image))
    device = run("losetup", "--find", "--show", str(image))
    stack.callback(run, "losetup", "--detach", device)
    at = folder / "disk"
    at.mkdir()
    stack.callback(at.rmdir)
    run("mount", device, str(at))
    stack.callback(run, "umount", str(at))
    inside = at / "target"
    inside.mkdir()
    at.chmod(0o755)
    inside.chmod(0o755)
    return inside


def run(*command: str) -> str:
    """What a tool prints."""
    return subprocess.run(command, check=True, capture_output=True, text=True).stdout.strip()
