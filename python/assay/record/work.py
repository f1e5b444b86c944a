"""What a run of an index, an engine or a database leaves.

Made from schema/ by `tools/record_types.py`; a test says when it is stale.
"""

from typing import Any, Literal, TypedDict

from assay.record.environment import Environment
from assay.record.figure import Figure
from assay.record.record import CpuUse, DeviceCounters, Distribution, IntervalPoint, NotMeasured, Overdue, RunInfo
from assay.record.verdict import Verdict


class WorkCheck(TypedDict, total=False):
    """Something that was checked."""

    evidence: str
    name: str
    passed: bool


WorkKind = Literal["index", "engine", "database"]
"""Which rung of the ladder a record belongs to."""


class WorkPart(TypedDict, total=False):
    """One kind of operation, transaction or query."""

    empty: int
    facts: dict[str, str]
    failed: int
    figures: dict[str, Figure]
    name: str
    overdue: Overdue | None
    response: Distribution | None
    service: Distribution | None
    succeeded: int


class Subject(TypedDict, total=False):
    """What ran: an index, an engine, a database."""

    name: str
    settings: dict[str, Any]
    version: str


class WorkTarget(TypedDict, total=False):
    """Where something of it lay."""

    emulated: bool
    role: str
    target: str


class Workload(TypedDict, total=False):
    """What it was asked to do."""

    name: str
    parameters: dict[str, Any]


class WorkRecord(TypedDict, total=False):
    """What a run of an index, an engine or a database leaves."""

    checks: list[WorkCheck]
    cpu: CpuUse | None
    devices: list[DeviceCounters]
    driver_cpu: CpuUse | None
    durability: str
    environment: Environment
    figures: dict[str, Figure]
    intervals: list[IntervalPoint]
    kind: WorkKind
    measured_s: float
    not_measured: list[NotMeasured]
    parts: list[WorkPart]
    run: RunInfo
    subject: Subject
    targets: list[WorkTarget]
    verdict: Verdict
    version: int
    workload: Workload
