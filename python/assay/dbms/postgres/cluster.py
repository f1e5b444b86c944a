"""A data folder with what lies elsewhere: log, temporary files, indexes."""

from __future__ import annotations

import contextlib
import ctypes
import os
import signal
import subprocess
import time
from dataclasses import dataclass, field
from pathlib import Path
from types import TracebackType
from typing import Any, Self

from assay import own
from assay.binary import die_with
from assay.dbms import segment
from assay.dbms.ending import unbroken
from assay.dbms.place import Place
from assay.dbms.postgres.error import PostgresError
from assay.dbms.postgres.find import Binaries
from assay.dbms.postgres.user import User, server_user

SUPERUSER = "assay"
ROLES = ("data", "wal", "temp", "index")
# Tablespaces, for the roles that are no part of the data folder by themselves.
TABLESPACES = {"temp": "assay_temp", "index": "assay_index"}
_LIBC = ctypes.CDLL(None, use_errno=True)
# Longest wait for processes that were killed to be gone.
_GROUP_S = 5.0


@dataclass(frozen=True)
class Layout:
    """A target folder for each role; what has none of its own lies with the data."""

    data: Path
    wal: Path | None = None
    temp: Path | None = None
    index: Path | None = None

    def targets(self) -> dict[str, Path]:
        """The roles that have a target of their own, `data` first."""
        found = {role: getattr(self, role) for role in ROLES}
        return {role: path for role, path in found.items() if path is not None}


@dataclass
class Cluster:
    """A database cluster in folders of Assay's own. `create` or `copy_of` makes one; leaving it removes it."""

    binaries: Binaries
    layout: Layout
    user: User
    places: dict[str, Place] = field(default_factory=dict)

    @classmethod
    def create(cls, binaries: Binaries, layout: Layout, checksums: bool | None = None) -> Cluster:
        """An empty cluster. `checksums` of pages: none leaves it to the version (18 and newer have them)."""
        cluster = cls._folders(binaries, layout)
        try:
            cluster._initialise(checksums)
        except BaseException:
            cluster.remove()
            raise
        return cluster

    @classmethod
    def copy_of(cls, other: Cluster, layout: Layout) -> Cluster:
        """A copy of a stopped cluster, with the same roles apart, elsewhere."""
        if list(layout.targets()) != list(other.layout.targets()):
            raise PostgresError("a copy keeps the same roles apart", hint="give both the same --wal, --temp, --index")
        cluster = cls._folders(other.binaries, layout)
        try:
            cluster._copy(other)
        except BaseException:
            cluster.remove()
            raise
        return cluster

    @classmethod
    def _folders(cls, binaries: Binaries, layout: Layout) -> Cluster:
        user = server_user()
        cluster = cls(binaries, layout, user)
        try:
            for role, target in layout.targets().items():
                cluster.places[role] = Place.make(target, user.owner)
                user.may_search(cluster.places[role].path)
        except BaseException:
            cluster.remove()
            raise
        return cluster

    @property
    def data(self) -> Path:
        """The data folder."""
        return self.folder("data")

    def folder(self, role: str) -> Path:
        """Where a role's files lie."""
        return self.places[role].path / role

    def folders(self) -> list[Path]:
        """Every folder that holds files of the cluster."""
        return [self.folder(role) for role in self.places]

    def bytes(self) -> int:
        """Bytes of all files."""
        return sum(self.bytes_by_role().values())

    def bytes_by_role(self) -> dict[str, int]:
        """Bytes of the files of each role that has a place of its own."""
        return {role: sum(map(_size, self.folder(role).rglob("*"))) for role in self.places}

    def _initialise(self, checksums: bool | None) -> None:
        for role in ("data", "wal"):
            if role in self.places:
                self.make_folder(self.folder(role))
        command = [
            "-D",
            str(self.data),
            "-U",
            SUPERUSER,
            "--auth-local=peer",
            "--auth-host=reject",
            "--no-locale",
            "-E",
            "UTF8",
            "--no-sync",
        ]
        if "wal" in self.places:
            command += ["-X", str(self.folder("wal"))]
        if checksums and self.binaries.major < 18:
            command.append("--data-checksums")
        if checksums is False and self.binaries.major >= 18:
            command.append("--no-data-checksums")
        for role in TABLESPACES:
            if role in self.places:
                self.make_folder(self.folder(role))
        done = self.run("initdb", *command)
        if done.returncode != 0:
            said = [line for line in done.stderr.splitlines() if line.strip()]
            message = f"initdb could not make a database in {self.data}: {said[-1] if said else 'it said nothing'}"
            raise PostgresError(message, hint="read its words; most often the folder is full or not writable")

    def make_folder(self, path: Path) -> None:
        """A folder for the server alone."""
        own.make_folder(path, self.user.owner)

    def run(self, program: str, *arguments: str) -> subprocess.CompletedProcess[str]:
        """Runs one of the programs as the server's user; it ends with whatever it started where this is interrupted."""
        words = [self.binaries.program(program), *arguments]
        with unbroken():
            process = subprocess.Popen(
                words,
                stdin=subprocess.DEVNULL,
                stdout=subprocess.PIPE,
                stderr=subprocess.PIPE,
                text=True,
                cwd="/",
                start_new_session=True,
                preexec_fn=die_with(os.getpid()),  # noqa: PLW1509  Only prctl and kill are called there.
                **self.identity(),
            )
        try:
            out, err = process.communicate()
        except BaseException:
            with unbroken():
                _end_group(process)
                self.free_segment()
            raise
        return subprocess.CompletedProcess(words, process.returncode, out, err)

    def identity(self) -> dict[str, Any]:
        """Whom `subprocess` shall run a program as."""
        if not self.user.switch:
            return {}
        return {"user": self.user.uid, "group": self.user.gid, "extra_groups": []}

    def _copy(self, other: Cluster) -> None:
        for role in self.places:
            copy_tree(other.folder(role), self.folder(role))
        if "wal" in self.places:
            _point(self.data / "pg_wal", self.folder("wal"))
        for link in sorted((self.data / "pg_tblspc").iterdir()):
            role = next(role for role in other.places if link.readlink() == other.folder(role))
            _point(link, self.folder(role))

    def restore(self, other: Cluster) -> None:
        """Makes this cluster, stopped, what another one is that is stopped as well."""
        for role in self.places:
            self.places[role].remove_inside(role)
        self._copy(other)

    def free_segment(self) -> None:
        """Gives back the shared memory that a server's note names: one that was killed has left it."""
        segment.free(self.data)

    def remove(self) -> None:
        """Removes all folders."""
        for place in self.places.values():
            place.remove()

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.remove()


