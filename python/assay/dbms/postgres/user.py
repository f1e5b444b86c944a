"""Who runs the server: PostgreSQL refuses to run as root."""

from __future__ import annotations

import os
import pwd
from dataclasses import dataclass
from pathlib import Path

from assay.dbms.postgres.error import PostgresError
from assay.error import BAD_JOB

_CANDIDATES = ("postgres", "nobody")


@dataclass(frozen=True)
class User:
    """A user by name and numbers; `switch` where this process is another one."""

    name: str
    uid: int
    gid: int
    switch: bool

    @property
    def owner(self) -> tuple[int, int] | None:
        """For folders that are made for the server; none where this user makes them anyway."""
        return (self.uid, self.gid) if self.switch else None

    def may_search(self, path: Path) -> None:
        """Refuses a path that the server's user cannot reach, naming the folder that is in the way."""
        if not self.switch:
            return
        for folder in (path, *path.parents)[::-1]:
            if not self._searchable(folder):
                message = f"the user {self.name}, who runs PostgreSQL, may not enter {folder}"
                hint = "choose a folder elsewhere, or let others search that one (chmod o+x)"
                raise PostgresError(message, hint=hint, code=BAD_JOB)

    def _searchable(self, folder: Path) -> bool:
        found = folder.stat()
        if found.st_uid == self.uid:
            return bool(found.st_mode & 0o100)
        if found.st_gid == self.gid:
            return bool(found.st_mode & 0o010)
        return bool(found.st_mode & 0o001)


def server_user() -> User:
    """This user; for root the distribution's `postgres`, or `nobody`."""
    if os.geteuid() != 0:
        return User(pwd.getpwuid(os.geteuid()).pw_name, os.geteuid(), os.getegid(), switch=False)
    for name in _CANDIDATES:
        try:
            entry = pwd.getpwnam(name)
        except KeyError:
            continue
        return User(name, entry.pw_uid, entry.pw_gid, switch=True)
    raise PostgresError("PostgreSQL refuses to run as root, and there is no other user", hint="run it as another user")


def server_users() -> tuple[int, ...]:
    """Numbers of users besides this one who run a server here."""
    owner = server_user().owner
    return () if owner is None else owner[:1]
