"""A study file as types. The JSON Schema for editors is generated from here.

Any value may be a text with `${...}` in it; it is computed per cell, so a file is checked twice: as declared, where a
`${...}` passes, and as resolved, where none is left.
"""

from __future__ import annotations

from typing import Annotated, Any, ClassVar, Literal

from pydantic import AfterValidator, ConfigDict, Field, TypeAdapter, model_validator

from assay.document.table import Table
from assay.study import kinds

NAME = r"^[A-Za-z0-9][A-Za-z0-9_-]*$"

Name = Annotated[str, Field(pattern=NAME)]
Scalar = bool | int | float | str
Settings = dict[str, Scalar | list[Scalar]]
TargetKind = Literal["folder", "file", "block-device", "device-dax", "memory", "null"]
Scenario = Literal["all", "alone", "pairwise"]
FigureKind = Literal["line", "bar", "ladder", "latency-throughput", "timeseries", "heatmap", "interference", "cdf"]
Scale = Literal["linear", "log"]
EngineKind = Literal["engine-tpcc", "engine-ycsb", "engine-scan", "engine-ledger"]


class SizeShare(Table):
    """One size of a mix."""

    bytes: kinds.Size
    weight: kinds.Count = 1


class Pattern(Table):
    """An order of offsets that has parameters."""

    kind: Literal["zipf", "hot-spot"]
    theta: kinds.Number = Field(0.99, description="Exponent of zipf, above 0.")
    operations_percent: kinds.CountOrZero = Field(90, description="Share of operations that go to the hot spot.")
    pages_percent: kinds.Count = Field(10, description="Share of pages that are hot.")


class WriteDurability(Table):
    """What makes writes durable, once in `every` writes."""

    kind: kinds.DurabilityWord
    every: kinds.Count = 1


class Objective(Table):
    """What a class must reach: a latency at most, a throughput at least."""

    metric: kinds.Metric
    bound: kinds.Number = Field(description="A duration (`1ms`) for a latency, a rate (`250MB/s`) for a throughput.")


class ClassTable(Table):
    """One kind of I/O, with its own arrivals, depth, durability, data and path."""

    dataset: str = Field(description="Data set that it works on.")
    path: kinds.PathText = Field(description="Path and options, joined by `+`: `io_uring+direct+fixed`.")
    advice: kinds.Advice = Field("normal", description="Hint for the kernel.")
    poll_sleep: kinds.Duration = Field(0, description="Sleep between two looks for completions, of nvme_polled.")
    operation: kinds.Operation
    write_percent: kinds.CountOrZero = Field(0, description="Share of writes of a mix, 0 to 100.")
    pattern: kinds.PatternWord | Pattern
    size: kinds.Size | list[SizeShare] = Field(description="Bytes of an operation, or a mix of sizes.")
    threads: kinds.Count = 1
    depth: kinds.Count = Field(1, description="Operations in flight per thread.")
    batch: kinds.Count = Field(1, description="Operations submitted per system call.")
    arrivals: kinds.Arrivals | None = Field(None, description="`fixed` where there is a rate, otherwise `closed`.")
    rate: kinds.RateText | None = Field(None, description="`250MB/s` or `1000/s`; needs `rate_scope`.")
    rate_scope: kinds.RateScope | None = Field(
        None, description="Whether the rate is of the whole class (`total`) or of each `thread`. There is no default."
    )
    burst: kinds.Count = Field(1, description="Operations due at one instant, where arrivals are `burst`.")
    think: kinds.Duration = Field(0, description="Pause of a thread between operations, where it has no rate.")
    think_every: kinds.Count = Field(1, description="Operations of a thread between two pauses.")
    durability: kinds.DurabilityWord | WriteDurability = "none"
    buffer: kinds.Size = Field(0, description="Memory per thread that reads land in; 0: just what is in flight.")
    dirty: kinds.Size = Field(0, description="Bytes changed in a page before it is written.")
    start: kinds.Duration = Field(0, description="Begins this long after the window opens.")
    pin: str = Field("none", description="CPUs (`0,2-5`) or NUMA nodes (`node:0`) that its threads keep to, in turn.")
    objective: Objective | None = None


class DatasetTable(Table):
    """Files, or ranges of a device, that classes read and write."""

    bytes: kinds.Size = Field(description="Of each file; rounded down to a multiple of what its classes move at once.")
    files: kinds.Count = 1
    target: Name = Field("main", description="Name of the target that holds it, given as `--on NAME=TARGET`.")
    layout: kinds.Layout = "written"
    placement: kinds.Placement = "interleave"
    stripe: kinds.Size = 0
    content: kinds.Content = "random"


class WindowTable(Table):
    """Length of the measurement."""

    warmup: kinds.Duration = 0
    measure: kinds.Duration
    steady_after: kinds.Duration = Field(0, description="Stop early on steady state, but not before; 0: never.")
    interval: kinds.Duration = "100ms"
    bytes: kinds.Size = Field(0, description="Stop each class at this many bytes; 0: by time alone.")


class ChecksTable(Table):
    """Checks beyond measuring."""

    data: bool = False
    """Verify offset, generation and checksum of every block read."""


