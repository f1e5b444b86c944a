"""What is known of a published program: where its source is, what is changed in it, how it is built, what it meets."""

from __future__ import annotations

import tomllib
from pathlib import Path
from typing import Literal

from pydantic import Field

from assay import home
from assay.document.table import Table
from assay.error import BAD_JOB, NOT_POSSIBLE, AssayError, did_you_mean

FILE = "rival.toml"
# The order in which lists have them; each is a folder of `folder()`.
NAMES = ("dash", "fptree", "bztree", "leanstore", "vmcache")


class PublishedSource(Table):
    """A repository at one commit."""

    name: str
    url: str
    commit: str


class Package(Table):
    """A package of the system, known by a header or by a program that it brings."""

    package: str
    header: str | None = None
    tool: str | None = None


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


class Cmake(Table):
    """A build by the authors' own CMake files: of the source `root`, the programs at these paths below the build."""

    root: str
    options: list[str] = Field(default_factory=list)
    programs: list[str]


class Build(Table):
    """How it is built: by one call of the compiler, or by `cmake`. Paths begin with a source's name."""

    cmake: Cmake | None = None

    driver: str | None = None
    sources: list[str] = Field(default_factory=list)
    includes: list[str] = Field(default_factory=list)
    flags: list[str] = Field(default_factory=list)
    libraries: list[str] = Field(default_factory=list)


class CommandLine(Table):
    """The command line of a program that has one of its own: no driver of ours is in it, and what it prints is read.

    Words and values of variables have these put in: {file}, {folder}, {threads}, {tasks}, {units}, {seconds},
    {pool_mib}, {pool_gib} and {file_gib}.
    """

    program: str = "program"
    words: list[str] = Field(default_factory=list)
    environment: dict[str, str] = Field(default_factory=dict)
    prints: Literal["vmcache", "leanstore"]
    # Bytes that it keeps for each warehouse or row once it is loaded, and that a second of a window adds at most.
    unit_bytes: int
    grown_bytes_per_s: int = 0
    # Its threads for each one that is asked for, and how many it can have.
    threads_each: int = 1
    threads_at_most: int = 128
    # Tasks of each of its threads, where they are not as many as ours has.
    tasks: int | None = None


class Structure(Table):
    """One structure of the program: what of ours it meets, and in which contests."""

    name: str
    ours: str
    contests: list[str]
    command: CommandLine | None = None
    # Sentences that are printed with these contests' results alone.
    differences: list[str] = Field(default_factory=list)


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

    def differs(self, contest: str, ours: str) -> tuple[str, ...]:
        """What is not the same on both sides of a contest."""
        structure = self.meets(contest, ours)
        return (*self.differences, *(structure.differences if structure is not None else ()))

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
