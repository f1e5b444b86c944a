"""The archive that the kernel unpacks as its first root: cpio of the format newc.

Written here, because no tool can put files of root and device nodes into one without being root
(format: Documentation/driver-api/early-userspace/buffer-format.rst of the kernel).
"""

from __future__ import annotations

import shutil
import stat
from pathlib import Path
from typing import IO

_ALIGN = 4


class Archive:
    """An archive that is written entry by entry; folders above an entry are made."""

    def __init__(self, stream: IO[bytes]) -> None:
        self._stream = stream
        self._folders: set[str] = set()
        self._count = 0

    def folder(self, name: str) -> None:
        """A folder."""
        name = name.strip("/")
        if not name or name in self._folders:
            return
        self.folder(name.rpartition("/")[0])
        self._folders.add(name)
        self._header(name, stat.S_IFDIR | 0o755, 0)

    def text(self, name: str, text: str, mode: int = 0o644) -> None:
        """A file with this text."""
        content = text.encode()
        self._entry(name, stat.S_IFREG | mode, len(content))
        self._stream.write(content)
        self._fill(len(content))

    def file(self, name: str, source: Path, mode: int = 0o755) -> None:
        """A copy of a file."""
        size = source.stat().st_size
        self._entry(name, stat.S_IFREG | mode, size)
        with source.open("rb") as stream:
            shutil.copyfileobj(stream, self._stream, 1 << 20)
        self._fill(size)

    def link(self, name: str, to: str) -> None:
        """A symbolic link."""
        self._entry(name, stat.S_IFLNK | 0o777, len(to.encode()))
        self._stream.write(to.encode())
        self._fill(len(to.encode()))

    def character_device(self, name: str, major: int, minor: int) -> None:
        """A node of a character device."""
        self._entry(name, stat.S_IFCHR | 0o600, 0, (major, minor))

    def close(self) -> None:
        """The mark at the end."""
        self._header("TRAILER!!!", 0, 0)

    def _entry(self, name: str, mode: int, size: int, device: tuple[int, int] = (0, 0)) -> None:
        name = name.strip("/")
        self.folder(name.rpartition("/")[0])
        self._header(name, mode, size, device)

    def _header(self, name: str, mode: int, size: int, device: tuple[int, int] = (0, 0)) -> None:
        self._count += 1
        encoded = name.encode() + b"\0"
        links = 2 if stat.S_ISDIR(mode) else 1
        fields = (self._count, mode, 0, 0, links, 0, size, 0, 0, *device, len(encoded), 0)
        head = b"070701" + b"".join(b"%08X" % field for field in fields)
        self._stream.write(head + encoded)
        self._fill(len(head) + len(encoded))

    def _fill(self, written: int) -> None:
        self._stream.write(bytes(-written % _ALIGN))