class Exclude(Table):
    """Cells that make no sense: those whose factors have all these values."""

    when: Settings = Field(min_length=1)
    reason: str


class Require(Table):
    """Cells that need a kind of target; elsewhere they are listed as not measured."""

    when: Settings = Field(default_factory=dict)
    targets: list[TargetKind] = Field(min_length=1)
    reason: str
    fix: str


class Choice(Table):
    """A value of a factor that sets several things at once: `${factor.field}` reads a field."""

    model_config = ConfigDict(extra="allow")
    open_keys: ClassVar[bool] = True
    name: str


class Figure(Table):
    """What the report draws."""

    id: Name
    title: str
    kind: FigureKind
    x: str | None = None
    y: str | None = None
    series: str | None = None
    facet: str | None = None
    x_scale: Scale = "linear"
    y_scale: Scale = "linear"
    class_: str | None = Field(None, alias="class")
    caption: str = ""


class Fit(Table):
    """Parameters that may be made smaller so that a run fits the target."""

    parameters: list[str] = Field(min_length=1, description="Sizes that scale the data.")
    space_percent_at_most: float = Field(90.0, gt=0, le=95, description="Share of the free space that may be used.")
    automatic: bool = Field(
        False,
        description="Always keep to that share; otherwise what finds no room takes a tenth of what is free.",
    )
    at_least: kinds.Size = "16MiB"


def _distinct(values: list[Choice | Scalar]) -> list[Choice | Scalar]:
    names = [value.name if isinstance(value, Choice) else value for value in values]
    repeated = next((name for index, name in enumerate(names) if name in names[:index]), None)
    if repeated is not None:
        raise ValueError(f"the value `{repeated}` stands here twice")
    return values


Values = Annotated[list[Choice | Scalar], Field(min_length=1), AfterValidator(_distinct)]


class WorkTable(Table):
    """Work of the engine, an index or a database in the place of classes of I/O: its other keys are the command's
    options."""

    model_config = ConfigDict(extra="allow")
    open_keys: ClassVar[bool] = True
    kind: Literal[EngineKind, "index", "contest", "dbms-tpcc", "dbms-tpch", "dbms-wtperf"]


class StudyHead(Table):
    """What a study and a composition have in common."""

    version: Literal[1] = 1
    name: Name
    title: str
    question: str = Field(description="The question that it answers, one sentence.")
    source: str = Field(description="Publication and section that it follows.")
    notes: list[str] = Field(default_factory=list, description="What differs from the source, and why.")
    fit: Fit | None = None


class Study(StudyHead):
    """A declared matrix of cells."""

    repeats: int = Field(1, ge=1)
    targets: list[TargetKind] = Field(default=["folder", "block-device"], description="Kinds of target it runs on.")
    parameters: dict[str, Scalar] = Field(default_factory=dict)
    matrix: dict[str, Values] = Field(default_factory=dict)
    exclude: list[Exclude] = Field(default_factory=list)
    require: list[Require] = Field(default_factory=list)
    datasets: dict[Name, DatasetTable] = Field(default_factory=dict)
    classes: dict[Name, ClassTable] = Field(default_factory=dict)
    work: WorkTable | None = Field(None, description="What is done in the place of classes of I/O.")
    scenarios: list[Scenario] = Field(default=["all"], min_length=1)
    window: WindowTable = Field(default_factory=lambda: WindowTable.model_validate({"measure": 0}))
    cache: kinds.Cache = "as-found"
    cache_limit: kinds.Size = Field(
        0, description="Bytes that the page cache may fill, by a control group of the run's own; 0: as memory allows."
    )
    cool_down: kinds.Duration = Field(0, description="Rest of each cell between its preparation and its load.")
    trim: bool = Field(False, description="Each cell discards its data and writes them anew, so that drives are alike.")
    counting: kinds.Counting = Field("auto", description="When hardware counters run.")
    checks: ChecksTable = ChecksTable()
    figures: list[Figure] = Field(default_factory=list)
    profile: dict[str, Settings] = Field(
        default_factory=dict, description="Named settings, as `--set` gives them: `[profile.quick]` makes it small."
    )

    @model_validator(mode="after")
    def _work_or_classes(self) -> Study:
        if self.work is not None and (self.classes or self.datasets):
            raise ValueError("a study has [work], or classes on data sets; this one has both")
        if self.work is None and not (self.classes and self.datasets and "window" in self.model_fields_set):
            raise ValueError("a study has [classes], [datasets] and a [window], or [work]")
        return self


class StudyPart(Table):
    """One study of a composition."""

    study: str
    as_: Name | None = Field(None, alias="as", description="Its name here, where a study comes twice.")
    title: str | None = None
    profile: str | None = None
    set: Settings = Field(default_factory=dict)


class Composition(StudyHead):
    """Several studies in one run and one report."""

    parts: list[StudyPart] = Field(min_length=1)


def schema() -> dict[str, Any]:
    """JSON Schema of a study file, for editors."""
    document: dict[str, Any] = TypeAdapter(Study | Composition).json_schema(by_alias=True)
    return {
        "$schema": "https://json-schema.org/draft/2020-12/schema",
        "title": "Assay study",
        "description": "A declared study, or a composition of studies. A text may hold ${name} or simple arithmetic.",
        **document,
    }
