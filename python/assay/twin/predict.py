"""`assay predict`: one point of a twin."""

from __future__ import annotations

from dataclasses import dataclass, replace

from assay.binary import Binary
from assay.error import BAD_JOB, NOT_POSSIBLE, AssayError, did_you_mean
from assay.results import paths
from assay.target import catalog, names
from assay.target.host import HostWish
from assay.untyped import Json

# What the command line calls a path, on drives and on memory. `interface+option` as in studies.
BLOCK_PATHS = {
    # As in studies and jobs: who does not ask for direct I/O goes through the page cache.
    "pread": "pread_buffered",
    "pread+direct": "pread_direct",
    "pread+buffered": "pread_buffered",
    "mmap": "mmap",
    "libaio": "libaio",
    "libaio+direct": "libaio",
    "io_uring": "io_uring_buffered",
    "io_uring+direct": "io_uring",
    "io_uring+iopoll": "io_uring_polled",
    "io_uring+buffered": "io_uring_buffered",
    "spdk": "polled",
    **{kind.name: kind.twin for kind in paths.KINDS.values() if kind.twin},
}
# Where nobody names a path on a drive.
DIRECT = "io_uring+direct"
# Families of drives that copy what is valid before they erase, and write more slowly once they have to.
COLLECTING = ("nand", "cloud-instance")
# Paths on which a thread has one operation in flight.
BLOCKING = ("pread_buffered", "pread_direct", "mmap", "dax_pread", "dax_mmap_msync", "pmem")
# Paths through the page cache.
BUFFERED = ("pread_buffered", "mmap", "io_uring_buffered")
MEMORY_PATHS = {"pmem": "pmem", "pread": "dax_pread", "mmap": "dax_mmap_msync"}
PERSISTS = ("auto", "nt", "clwb", "clflushopt", "none")
DURABILITIES = ("none", "fdatasync", "fsync", "o_dsync", "rwf_dsync", "msync", "persist")


@dataclass(frozen=True)
class Point:
    """What is asked. Sizes in bytes, rates in operations per second."""

    on: str
    operation: str = "read"
    sequential: bool = False
    size_bytes: int = 4096
    threads: int = 1
    depth: int = 1
    batch: int = 1
    path: str = ""
    persist: str = "auto"
    read_percent: float | None = None
    durability: str = "none"
    rate_per_s: float | None = None
    working_set_bytes: int = 0
    file_system: str = ""
    duration_s: float = 0.0
    fenced: bool = False
    layout: str = "written"
    host: str = ""
    cores: int | None = None
    clock_hz: float | None = None


def predict(point: Point) -> Json:
    """The point's figures with band and provenance, as `--json` prints them.

    Raises:
        AssayError: where the twin, the host or the path is not known, or the twin cannot know.
    """
    point = with_file_system(point)
    target = names.target(point.on)
    check(point, target)
    host = host_of(point, target)
    question = {"target": 0, "host": 0, "streams": [stream(point, names.is_memory(target))]}
    document = {"version": catalog.VERSION, "targets": [target], "hosts": [host], "questions": [question]}
    answer = Binary.find().document("predict", "-", given=document)["answers"][0]
    if answer["kind"] == "refused":
        raise AssayError(answer["reason"], hint=answer["fix"], code=NOT_POSSIBLE)
    return shown(point, host["name"], answer["solution"]) | state(point, target) | depth(point, target)


def depth(point: Point, target: Json) -> Json:
    """What becomes of a depth that the target serves one by one."""
    if target["kind"] != "block" or point.depth <= 1 or path_key(point.path, memory=False) in BUFFERED:
        return {}
    return {"depth": "does nothing: memory as a block device copies each request while it is handed over"}


def state(point: Point, target: Json) -> Json:
    """Which of its two rates of writes a flash drive answers with; nothing of what is not written, or has but one."""
    share = stream(point, names.is_memory(target))["write_share"]
    if not share or names.family(target) not in COLLECTING:
        return {}
    if point.duration_s > 0:
        return {"drive": f"fresh at the beginning, then written for {point.duration_s:g} s"}
    return {"drive": "collected: in its steady state, with all free blocks used up"}


def with_file_system(point: Point) -> Point:
    """`twin:fs=ext4:p4610` names the file system on the twin, as targets of runs do."""
    head, colon, rest = point.on.removeprefix(names.PREFIX).partition(":")
    if colon and head.startswith("fs="):
        return replace(point, on=names.PREFIX + rest, file_system=head.removeprefix("fs="))
    return point


