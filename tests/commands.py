"""The command line in this process: a call costs no new interpreter."""

from __future__ import annotations

import contextlib
import io
from dataclasses import dataclass
from pathlib import Path

from assay.cli.main import main


@dataclass(frozen=True)
class Done:
    """What a call left; a defect of ours is raised, not printed."""

    returncode: int
    stdout: str
    stderr: str


def assay(*words: str, inside: Path | None = None) -> Done:
    """`assay WORDS` in a folder."""
    out, err = io.StringIO(), io.StringIO()
    with contextlib.redirect_stdout(out), contextlib.redirect_stderr(err), contextlib.chdir(inside or Path.cwd()):
        try:
            code = main(list(words))
        except SystemExit as leaving:
            code = leaving.code if isinstance(leaving.code, int) else 0
    return Done(code, out.getvalue(), err.getvalue())
