"""What the lab keeps between calls: packages, kernels, initial RAM disks. Entries appear whole or not at all."""

from __future__ import annotations

import fcntl
import hashlib
import json
import os
import shutil
import tempfile
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from assay_lab.error import LabError

_HALF = ".half-"
_KEPT_PER_KIND = 3


class Cache:
    """A folder of entries `KIND/KEY`."""

    def __init__(self, root: Path) -> None:
        self.root = root

    @classmethod
    def of_user(cls) -> Cache:
        """In $XDG_CACHE_HOME, or ~/.cache."""
        base = os.environ.get("XDG_CACHE_HOME") or ""
        # A relative path is no cache of anybody: the specification says to ignore it.
        home = Path(base) if base.startswith("/") else Path.home() / ".cache"
        return cls(home / "assay" / "lab")

    def entry(self, kind: str, key: str, make: Callable[[Path], None]) -> Path:
        """The folder of an entry. `make` fills an empty folder, which takes its name when it is complete."""
        there = self.root / kind / key
        if not there.is_dir():
            with self._turn(kind):
                if not there.is_dir():
                    self._make(there, make)
        os.utime(there)
        return there

    def newest(self, kind: str) -> Path | None:
        """The entry that was used last."""
        entries = self._entries(kind)
        return entries[0] if entries else None

    def remember(self, name: str, value: Any) -> None:
        """Keeps a small document."""
        self._folder("")
        half = self.root / f"{_HALF}{name}-{os.getpid()}"
        half.write_text(json.dumps(value))
        half.replace(self.root / f"{name}.json")

    def remembered(self, name: str) -> Any:
        """A small document that was kept; None without one."""
        try:
            return json.loads((self.root / f"{name}.json").read_text())
        except (OSError, ValueError):
            return None

    def _make(self, there: Path, make: Callable[[Path], None]) -> None:
        half = Path(tempfile.mkdtemp(prefix=_HALF, dir=there.parent))
        try:
            make(half)
            half.chmod(0o755)
            half.rename(there)
        except OSError as error:
            raise _no_room(self.root, error) from error
        finally:
            shutil.rmtree(half, ignore_errors=True)
        for old in self._entries(there.parent.name)[_KEPT_PER_KIND:]:
            shutil.rmtree(old, ignore_errors=True)

    @contextmanager
    def _turn(self, kind: str) -> Iterator[None]:
        """One process at a time makes entries; what a killed one left is removed."""
        folder = self._folder(kind)
        with (folder / ".lock").open("w") as lock:
            fcntl.flock(lock, fcntl.LOCK_EX)
            for left in folder.glob(f"{_HALF}*"):
                shutil.rmtree(left, ignore_errors=True)
            yield

    def _folder(self, kind: str) -> Path:
        folder = self.root / kind
        try:
            folder.mkdir(parents=True, exist_ok=True)
        except OSError as error:
            raise _no_room(self.root, error) from error
        return folder

    def _entries(self, kind: str) -> list[Path]:
        try:
            found = [path for path in (self.root / kind).iterdir() if path.is_dir() and not path.name.startswith(".")]
        except OSError:
            return []
        return sorted(found, key=lambda path: path.stat().st_mtime, reverse=True)


def key_of(*parts: object) -> str:
    """A short name for a content."""
    return hashlib.sha256("\n".join(map(str, parts)).encode()).hexdigest()[:16]


def _no_room(root: Path, error: OSError) -> LabError:
    hint = "make room there, or set XDG_CACHE_HOME to a folder that has it"
    return LabError(f"the lab's cache {root} cannot be written: {error.strerror or error}", hint=hint)