def check(point: Point, target: Json) -> None:
    """Refuses what would be answered as if it had not been said.

    Raises:
        AssayError: where a word is none, or the twin has no such thing.
    """
    for what, word, known in (("persist", point.persist, PERSISTS), ("durability", point.durability, DURABILITIES)):
        if word not in known:
            raise AssayError(f"there is no {what} `{word}`", hint=did_you_mean(word, known), code=BAD_JOB)
    if point.persist not in ("auto", "none") and not names.is_memory(target):
        problem = f"a drive takes no stores, so that `{point.persist}` means nothing to it"
        raise AssayError(problem, hint="leave --persist out, or ask a twin of memory", code=BAD_JOB)
    key = path_key(point.path, names.is_memory(target))
    if key in BLOCKING and point.depth > 1:
        problem = f"`{point.path or key}` blocks: a thread has one operation in flight, and not {point.depth}"
        hint = "ask for threads instead of depth, or for libaio or io_uring"
        raise AssayError(problem, hint=hint, code=BAD_JOB)
    most = names.capacity_bytes(target)
    if point.working_set_bytes > most:
        problem = f"{point.working_set_bytes} bytes do not fit on {names.PREFIX}{point.on.removeprefix(names.PREFIX)}"
        raise AssayError(problem, hint=f"it holds {most:.0f} bytes: work on fewer", code=NOT_POSSIBLE)


def host_of(point: Point, target: Json) -> Json:
    """The host, with cores and clock as the user wants them."""
    cores = None if point.cores is None else float(point.cores)
    return HostWish(point.host, cores, point.clock_hz).document(target)


def path_key(path: str, memory: bool) -> str:
    """The twins' name of a path.

    Raises:
        AssayError: where such a device is not reached that way.
    """
    known = MEMORY_PATHS if memory else BLOCK_PATHS
    word = path or ("pmem" if memory else DIRECT)
    if word not in known:
        kind = "memory" if memory else "a drive"
        raise AssayError(f"a twin of {kind} has no path `{word}`", hint=did_you_mean(word, known), code=BAD_JOB)
    return known[word]


def stream(point: Point, memory: bool) -> Json:
    """The one stream of a point."""
    share = {"read": 0.0, "write": 1.0}[point.operation]
    if point.read_percent is not None:
        share = 1 - point.read_percent / 100
    durability = point.durability
    if memory and share and durability == "none" and point.persist != "none" and point.path in ("", "pmem"):
        durability = "persist"
    path = {"key": path_key(point.path, memory), "persist": point.persist, "fenced": point.fenced}
    found: Json = {
        "name": "load",
        "write_share": share,
        "size_bytes": float(point.size_bytes),
        "sequential": point.sequential,
        "threads": point.threads,
        "depth": point.depth,
        "batch": min(point.batch, point.depth),
        "path": path,
        "durability": {"kind": durability if share else "none", "every": 1},
        "working_set_bytes": float(point.working_set_bytes),
        "duration_s": point.duration_s,
    }
    if share and point.layout != "written":
        found["grows"] = True
    if point.rate_per_s is not None:
        found["rate_per_s"] = point.rate_per_s
    return found | ({"file_system": point.file_system} if point.file_system else {})


def shown(point: Point, host: str, solution: Json) -> Json:
    """The answer as people read it."""
    found = solution["streams"][0]
    band = found["band"]
    return {
        "on": names.PREFIX + point.on.removeprefix(names.PREFIX),
        "host": host,
        "bandwidth_bytes_per_s": found["bandwidth_bytes_per_s"],
        "iops": found["ops_per_s"],
        "latency_ns": {
            "mean": found["mean_ns"],
            "p50": found["p50"]["mid_ns"],
            "p99": found["p99"]["mid_ns"],
            "p999": found["p999"]["mid_ns"],
        },
        "latency_band_ns": {name: [found[name]["low_ns"], found[name]["high_ns"]] for name in ("p50", "p99", "p999")},
        "cycles_per_byte": found["cycles_per_byte"],
        "cycles_per_op": found["cycles_per_op"],
        "bound_by": found["bound_by"],
        "band": {
            "bandwidth": band["bandwidth"],
            "bandwidth_bytes_per_s": _around(found["bandwidth_bytes_per_s"], band["bandwidth"]),
            "latency": band["latency"],
            "tail": band["tail"],
        },
        "time_ns": found["time"],
        "utilisation": {entry["station"]: entry["value"] for entry in solution["utilisation"]},
        "extrapolated": found["extrapolated"],
        "provenance": "modelled",
    }


def _around(value: float, width: float) -> list[float]:
    return [value / (1 + width), value * (1 + width)]


def host_ns(on: str) -> int:
    """What the usual host of a twin adds to a lone read of 4 KiB by libaio, ns.

    Raises:
        AssayError: as `predict`.
    """
    times = predict(Point(on=on, path="libaio+direct"))["time_ns"]
    return round(float(times["host_ns"]) + float(times["wait_ns"]))
