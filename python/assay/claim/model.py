"""A catalog of claims: one file for each study."""

from __future__ import annotations

import tomllib
from pathlib import Path
from typing import Annotated, Any, Literal

from pydantic import BaseModel, ConfigDict, Field, ValidationError, model_validator

from assay import home
from assay.document import limits
from assay.error import BAD_JOB, AssayError, did_you_mean

VERSION = 1


class _Table(BaseModel):
    model_config = ConfigDict(extra="forbid", frozen=True)


class ClaimMachine(_Table):
    """Hardware of the study: a target as `--on twin:` knows it, and its host."""

    on: str
    host: str
    note: str = ""


class ClaimStream(_Table):
    """One kind of I/O."""

    op: Literal["read", "write", "mix"]
    write_percent: int = Field(default=50, ge=0, le=100)
    pattern: Literal["random", "sequential"] = "random"
    size: str = ""
    threads: int = Field(default=0, ge=0)
    depth: int = Field(default=1, ge=1)
    batch: int = Field(default=1, ge=1)
    rate: str = ""
    durability: str = "none"
    persist: Literal["auto", "nt", "clwb", "clflushopt", "none"] = "auto"
    working_set: str = ""
    layout: Literal["written", "grow"] = "written"
    read_ahead: str = ""


class Run(_Table):
    """Streams at the same time on one machine; with a sweep, one run for each value."""

    machine: str
    path: str
    file_system: str = ""
    threads: int = Field(default=0, ge=0)
    poll_sleep: str = ""
    engine: Literal["analytic", "simulation"] = "analytic"
    duration: str = ""
    sweep: dict[str, list[str | int]] = Field(default_factory=dict, max_length=1)
    streams: dict[str, ClaimStream | str]


class Works(_Table):
    """Records of an index, an engine or a database that can stand for what a study ran.

    `workload` may be a pattern, such as `wtperf*`: both sides then did the same one. `durability` names what makes a
    change durable where the sides differ in it by their nature; otherwise it must be alike. `storage` is what the study
    paid for, such as `p4800x-375g*1`: with it, `per_dollar` is a figure. `least` are figures that must be reached;
    `parameters` are those that set the sides apart. What was played on a twin stands for it where `on` names that twin,
    as `--on twin:` has it; what was run on this machine does too, unless `here` is false.
    """

    kind: Literal["index", "engine", "database"]
    workload: str
    subject: list[str] = Field(default_factory=list)
    medium: Literal["drive", "memory", ""] = ""
    durability: str = ""
    storage: str = ""
    on: str = ""
    here: bool = True
    least: dict[str, float] = Field(default_factory=dict)
    parameters: dict[str, str] = Field(default_factory=dict)
    like: str = ""


class Claim(_Table):
    """A published figure: where it holds, its value or range, and what gives it: runs, work records, the price book.

    `given` says that the figure was an input of the experiment, `calibrated` which parameter of a twin or host was made
    from it, `repeats` where the same figure was counted before: none of those is a prediction. `unlike` says why what
    was published cannot be of the set-up that is named: it is predicted all the same, but makes no band of the twins.
    """

    id: str
    setup: str
    metric: str
    published: float | Annotated[list[float], Field(min_length=2, max_length=2)] | None = None
    unit: str = ""
    take: str = ""
    price: str = ""
    work: str = ""
    given: str = ""
    calibrated: str = ""
    repeats: str = ""
    unlike: str = ""
    note: str = ""
    not_attempted: str = ""

    @model_validator(mode="after")
    def _attempted_or_not(self) -> Claim:
        if sum(map(bool, (self.take, self.price, self.not_attempted))) != 1:
            raise ValueError(f"claim {self.id} ({self.setup}): give one of take, price, not_attempted")
        if (self.take or self.price or self.work) and (self.published is None or not self.unit):
            raise ValueError(f"claim {self.id} ({self.setup}): what is attempted needs published and unit")
        return self

    @property
    def counts_as(self) -> Literal["input", "calibrated", "repeat", "predicted"]:
        """Only what is predicted says how good the twins are."""
        if self.given:
            return "input"
        if self.calibrated:
            return "calibrated"
        return "repeat" if self.repeats else "predicted"

    @property
    def range(self) -> tuple[float, float] | None:
        """The published figure as a range, in the claim's own unit."""
        if self.published is None:
            return None
        if isinstance(self.published, list):
            return self.published[0], self.published[1]
        return self.published, self.published


class Statement(_Table):
    """A finding in words, with the comparisons that must hold for it: of runs, or of work records."""

    id: str
    says: str
    holds: list[str] = Field(default_factory=list)
    work: list[str] = Field(default_factory=list)
    not_attempted: str = ""

    @model_validator(mode="after")
    def _tried_somehow(self) -> Statement:
        if not self.holds and not (self.work and self.not_attempted):
            raise ValueError(f"statement {self.id}: give holds, or work and why twins cannot try it")
        return self


class ClaimStudy(_Table):
    """All claims of one study."""

    version: Literal[1]
    study: str
    title: str
    source: str
    machines: dict[str, ClaimMachine]
    streams: dict[str, ClaimStream] = Field(default_factory=dict)
    runs: dict[str, Run]
    works: dict[str, Works] = Field(default_factory=dict)
    claims: list[Claim]
    statements: list[Statement] = Field(default_factory=list)

    @model_validator(mode="after")
    def _names(self) -> ClaimStudy:
        for name, run in self.runs.items():
            if run.machine not in self.machines:
                raise ValueError(f"run {name} names the machine {run.machine}, which is not there")
            for alias, stream in run.streams.items():
                if isinstance(stream, str) and stream not in self.streams:
                    raise ValueError(f"run {name}, stream {alias}: there is no stream {stream}")
        return self

    def stream(self, run: Run, alias: str) -> ClaimStream:
        """A stream of a run."""
        found = run.streams[alias]
        return self.streams[found] if isinstance(found, str) else found


def known() -> list[str]:
    """Names of the studies that have claims."""
    return sorted(path.stem for path in folder().glob("*.toml"))


def folder() -> Path:
    """Where the catalog lies."""
    return home.catalog() / "claims"


def load(name: str) -> ClaimStudy:
    """The claims of a study.

    Raises:
        AssayError: where there is no such study, or its file cannot be read.
    """
    path = folder() / f"{name}.toml"
    if not path.is_file():
        raise AssayError(f"there are no claims of a study `{name}`", hint=did_you_mean(name, known()), code=BAD_JOB)
    return parse(path.read_text(encoding="utf-8"), path.name)


def parse(text: str, name: str) -> ClaimStudy:
    """The claims in a TOML text."""
    try:
        document: dict[str, Any] = limits.toml(text, name)
        return ClaimStudy.model_validate(document)
    except tomllib.TOMLDecodeError as error:
        raise AssayError(f"{name} is no TOML: {error}", hint="correct that line", code=BAD_JOB) from error
    except ValidationError as error:
        first = error.errors()[0]
        where = ".".join(str(part) for part in first["loc"])
        raise AssayError(f"{name}: {where}: {first['msg']}", hint="correct the claim's file", code=BAD_JOB) from error
