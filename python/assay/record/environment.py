"""The machine, as it was when a run started.

Made from schema/ by `tools/record_types.py`; a test says when it is stale.
"""

from typing import Literal, TypedDict


class Cpu(TypedDict, total=False):
    """CPU facts."""

    clock: str
    features: list[str]
    governor: str
    llc_bytes: int
    logical: int
    model: str
    numa_nodes: int
    tsc_hz: float
    turbo: str
    usable: int


class SetLimit(TypedDict, total=False):
    """A limit that somebody has set, as it was when the run started."""

    device: str
    group: str
    setting: str
    value: float


class Memory(TypedDict, total=False):
    """Memory facts."""

    available_bytes: int
    memlock_bytes: int
    swap_used_bytes: int
    total_bytes: int
    transparent_hugepages: str


class Array(TypedDict, total=False):
    """An md array, as it was when the run started."""

    chunk_bytes: int
    devices: int
    level: str
    missing: int
    sync: str


class BlockDevice(TypedDict, total=False):
    """Block device facts."""

    array: Array | None
    bytes: int
    dax: bool
    firmware: str
    io_poll: bool
    link: str
    logical_block_bytes: int
    max_sectors_kb: int
    members: list[str]
    model: str
    name: str
    nr_requests: int
    numa_node: int
    physical_block_bytes: int
    rotational: bool
    scheduler: str
    serial: str
    write_cache: str


class FileSystem(TypedDict, total=False):
    """File system facts."""

    block_bytes: int
    free_bytes: int
    kind: str
    mount_point: str
    options: str
    total_bytes: int


LayerDoes = Literal["serves", "delays", "changes"]
"""What a layer may do to operations on their way."""


class LayerEffect(TypedDict, total=False):
    """One thing that a layer may do."""

    by: str
    does: LayerDoes
    reads: bool
    writes: bool


class Layer(TypedDict, total=False):
    """One layer of what a target lies on."""

    detail: str
    effects: list[LayerEffect]
    kind: str
    name: str


class TargetFacts(TypedDict, total=False):
    """Facts of one member of a target."""

    device: BlockDevice | None
    file_system: FileSystem | None
    layers: list[Layer]
    path: str
    target: str


class Environment(TypedDict, total=False):
    """The machine, as it was when the run started."""

    architecture: str
    cpu: Cpu
    distribution: str
    host: str
    io_uring_disabled: int | None
    kernel: str
    kernel_build: str
    limits: list[SetLimit]
    load_average: float
    memory: Memory
    perf_event_paranoid: int | None
    targets: list[TargetFacts]
    virtualisation: str
