"""Assay's own folders for databases on targets: made with a mark, found again after a kill, removed at the end."""

from __future__ import annotations

import contextlib
import json
import os
import re
import secrets
import shutil
import signal
import time
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from pathlib import Path

from assay.error import BAD_JOB, FAILED, AssayError

_PREFIX = "assay-dbms-"
SOCKETS = "assay-pg-"
"""What names of folders begin with that hold the socket of a server."""
_MARK = ".assay-dbms.json"
# Share of a file system that stays free, as for measured folders.
_RESERVE = 0.05


class PlaceError(AssayError):
    """A folder cannot be used."""


@dataclass(frozen=True)
class Place:
    """A folder that Assay made on a target."""

    target: Path
    path: Path

    @classmethod
    def make(cls, target: Path, owner: tuple[int, int] | None = None) -> Place:
        """A new folder on a target, which must be a folder itself; `owner` is a user and a group by number."""
        target = target.expanduser().absolute()
        if not target.is_dir():
            raise PlaceError(f"{target} is no folder", hint="name an existing folder on the device", code=BAD_JOB)
        path = target / f"{_PREFIX}{os.getpid()}-{secrets.token_hex(4)}"
        try:
            path.mkdir(mode=0o755)
            mark = {"pid": os.getpid(), "began": _began(os.getpid())}
            (path / _MARK).write_text(json.dumps(mark))
            if owner is not None:
                os.chown(path, *owner)
        except OSError as error:
            shutil.rmtree(path, ignore_errors=True)
            message = f"no folder can be made in {target}: {error.strerror}"
            raise PlaceError(message, hint="name a folder that this user may write to") from error
        return cls(target, path)

    def remove(self) -> None:
        """Removes it with all that it holds."""
        shutil.rmtree(self.path, ignore_errors=True)
        if self.path.exists():
            message = f"{self.path} cannot be removed"
            raise PlaceError(message, hint="look who uses it (fuser), then remove it by hand", code=FAILED)


@contextlib.contextmanager
def places(targets: Iterable[Path], owner: tuple[int, int] | None = None) -> Iterator[list[Place]]:
    """One folder per target, removed in the end however it ends."""
    made: list[Place] = []
    try:
        made += [Place.make(target, owner) for target in targets]
        yield made
    finally:
        for one in made:
            one.remove()


def require_space(target: Path, needed_bytes: int, what: str) -> None:
    """Refuses what does not fit: a twentieth of the file system stays free."""
    usage = shutil.disk_usage(target)
    usable = usage.free - int(usage.total * _RESERVE)
    if needed_bytes > usable:
        message = (
            f"{what} needs {_gib(needed_bytes)} on {target}, and {_gib(max(usable, 0))} may be used there "
            f"({_gib(usage.free)} free, less a twentieth of {_gib(usage.total)})"
        )
        raise PlaceError(message, hint="choose a smaller scale or another target", code=BAD_JOB)


def _gib(size: float) -> str:
    return f"{size / (1 << 30):.2f} GiB"


def leftovers(target: Path) -> list[Path]:
    """Folders of runs that are gone."""
    return [path for path in sorted(target.glob(f"{_PREFIX}*")) if path.is_dir() and not _alive(path)]


def clean(target: Path) -> list[Path]:
    """Removes folders of runs that are gone, and ends servers that still run on them."""
    found = leftovers(target)
    for path in found:
        for note in path.rglob("postmaster.pid"):
            _end_server(note)
        for settings in path.rglob("postgresql.auto.conf"):
            _remove_socket(settings)
        shutil.rmtree(path, ignore_errors=True)
    return found


def _alive(path: Path) -> bool:
    try:
        mark = json.loads((path / _MARK).read_text())
        return bool(_began(int(mark["pid"])) == mark["began"] != 0)
    except (OSError, ValueError, KeyError, TypeError):
        return True  # Not one of ours, or not readable: hands off.


def _began(pid: int) -> int:
    """When a process began, in ticks since the machine did; 0 where there is none."""
    try:
        text = Path(f"/proc/{pid}/stat").read_text()
    except OSError:
        return 0
    return int(text.rsplit(")", 1)[1].split()[19])


def _remove_socket(settings: Path) -> None:
    """Removes the folder of a server's socket, which only its settings name, if it is one of ours."""
    with contextlib.suppress(OSError):
        for name in re.findall(r"unix_socket_directories = '([^']*)'", settings.read_text()):
            if Path(name).name.startswith(SOCKETS):
                shutil.rmtree(name, ignore_errors=True)


def _end_server(note: Path) -> None:
    """Ends the server that a note in its own data folder names, if it is one and works on that folder."""
    try:
        pid = int(note.read_text().splitlines()[0])
        if os.path.realpath(f"/proc/{pid}/cwd") != os.path.realpath(note.parent):
            return
        os.kill(pid, signal.SIGQUIT)
    except (OSError, ValueError, IndexError):
        return
    deadline = time.monotonic() + 10
    while Path(f"/proc/{pid}").exists() and time.monotonic() < deadline:
        time.sleep(0.05)
