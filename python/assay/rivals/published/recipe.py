"""What is known of a published program: where its source is, what is changed in it, how it is built, what it meets."""

from __future__ import annotations

import tomllib
from pathlib import Path

from pydantic import Field

from assay import home
from assay.document.table import Table
from assay.error import BAD_JOB, NOT_POSSIBLE, AssayError, did_you_mean

FILE = "rival.toml"
# The order in which lists have them; each is a folder of `folder()`.
NAMES = ("dash", "fptree", "bztree")


class PublishedSource(Table):
    """A repository at one commit."""

    name: str
    url: str
    commit: str


class Package(Table):
    """A package of the system, known by a header that it brings."""

    package: str
    header: str


class SourceChange(Table):
    """Lines of ours in a file of theirs: they replace `lines` lines from line `at` on, or stand before it.

    `was` is the beginning of the SHA-256 of the lines that are there (of line `at` alone where none is taken away): a
    file that is not the one that was meant is not changed.
    """

    source: str
    file: str
    at: int
    lines: int = 0
    was: str
    text: str


class Build(Table):
    """How it is built: by one call of the compiler. Paths begin with a source's name."""

    driver: str | None = None
    sources: list[str] = Field(default_factory=list)
    includes: list[str] = Field(default_factory=list)
    flags: list[str] = Field(default_factory=list)
    libraries: list[str] = Field(default_factory=list)


class Structure(Table):
    """One structure of the program: what of ours it meets, and in which contests."""

    name: str
    ours: str
    contests: list[str]


class Recipe(Table):
    """A published program."""

    name: str
    about: str
    licence: str
    durability: str
    # Sentences that are printed with every result.
    differences: list[str]
    source: list[PublishedSource]
    package: list[Package] = Field(default_factory=list)
    change: list[SourceChange] = Field(default_factory=list)
    build: Build
    environment: dict[str, str] = Field(default_factory=dict)
    structure: list[Structure]

    def meets(self, contest: str, ours: str) -> Structure | None:
        """The structure that meets one of ours in a contest."""
        found = (one for one in self.structure if one.ours == ours and contest in one.contests)
        return next(found, None)

    def contests(self) -> list[str]:
        """The contests that it has something for."""
        return list(dict.fromkeys(name for one in self.structure for name in one.contests))


def folder() -> Path:
    """Where recipes and drivers lie.

    Raises:
        AssayError: outside of a checkout.
    """
    root = home.checkout()
    if root is None:
        hint = "clone the repository, and build there"
        raise AssayError("rivals are built from a checkout, and this is none", hint=hint, code=NOT_POSSIBLE)
    return root / "crates" / "rivals" / "published"


def names() -> tuple[str, ...]:
    """The published programs; none outside of a checkout."""
    return NAMES if home.checkout() is not None else ()


def read(name: str, where: Path | None = None) -> Recipe:
    """The recipe of a program.

    Raises:
        AssayError: where there is none.
    """
    path = (where or folder()) / name / FILE
    if not path.is_file():
        hint = did_you_mean(name, NAMES)
        raise AssayError(f"there is no published program `{name}`", hint=hint, code=BAD_JOB)
    return Recipe.model_validate(tomllib.loads(path.read_text(encoding="utf-8")))
