"""Mounts for tests: skipped where FUSE cannot be had, gone at the end of each test."""

from __future__ import annotations

import contextlib
import os
import shutil
import subprocess
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from assay.mount import play
from assay.mount.drive import drive
from assay.untyped import Json

ROOT = Path(__file__).resolve().parent.parent.parent


def require_fuse() -> None:
    """Skips, with the reason, where nothing can be mounted."""
    if not os.access("/dev/fuse", os.R_OK | os.W_OK):
        pytest.skip("the kernel has no FUSE, or this user may not use it (/dev/fuse)")
    if os.geteuid() != 0 and shutil.which("fusermount3") is None:
        pytest.skip("neither root nor fusermount3 (package fuse3) is here to mount")
    if not (ROOT / "target" / "release" / "assayer-mount").is_file():
        pytest.skip("assayer-mount is not built; cargo build --release -p assayer-mount")


def job(at: Path, over: Path, what: str, **more: Any) -> Json:
    """A job; `what` is `pass` or a drive."""
    at.mkdir(exist_ok=True)
    over.mkdir(exist_ok=True)
    played = "pass" if what == "pass" else drive(what)
    return {"at": str(at), "over": str(over), "name": what, "drive": played, "seed": 1, **more}


@contextlib.contextmanager
def mounted(tmp_path: Path, what: str, **more: Any) -> Iterator[play.Playing]:
    """`tmp_path/mnt` over `tmp_path/files`."""
    require_fuse()
    at = tmp_path / "mnt"
    one = play.Playing.start(job(at, tmp_path / "files", what, **more))
    try:
        yield one
    finally:
        with contextlib.suppress(Exception):
            one.end()
        # Where the program could not do it any more.
        subprocess.run(["umount", "--lazy", str(at)], capture_output=True, check=False)