def _end_group(process: subprocess.Popen[str]) -> None:
    """Ends a process, and waits for those that it started: the folder in which they write is to be removed.

    They end when their input ends, and give their shared memory back; who is killed does not.
    """
    process.kill()
    process.wait()
    if not _gone(process.pid):
        with contextlib.suppress(ProcessLookupError):
            os.killpg(process.pid, signal.SIGKILL)
        _gone(process.pid)


def _gone(group: int) -> bool:
    until = time.monotonic() + _GROUP_S
    while time.monotonic() < until:
        try:
            os.killpg(group, 0)
        except ProcessLookupError:
            return True
        time.sleep(0.01)
    return False


def _size(path: Path) -> int:
    try:
        return path.lstat().st_size if path.is_file() and not path.is_symlink() else 0
    except OSError:
        return 0  # A file that went away meanwhile.


def _point(link: Path, goal: Path) -> None:
    owner = link.lstat()
    link.unlink()
    link.symlink_to(goal)
    os.lchown(link, owner.st_uid, owner.st_gid)


def copy_tree(source: Path, goal: Path) -> None:
    """Copies a folder with owners and modes; shares blocks where the file system can; what was copied is durable."""
    command = ["cp", "-a", "--reflink=auto", str(source), str(goal)]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    if done.returncode != 0:
        said = (done.stderr.strip().splitlines() or ["cp said nothing"])[-1]
        hint = "look whether the target is full (df) and writable"
        raise PostgresError(f"{source} cannot be copied to {goal}: {said}", hint=hint)
    handle = os.open(goal, os.O_RDONLY)
    try:
        _LIBC.syncfs(handle)
    finally:
        os.close(handle)
