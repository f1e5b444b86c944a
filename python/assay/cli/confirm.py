"""A question to whoever sits at the terminal; what nobody can be asked is refused."""

from __future__ import annotations

import sys

from assay.error import BAD_JOB, INTERRUPTED, AssayError


def confirm(said: str, *, yes: bool, hint: str, declined: str) -> None:
    """Asks whether what is said is meant, unless `yes` was given. `declined` is the hint where the answer is no.

    Raises:
        AssayError: where nobody can be asked, or the answer is no.
    """
    if yes:
        return
    if not (sys.stdin.isatty() and sys.stderr.isatty()):
        raise AssayError(said, hint=hint, code=BAD_JOB)
    print(f"{said}. Go on? [y/N] ", end="", file=sys.stderr, flush=True)
    if input().strip().lower() not in ("y", "yes"):
        raise AssayError("nothing was touched", hint=declined, code=INTERRUPTED)
