"""What the measuring program is asked to do.

Made from schema/ by `tools/record_types.py`; a test says when it is stale.
"""

from typing import Any, Literal, TypedDict

Cache = Literal["as-found", "warm", "cold", "bypassed"]
"""State of the page cache when the window opens."""

Journalling = Literal["mapping", "write"]
"""How entries reach the acknowledgement journal, and so what the journal outlives."""


class Checks(TypedDict, total=False):
    """Checks beyond measuring."""

    acknowledgements: str | None
    data: bool
    journalling: Journalling


class ArrivalsClosed(TypedDict, total=False):
    """The next operation starts when one ends."""

    kind: Literal["closed"]


RateScope = Literal["total", "thread"]
"""What a rate counts."""


class ArrivalsFixed(TypedDict, total=False):
    """Evenly spaced."""

    kind: Literal["fixed"]
    rate_per_s: float
    scope: RateScope


class ArrivalsPoisson(TypedDict, total=False):
    """Exponentially distributed gaps."""

    kind: Literal["poisson"]
    rate_per_s: float
    scope: RateScope


class ArrivalsBurst(TypedDict, total=False):
    """`burst` operations at once, evenly spaced bursts."""

    burst: int
    kind: Literal["burst"]
    rate_per_s: float
    scope: RateScope


Arrivals = ArrivalsClosed | ArrivalsFixed | ArrivalsPoisson | ArrivalsBurst
"""When operations are due."""

DurabilityKind = Literal["none", "fdatasync", "fsync", "o_dsync", "rwf_dsync", "msync", "persist"]
"""What makes a write durable."""


class Durability(TypedDict, total=False):
    """Durability of a class's writes."""

    every: int
    kind: DurabilityKind


Metric = Literal["mean_ns", "p50_ns", "p99_ns", "p999_ns", "bandwidth_bytes_per_s", "ops_per_s"]
"""What an objective is about."""


class Objective(TypedDict, total=False):
    """What a class must reach: a latency below, or a throughput at least."""

    bound: float
    metric: Metric


class OperationRead(TypedDict, total=False):
    """Reads."""

    kind: Literal["read"]


class OperationWrite(TypedDict, total=False):
    """Writes."""

    kind: Literal["write"]


class OperationMix(TypedDict, total=False):
    """Both: each operation is a write with probability `write_percent`/100, evenly spread (every fifth at 20)."""

    kind: Literal["mix"]
    write_percent: int


class OperationTrim(TypedDict, total=False):
    """Tells a device that it need not keep what lies there."""

    kind: Literal["trim"]


Operation = OperationRead | OperationWrite | OperationMix | OperationTrim
"""Read, write, a mix of both, or trim."""

Advice = Literal["normal", "random", "sequential", "will_need", "huge_page"]
"""Hints for the kernel: `posix_fadvise` for file paths, `madvise` for mappings."""

PathKind = Literal["pread", "mmap", "libaio", "io_uring", "nvme_passthrough", "pmem", "nvme_polled", "null"]
"""The system interface that carries the bytes."""

Persist = Literal["auto", "nt", "clwb", "clflushopt", "none"]
"""How stores are pushed out of the CPU caches on the `pmem` path."""

PollMode = Literal["none", "iopoll", "sqpoll"]
"""How completions of `io_uring` are found, and who submits."""

Reach = Literal["auto", "vfio", "no_iommu", "uio"]
"""How a drive is reached that is taken from the kernel (`nvme_polled`)."""


class PathSpec(TypedDict, total=False):
    """A path with its options."""

    advice: Advice
    direct: bool
    fenced: bool
    fixed: bool
    kind: PathKind
    persist: Persist
    poll: PollMode
    poll_sleep_us: int
    reach: Reach


class PatternSequential(TypedDict, total=False):
    """One after the other, around at the end."""

    kind: Literal["sequential"]


class PatternUniform(TypedDict, total=False):
    """Every page equally likely."""

    kind: Literal["uniform"]


class PatternShuffled(TypedDict, total=False):
    kind: Literal["shuffled"]


class PatternZipf(TypedDict, total=False):
    """Zipf-distributed ranks, scattered over the file."""

    kind: Literal["zipf"]
    theta: float


class PatternHotSpot(TypedDict, total=False):
    """A share of operations goes to a share of the pages."""

    kind: Literal["hot-spot"]
    operations_percent: int
    pages_percent: int


Pattern = PatternSequential | PatternUniform | PatternShuffled | PatternZipf | PatternHotSpot
"""Order of offsets."""


class PinCpus(TypedDict, total=False):
    """Each thread keeps to one of these CPUs, in their order and around: with CPUs 0 and 1 thread 2 runs on CPU 0."""

    cpus: list[int]


class PinNodes(TypedDict, total=False):
    """Each thread keeps to the CPUs of one of these NUMA nodes, in their order and around, and has its memory there."""

    nodes: list[int]


Pin = PinCpus | PinNodes
"""CPUs or NUMA nodes that the threads of a class keep to."""


class SizeShare(TypedDict, total=False):
    """One size with its weight."""

    bytes: int
    weight: int


Sizes = int | list[SizeShare]
"""Size of operations: one, or a mix."""


class Think(TypedDict, total=False):
    """A pause of each thread between its operations, as of a user who looks at an answer before asking again."""

    every: int
    pause_s: float


class Class(TypedDict, total=False):
    """A class of I/O with its own arrivals, depth, durability, data and path."""

    arrivals: Arrivals
    batch: int
    buffer_bytes: int
    dataset: str
    depth: int
    dirty_bytes: int
    durability: Durability
    name: str
    objective: Objective | None
    operation: Operation
    path: PathSpec
    pattern: Pattern
    pin: Pin | None
    size: Sizes
    start_s: float
    think: Think | None
    threads: int


CpuCounting = Literal["auto", "in-window", "own-window", "accounts"]
"""When hardware counters run."""

Content = Literal["random", "zero", "stamped"]
"""What the bytes look like."""

Layout = Literal["written", "grow", "preallocated", "as-found"]
"""State of a data set when the window opens."""

Placement = Literal["interleave", "bound"]
"""How the pages of a data set spread over the members of its target."""


class Dataset(TypedDict, total=False):
    """A data set."""

    bytes: int
    content: Content
    files: int
    layout: Layout
    name: str
    placement: Placement
    stripe_bytes: int
    target: str


TargetKind = Literal["folder", "file", "block-device", "device-dax", "memory", "null", "twin"]
"""Kind of a target."""


class Target(TypedDict, total=False):
    """A target: one place, or several that are used as members of a pseudo-RAID."""

    id: str
    kind: TargetKind
    members: list[str]
    serials: list[str]
    twin: Any
    yes_destroy: bool


class Window(TypedDict, total=False):
    """Length of the measurement."""

    bytes_at_most: int
    interval_ms: int
    measure_s: float
    steady_after_s: float
    warmup_s: float


class Job(TypedDict, total=False):
    """A job: one cell of a study, complete in itself."""

    cache: Cache
    cache_bytes: int | None
    checks: Checks
    classes: list[Class]
    cool_down_s: float
    counting: CpuCounting
    datasets: list[Dataset]
    free_percent_at_least: float
    keep_scratch: bool
    labels: dict[str, str]
    name: str
    scratch: str
    seed: int
    start_monotonic_ns: int | None
    targets: list[Target]
    trim: bool
    version: int
    window: Window
