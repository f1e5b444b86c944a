"""Who may speak to a server of our own: this user through its socket; through a port, who has a random password."""

from __future__ import annotations

import os
import pwd
from pathlib import Path
from typing import Any

import psycopg

_MAP = "assay"


def this_user() -> str:
    """The name of the user that this process acts as."""
    try:
        return pwd.getpwuid(os.geteuid()).pw_name
    except KeyError:
        return f"user {os.geteuid()}"


def write(data: Path, server: str, port: int | None) -> None:
    """The server's files on who gets in: users of the machine by what the kernel says of them, never by trust."""
    names = dict.fromkeys((this_user(), server))
    _put(data / "pg_ident.conf", [f'{_MAP} "{name}" {_MAP}' for name in names])
    rules = [f"local all all peer map={_MAP}"]
    if port is not None:
        rules.append("host all all 127.0.0.1/32 scram-sha-256")
    _put(data / "pg_hba.conf", rules)


def _put(path: Path, lines: list[str]) -> None:
    path.write_text("\n".join(["# Written by Assay.", *lines]) + "\n")


def set_password(connection: psycopg.Connection[Any], user: str, word: str) -> None:
    """Sets a user's password; its hash is made here, so that no log of the server can hold it."""
    made = connection.pgconn.encrypt_password(word.encode(), user.encode(), b"scram-sha-256").decode()
    connection.execute(f"alter role {user} password '{made}'")  # type: ignore[call-overload,unused-ignore]


def tell(path: Path, port: int, user: str, word: str) -> None:
    """Writes it down for this user alone, as libpq reads it."""
    path.unlink(missing_ok=True)
    handle = os.open(path, os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_NOFOLLOW, 0o600)
    with os.fdopen(handle, "w") as file:
        file.write(f"127.0.0.1:{port}:*:{user}:{word}\n")
