"""What a run leaves.

Made from schema/ by `tools/record_types.py`; a test says when it is stale.
"""

from typing import Literal, TypedDict

from assay.record.environment import Environment
from assay.record.figure import Figure, Provenance
from assay.record.job import Job, Objective
from assay.record.verdict import Verdict


class Baseline(TypedDict, total=False):
    """What the generator can do without a target, on this machine, for this class."""

    generator_share: Figure
    null_cycles_per_op: Figure
    null_ops_per_s: Figure


class CheckOutcome(TypedDict, total=False):
    """What a check found."""

    blocks: int
    examples: list[str]
    wrong: int


CountedBy = Literal["in-window", "own-window", "accounts"]
"""What counted the cycles of a record."""


class Counted(TypedDict, total=False):
    """How cycles were counted."""

    by: CountedBy
    operations: int | None
    why: str
    window_s: float | None


class CpuUse(TypedDict, total=False):
    """CPU that a class, or the whole run, used in the window."""

    context_switches_per_op: Figure
    counted: Counted | None
    cycles_per_byte: Figure
    cycles_per_op: Figure
    helper_s: Figure
    instructions_per_op: Figure | None
    kernel_s: Figure
    page_faults_per_op: Figure
    system_calls_per_op: Figure
    tlb_misses_per_op: Figure | None
    user_s: Figure
    wait_s: Figure


class AtLeast(TypedDict, total=False):
    """Operations that had not ended when waiting was given up."""

    count: int
    from_ns: int


class Widths(TypedDict, total=False):
    """Relative half-widths of a computed distribution: a factor of `1 + width` to either side."""

    latency: float
    tail: float


class Distribution(TypedDict, total=False):
    """Summary of a latency distribution, with the histogram that it was read from."""

    above_range: int
    at_least: AtLeast | None
    count: int
    histogram: str
    max_ns: int
    mean_ns: float
    min_ns: int
    p50_ns: int
    p90_ns: int
    p9999_ns: int
    p999_ns: int
    p99_ns: int
    provenance: Provenance
    stdev_ns: float
    supported_percentile: float
    widths: Widths | None


class IntervalPoint(TypedDict, total=False):
    """One point of a class's series."""

    at_s: float
    bytes: int
    length_s: float
    max_ns: int
    mean_ns: float
    operations: int
    p50_ns: int
    p99_ns: int


class ObjectiveOutcome(TypedDict, total=False):
    """Whether an objective was met."""

    at_least: bool
    met: bool
    objective: Objective
    seen: float


class Overdue(TypedDict, total=False):
    """Operations that were due in the window, or in flight at its end, and ended after it."""

    completed: int
    missing: int
    waited_s: float


class ClassResult(TypedDict, total=False):
    """Result of one class."""

    achieved_depth: Figure
    asked_depth: int
    asked_rate: Figure | None
    bandwidth: Figure
    baseline: Baseline
    bytes: int
    check: CheckOutcome | None
    cpu: CpuUse
    device_read_bytes: Figure | None
    device_written_bytes: Figure | None
    errors: dict[str, int]
    flush: Distribution | None
    intervals: list[IntervalPoint]
    lateness: Distribution | None
    name: str
    objective: ObjectiveOutcome | None
    operations: int
    ops_rate: Figure
    overdue: Overdue | None
    read_service: Distribution | None
    reads: int
    response: Distribution | None
    service: Distribution
    write_service: Distribution | None
    writes: int


class CountingCost(TypedDict, total=False):
    """What hardware counters cost on a machine: adjacent pairs of slices without and with them, before the run."""

    null_added: Figure
    null_plain: Figure
    pairs: int
    switch_added: Figure
    switch_plain: Figure


class DeviceCounters(TypedDict, total=False):
    """Counters of one block device over the window, from the kernel."""

    device: str
    flushes: Figure
    held_up: dict[str, Figure]
    mean_in_flight: Figure
    read_bytes: Figure
    reads: Figure
    utilisation: Figure
    writes: Figure
    written_bytes: Figure


class NotMeasured(TypedDict, total=False):
    """Something that was asked for and could not be measured."""

    fix: str
    reason: str
    what: str


class RunInfo(TypedDict, total=False):
    """Identity of a run."""

    assayer_version: str
    id: str
    prepare_s: float
    started_at: str
    wall_s: float


Stop = Literal["limit", "steady", "bytes", "interrupted", "error", "operations"]
"""Why the window closed."""


class WindowOutcome(TypedDict, total=False):
    """The window as it was."""

    clock_drift: float
    closed_monotonic_ns: int | None
    edge_skew_ns: int
    measured_s: float
    opened_monotonic_ns: int | None
    stop: Stop
    warmup_s: float


class Record(TypedDict, total=False):
    """What a run leaves: figures, histograms, series, environment, provenance, verdict."""

    classes: list[ClassResult]
    counting_cost: CountingCost | None
    devices: list[DeviceCounters]
    environment: Environment
    job: Job
    not_measured: list[NotMeasured]
    process_cpu: CpuUse
    run: RunInfo
    verdict: Verdict
    version: int
    window: WindowOutcome
