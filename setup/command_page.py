"""Prints the manual page of `assay` (roff), out of its table of contents: `python setup/command_page.py > assay.1`."""

from __future__ import annotations

import sys
from collections.abc import Iterator
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
if str(ROOT / "python") not in sys.path:
    sys.path.insert(0, str(ROOT / "python"))

from assay.cli.contents import CONTENTS, Command, Group  # noqa: E402  Found by the line above, without an installation.
from assay.version import __version__  # noqa: E402

_EXIT = (
    "0 done, 1 failed, 2 bad job, 3 interrupted with what was finished kept, 4 not possible on this machine, "
    "5 undecided, 6 shown to be worse than what was asked for."
)


def page() -> str:
    """The whole page."""
    return "\n".join(_lines()) + "\n"


def _lines() -> Iterator[str]:
    yield f'.TH ASSAY 1 "" "assay {__version__}" "Assay"'
    yield from (".SH NAME", r"assay \- what a drive, a way to reach it and a dollar are worth to a database")
    yield from (".SH SYNOPSIS", ".B assay", ".I COMMAND", ".RI [ OPTION ]...")
    yield from (
        ".SH DESCRIPTION",
        _plain("assay COMMAND --help prints the options of a command; --json is for programs."),
    )
    for section in CONTENTS:
        yield f".SH {_plain(section.title.upper())}"
        for entry in section.entries:
            yield from _entry(entry)
        yield from (".PP", "Example:", ".PP", ".RS", rf"\fB{_plain(section.example)}\fR", ".RE")
    yield from (".SH EXIT STATUS", _plain(_EXIT), ".SH SEE ALSO", ".BR assayer (1)")


def _entry(entry: Command | Group) -> Iterator[str]:
    yield from (".TP", rf"\fBassay {_plain(entry.name)}\fR", _plain(entry.says))
    if isinstance(entry, Group):
        for one in entry.commands:
            yield from (".TP", rf"\fBassay {_plain(entry.name)} {_plain(one.name)}\fR", _plain(one.says))


def _plain(text: str) -> str:
    """Text in which nothing is a request of roff."""
    safe = text.replace("\\", r"\e").replace("-", r"\-")
    return rf"\&{safe}" if safe.startswith((".", "'")) else safe


if __name__ == "__main__":
    sys.stdout.write(page())
