"""Passwords: from the environment, a file or a prompt. On a command line every user of the machine would see them."""

from __future__ import annotations

import getpass
import os
import re
import sys
from pathlib import Path

from assay.error import BAD_JOB, AssayError

WORD, FILE = "ASSAY_DB_PASSWORD", "ASSAY_DB_PASSWORD_FILE"
"""Names of the variables that hold a password, and the path of a file that does."""
_GIVEN = re.compile(r"(?:^|[;\s?&])\s*(?:password|pwd)\s*=\s*[^;\s]|^\w+://[^@/\s:]*:[^@/\s]+@", re.IGNORECASE)


class SecretError(AssayError):
    """A password is where it must not be, or is missing."""


def refuse_in(connection: str) -> None:
    """Refuses a connection string with a password in it."""
    if _GIVEN.search(connection):
        message = "the connection string has a password, and `ps` shows a command line to everybody"
        hint = f"leave it out, and give it in {WORD}, in the file that {FILE} names, or when it is asked for"
        raise SecretError(message, hint=hint, code=BAD_JOB)


def password(whose: str) -> str:
    """The password of a user of a server, from where it may stand; a person is asked."""
    if word := known():
        return word
    if sys.stdin.isatty():
        return getpass.getpass(f"password of {whose}: ")
    message = f"there is no password of {whose}"
    raise SecretError(message, hint=f"give it in {WORD}, or in the file that {FILE} names", code=BAD_JOB)


def known() -> str:
    """The password that the environment holds or leads to; empty where there is none."""
    if word := os.environ.get(WORD):
        return word
    named = os.environ.get(FILE)
    return _from(Path(named)) if named else ""


def _from(path: Path) -> str:
    try:
        handle = os.open(path, os.O_RDONLY | os.O_NONBLOCK)
        with os.fdopen(handle) as file:
            facts = os.fstat(file.fileno())
            if facts.st_mode & 0o077:
                raise SecretError(f"others may read {path}", hint=f"chmod 600 {path}", code=BAD_JOB)
            return file.readline(4096).rstrip("\n")
    except OSError as error:
        message = f"the password cannot be read from {path}: {error.strerror}"
        raise SecretError(message, hint=f"name a file of yours in {FILE}", code=BAD_JOB) from error
