"""The kernel's own tracing: block requests and calls that make data durable, in a buffer of our own."""

from __future__ import annotations

import contextlib
import os
import secrets
import subprocess
import tempfile
import time
import zlib
from collections.abc import Callable
from pathlib import Path
from types import TracebackType
from typing import Self

from assay.error import NOT_POSSIBLE
from assay.trace.error import TraceError

_USUAL = (Path("/sys/kernel/tracing"), Path("/sys/kernel/debug/tracing"))
_BLOCK = ("block/block_getrq", "block/block_rq_issue", "block/block_rq_complete")
_SYNC = tuple(f"syscalls/sys_enter_{name}" for name in ("fsync", "fdatasync", "msync", "sync_file_range", "sync"))
_FORK = ("sched/sched_process_fork",)
# Says whose pages a thread of the kernel writes back.
_INODE = ("writeback/writeback_single_inode_start",)
_BUFFER_KIB_PER_CPU = 16 * 1024
_CHUNK = 1 << 20
# What is kept of a recording, compressed; beyond it the recording ends early and says so.
MOST_BYTES = 512 << 20


def why_not() -> str:
    """Why the kernel's tracing cannot be used; empty where it can."""
    if os.geteuid() != 0:
        return "the kernel's tracing is for root"
    if "tracefs" not in Path("/proc/filesystems").read_text():
        return "this kernel was built without tracing"
    try:
        with Tracing():
            return ""
    except TraceError as error:
        return error.message


class Tracing:
    """A trace instance, its events on from `start` on. Used as a context, it is removed in the end."""

    def __init__(self) -> None:
        self._mounted: Path | None = None
        self._folder = Path()
        self._pieces: list[bytes] = []
        self._packer = zlib.compressobj(1)
        self._kept = 0
        self.with_sync_calls = False

    def __enter__(self) -> Self:
        root = self._root()
        self._folder = root / "instances" / f"assay-{os.getpid()}-{secrets.token_hex(3)}"
        try:
            self._folder.mkdir()
            (self._folder / "buffer_size_kb").write_text(str(_BUFFER_KIB_PER_CPU))
            (self._folder / "trace_clock").write_text("mono")
            for event in _BLOCK + _FORK:
                (self._folder / "events" / event / "enable").write_text("0")
        except OSError as error:
            self._remove()
            said = f"the kernel's tracing cannot be used: {error.strerror} ({error.filename})"
            raise TraceError(said, hint="run as root on a kernel with block events", code=NOT_POSSIBLE) from error
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._remove()

    def _root(self) -> Path:
        for place in _USUAL:
            if (place / "instances").is_dir():
                return place
        place = Path(tempfile.mkdtemp(prefix="assay-tracefs-"))
        done = subprocess.run(
            ["mount", "-t", "tracefs", "nodev", str(place)], check=False, capture_output=True, text=True
        )
        if done.returncode != 0:
            place.rmdir()
            said = f"tracefs is not mounted and cannot be: {done.stderr.strip()}"
            raise TraceError(said, hint="mount -t tracefs nodev /sys/kernel/tracing", code=NOT_POSSIBLE)
        self._mounted = place
        return place

    def _remove(self) -> None:
        with contextlib.suppress(OSError):
            (self._folder / "tracing_on").write_text("0")
            (self._folder / "events" / "enable").write_text("0")
        with contextlib.suppress(OSError):
            self._folder.rmdir()
        if self._mounted is not None:
            subprocess.run(["umount", str(self._mounted)], check=False, capture_output=True)
            with contextlib.suppress(OSError):
                self._mounted.rmdir()

    def record(self, seconds: float, on_look: Callable[[], bool]) -> float:
        """Records for so long, or until `on_look` says that it is enough; returns the seconds it lasted."""
        for event in _BLOCK + _FORK:
            (self._folder / "events" / event / "enable").write_text("1")
        with contextlib.suppress(OSError):
            for event in _SYNC:
                (self._folder / "events" / event / "enable").write_text("1")
            self.with_sync_calls = True
        with contextlib.suppress(OSError):
            for event in _INODE:
                (self._folder / "events" / event / "enable").write_text("1")
        pipe = os.open(self._folder / "trace_pipe", os.O_RDONLY | os.O_NONBLOCK)
        begun = time.monotonic()
        try:
            while (left := begun + seconds - time.monotonic()) > 0 and self._kept < MOST_BYTES:
                if on_look():
                    break
                time.sleep(min(0.1, left))
                self._drain(pipe)
            lasted = time.monotonic() - begun
            (self._folder / "tracing_on").write_text("0")
            self._drain(pipe)
        finally:
            os.close(pipe)
        return lasted

    def _drain(self, pipe: int) -> None:
        with contextlib.suppress(BlockingIOError):
            while data := os.read(pipe, _CHUNK):
                packed = self._packer.compress(data)
                self._kept += len(packed)
                self._pieces.append(packed)

    @property
    def full(self) -> bool:
        """It ended since there was no room for more."""
        return self._kept >= MOST_BYTES

    def lost(self) -> int:
        """Events that found no room in the kernel's buffer."""
        count = 0
        for path in (self._folder / "per_cpu").glob("cpu*/stats"):
            for line in path.read_text().splitlines():
                name, _, value = line.partition(":")
                if name in ("overrun", "commit overrun", "dropped events"):
                    count += int(value)
        return count

    def text(self) -> str:
        """All lines."""
        self._pieces.append(self._packer.flush())
        return zlib.decompress(b"".join(self._pieces)).decode("ascii", "replace")
