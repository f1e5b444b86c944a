"""`assay --help`, printed out of the table of contents: loading what reads arguments takes longer than all else."""

from __future__ import annotations

import os
import sys
import textwrap
from collections.abc import Iterator, Sequence

from assay.cli.contents import CONTENTS

ABOUT = "Measures the storage under a folder the way a database uses it, and says whether to believe it."
OPTIONS = (("--version", "Show the version and exit."), ("-h, --help", "Show this message and exit."))
ASKED: tuple[list[str], ...] = ([], ["--help"], ["-h"])
_WIDEST, _LEAST, _MARGIN = 80, 50, 2


def show(words: Sequence[str]) -> bool:
    """Prints it where these words ask for it; whether they did. An answer to completion is not for this."""
    if list(words) not in ASKED or "_ASSAY_COMPLETE" in os.environ:
        return False
    sys.stdout.write(text(width()))
    sys.stdout.flush()
    return True


def width() -> int:
    """Columns to fill: those of the terminal, 80 at most."""
    try:
        columns = int(os.environ.get("COLUMNS", "")) or os.get_terminal_size(1).columns
    except (ValueError, OSError):
        columns = _WIDEST
    return max(min(columns, _WIDEST) - _MARGIN, _LEAST)


def text(columns: int) -> str:
    """All of it, in lines of at most so many letters, as typer lays it out."""
    lines = ["Usage: assay [OPTIONS] COMMAND [ARGS]...", "", *_filled(ABOUT, columns), "", "Options:"]
    lines += _listed(OPTIONS, columns)
    for section in CONTENTS:
        lines += ["", f"{section.title}:", *_listed([(one.name, one.says) for one in section.entries], columns)]
        lines += ["", *_filled(f"For example: {section.example}", columns)]
    return "\n".join(lines) + "\n"


def _filled(sentence: str, columns: int) -> list[str]:
    return textwrap.wrap(sentence, columns, initial_indent="  ", subsequent_indent="  ", replace_whitespace=False)


def _listed(rows: Sequence[tuple[str, str]], columns: int) -> Iterator[str]:
    """Names with what they do beside them, in a column of its own."""
    first = max(len(name) for name, _ in rows) + 2
    for name, says in rows:
        lines = textwrap.wrap(says, max(columns - first - 2, 10), replace_whitespace=False)
        yield f"  {name:{first}}{lines[0]}"
        yield from (f"  {'':{first}}{line}" for line in lines[1:])
