"""What goes where: data to standard output, everything else to standard error; errors as sentences with a hint."""

from __future__ import annotations

import errno
import json
import os
import select
import sys
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any

from assay.error import BAD_JOB, FAILED, AssayError, remedy

if TYPE_CHECKING:
    from rich.console import Console

_PACKAGE = "assay."
# Columns of a table where standard output is no terminal: a header that is cut off helps nobody.
_WIDE = 240


def emit(document: Any) -> None:
    """Prints one JSON document."""
    print(json.dumps(document, indent=2, ensure_ascii=False, default=str))


def say(text: str) -> None:
    """Prints a line of text as data, at once: some commands take minutes, and a file may be watched."""
    print(text, flush=True)


def console() -> Console:
    """Where tables go: as wide as the terminal, or whole where there is none."""
    from rich.console import Console

    return Console(file=sys.stdout, highlight=False, width=None if sys.stdout.isatty() else _WIDE)


def columns(heads: Sequence[str], rows: Sequence[Sequence[str]], right: Sequence[int] = ()) -> None:
    """Prints a table, the columns `right` flush right. Where nobody sees its bold head it is laid out as plain text:
    Rich takes a third of a millisecond for a row, and a comparison may have as many rows as two folders have figures.
    """
    if sys.stdout.isatty():
        _styled(heads, rows, right)
        return
    widths = [max(map(len, column)) for column in zip(heads, *rows, strict=True)]
    say("\n".join(
        "  ".join(text.rjust(width) if place in right else text.ljust(width)
                  for place, (text, width) in enumerate(zip(row, widths, strict=True))).rstrip()
        for row in (heads, *rows)
    ))  # fmt: skip


def _styled(heads: Sequence[str], rows: Sequence[Sequence[str]], right: Sequence[int]) -> None:
    from rich.table import Table
    from rich.text import Text

    shown = Table(box=None, pad_edge=False, header_style="bold", padding=(0, 2, 0, 0))
    for place, head in enumerate(heads):
        shown.add_column(head, justify="right" if place in right else "left", no_wrap=True)
    for row in rows:
        shown.add_row(*map(Text, row))
    console().print(shown)


def tell(text: str) -> None:
    """Prints a line for people."""
    print(text, file=sys.stderr, flush=True)


def sentences(*parts: str) -> str:
    """Reason and fix as sentences in a row, whether or not their authors ended them with a full stop."""
    told = [part.strip() for part in parts if part.strip()]
    return " ".join(part if part.endswith((".", "!", "?", ":")) else f"{part}." for part in told)


def fail(error: AssayError, as_json: bool) -> int:
    """Prints an error the way that was asked for; returns the exit code."""
    if as_json:
        emit(error.document())
    else:
        tell(f"error: {error.message}" + (f"\n\nhint: {error.hint}" if error.hint else ""))
    return error.code


def as_assay_error(error: Exception) -> AssayError | None:
    """An error of one of our parts as the one that people see; none where it is a defect of ours."""
    if isinstance(error, AssayError):
        return error
    if isinstance(error, OSError) and error.errno not in (None, errno.EPIPE):
        named = f"{os.fsdecode(error.filename)}: " if error.filename is not None else ""
        return AssayError(f"{named}{error.strerror}", hint=remedy(error))
    if isinstance(error, UnicodeError):
        hint = "rename it, or mend the file: Assay's documents hold UTF-8"
        return AssayError(f"a name or a file is not text in UTF-8: {error}", hint=hint, code=BAD_JOB)
    if isinstance(error, RecursionError):
        return AssayError("a document is nested too deep", hint="name a document of Assay's", code=BAD_JOB)
    if not type(error).__module__.startswith(_PACKAGE):
        return None
    hint = getattr(error, "hint", None) or getattr(error, "fix", None) or ""
    code = getattr(error, "code", None)
    return AssayError(str(error), hint=str(hint), code=code if isinstance(code, int) else FAILED)


@contextmanager
def to_reader() -> Iterator[None]:
    """Prints for a reader that may leave when it has seen enough, as `head` does: that is no error."""
    try:
        yield
        sys.stdout.flush()
    except BrokenPipeError:
        if not reader_left():
            raise


def reader_left() -> bool:
    """Whether nobody reads standard output any more. What is left of it goes nowhere then."""
    try:
        standard = sys.stdout.fileno()
    except OSError:
        return False
    watch = select.poll()
    watch.register(standard, 0)
    left = any(seen & select.POLLERR for _, seen in watch.poll(0))
    if left:
        os.dup2(os.open(os.devnull, os.O_WRONLY), standard)
    return left
