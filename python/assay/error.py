"""The one error that people see: a sentence, what to do about it, and the exit code."""

from __future__ import annotations

import errno
from collections.abc import Iterable

DONE = 0
FAILED = 1
BAD_JOB = 2
INTERRUPTED = 3
NOT_POSSIBLE = 4
UNDECIDED = 5
MISSED = 6

CODES = {
    DONE: "done; nothing that was asked for failed",
    FAILED: "failed: a cell, a check or the command itself",
    BAD_JOB: "bad arguments or a bad file; nothing was touched",
    INTERRUPTED: "interrupted; what was finished is kept, `--resume` continues",
    NOT_POSSIBLE: "not possible on this machine, or there is no room",
    UNDECIDED: "`--undecided-fails`: whether the bound of `--fail-if-slower` is kept is undecided",
    MISSED: "an objective was missed, or B was shown to be slower than `--fail-if-slower` allows",
}
"""Every exit code with what it says. A failed cell goes before a regression: what failed was not compared."""


class AssayError(Exception):
    """Something that ends a command.

    `hint` says what to do; `code` is the exit code of the process.
    """

    def __init__(self, message: str, *, hint: str = "", code: int = FAILED) -> None:
        super().__init__(message)
        self.message = message
        self.hint = hint
        self.code = code

    def document(self) -> dict[str, object]:
        """The error as `--json` prints it."""
        return {"error": {"message": self.message, "hint": self.hint, "exit_code": self.code}}


_REMEDIES = {
    errno.ENOSPC: "free space there, or name a folder on a larger file system",
    errno.EDQUOT: "free space there, or have the quota raised",
    errno.EIO: "look at dmesg and at the health of what it lies on",
    errno.EROFS: "name a folder on a file system that can be written",
    errno.EACCES: "name a folder that this user may write, or run as one who may",
    errno.EPERM: "name a folder that this user may write, or run as one who may",
    errno.EMFILE: "raise the limit of open files (ulimit -n)",
    errno.ENOENT: "name one that is there",
    errno.ENAMETOOLONG: "name a shorter path",
}


def remedy(error: OSError) -> str:
    """What to do where the kernel refused something."""
    return _REMEDIES.get(error.errno or 0, "see that the folder is there and can be written, and look at dmesg")


def did_you_mean(word: str, known: Iterable[str]) -> str:
    """A sentence that names the known word closest to `word`, or all of them where none is close."""
    import difflib

    words = sorted(set(known))
    close = difflib.get_close_matches(word, words, n=1, cutoff=0.6)
    if close:
        return f"did you mean `{close[0]}`?"
    return f"known are {', '.join(f'`{name}`' for name in words)}" if words else ""
