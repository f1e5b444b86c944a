"""What CI asks of a command: a file in JUnit's form, one in Markdown, and a baseline to hold a run against."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from assay.cli import output
from assay.error import BAD_JOB, AssayError
from assay.results import junit, markdown
from assay.results.cases import Case


@dataclass(frozen=True)
class Papers:
    """Files that were asked for."""

    junit: Path | None = None
    markdown: Path | None = None
    earlier: tuple[Case, ...] = ()
    """Cases that stand before those that are written."""

    @property
    def wanted(self) -> bool:
        """Whether any was."""
        return self.junit is not None or self.markdown is not None

    def write(self, title: str, lead: Sequence[str], cases: Sequence[Case]) -> None:
        """Writes them, and says where."""
        cases = [*self.earlier, *cases]
        if self.junit is not None:
            junit.write(self.junit, title, cases)
            output.tell(f"junit: {self.junit}")
        if self.markdown is not None:
            markdown.write(self.markdown, title, lead, cases)
            output.tell(f"markdown: {self.markdown}")


NONE = Papers()


def baseline(named: Path) -> Path:
    """The result folder that `--baseline` names, by itself or by a file in it. Raises `AssayError` where it is none."""
    folder = named if named.is_dir() else named.parent
    if named.exists() and (folder / "plan.json").is_file():
        return folder
    hint = "name a folder that `assay run` or `assay quick` left, or a file in it"
    raise AssayError(f"--baseline {named} is no result folder", hint=hint, code=BAD_JOB)
