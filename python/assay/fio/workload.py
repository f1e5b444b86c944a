"""One job of fio's as a class and a data set of a study."""

import re
from dataclasses import dataclass, field
from pathlib import PurePosixPath
from typing import Any

from assay.fio import pace
from assay.fio.jobfile import FioError, JobSection, Option, integer, number, size
from assay.fio.options import ENGINES, QUEUED
from assay.units.parse import exact_size

Table = dict[str, Any]

_DIRECTIONS = {
    "read": ("read", "sequential"),
    "write": ("write", "sequential"),
    "rw": ("mix", "sequential"),
    "readwrite": ("mix", "sequential"),
    "randread": ("read", "uniform"),
    "randwrite": ("write", "uniform"),
    "randrw": ("mix", "uniform"),
    "trim": ("trim", "sequential"),
    "randtrim": ("trim", "uniform"),
}
LONGEST = "1h"


@dataclass
class FioWorkload:
    """A job, taken apart: tables of the study file, where its files lie, and what must be said about it."""

    name: str
    table: Table
    dataset: Table
    file: str
    place: str
    window: Table
    cache: str
    depths: list[int] = field(default_factory=list)
    """In flight, each in turn, to find the deepest that keeps the objective; empty where the depth is given."""
    notes: list[str] = field(default_factory=list)


def workload(section: JobSection) -> FioWorkload:
    """The class that does what a job does."""
    operation, pattern = _direction(section)
    engine = _engine(section)
    notes: list[str] = []
    if operation == "trim":
        engine = _trimming(section, engine, notes)
    table: Table = {
        "path": _path(section, engine) if operation != "trim" else "pread+direct",
        **_operation(section, operation),
        "pattern": _pattern(section, pattern),
        "size": _size(section, operation),
        "threads": _positive(section, "numjobs"),
        **(_depth(section, engine, notes) if operation != "trim" else {}),
        **pace.rate(section, operation, notes),
        **pace.think(section, engine in QUEUED, notes),
        **_durability(section, engine, operation, notes),
        **(_advice(section, engine, pattern) if operation != "trim" else {}),
    }
    table |= pace.objective(section, notes)
    delay = section.seconds("startdelay")
    if delay:
        table["start"] = delay
    dataset = _dataset(section, engine, operation, notes)
    return FioWorkload(
        name=_word(section.name),
        table=table,
        dataset=dataset,
        file=section.text("filename"),
        place=place_of(section),
        window=_window(section, notes),
        cache=_cache(section, engine) if operation != "trim" else "bypassed",
        depths=pace.depths(section, engine in QUEUED, notes),
        notes=notes,
    )


def _word(name: str) -> str:
    """A name that a study allows."""
    word = re.sub(r"[^A-Za-z0-9_-]+", "-", name).strip("-_")
    return word or "job"


def _direction(section: JobSection) -> tuple[str, str]:
    text = section.text("rw", "read")
    if text not in _DIRECTIONS:
        known = f"known are {', '.join(_DIRECTIONS)}; offset modifiers have no counterpart"
        both = "make a job of each: one that writes and one that trims"
        hint = both if text in ("trimwrite", "randtrimwrite") else known
        raise FioError(f"[{section.name}] rw={text}: Assay has no such direction", hint)
    return _DIRECTIONS[text]


def _engine(section: JobSection) -> str:
    engine = section.text("ioengine", "psync")
    if engine not in ENGINES:
        raise FioError(f"[{section.name}] ioengine={engine}: Assay has no such path", f"known are {', '.join(ENGINES)}")
    return engine


def _trimming(section: JobSection, engine: str, notes: list[str]) -> str:
    """Trims go to a device, one call after the other whatever fio's engine is."""
    if not section.text("filename").startswith("/dev/"):
        said = "a file system passes trims of a file on when it likes, or never"
        raise FioError(f"[{section.name}] rw={section.text('rw')}: {said}", "name a block device (filename=/dev/...)")
    if engine in QUEUED and section.integer("iodepth", 1) > 1:
        notes.append("trims are calls that block: iodepth has no effect, numjobs says how many are under way")
    return "psync"


def _direct(section: JobSection) -> bool:
    return section.flag("direct") or ("buffered" in section.options and not section.flag("buffered"))


def _path(section: JobSection, engine: str) -> str:
    path = ENGINES[engine]
    direct = _direct(section)
    if path == "mmap" and direct:
        said = "fio then drops the page after each operation, which no database does"
        raise FioError(f"[{section.name}] ioengine=mmap with direct=1: {said}", "remove direct=1")
    if path == "pmem":
        return "pmem+nt" if direct else "pmem+clwb"
    if path == "null":
        return path
    return "+".join([path, *(["direct"] if direct else []), *_ring_options(section, engine)])


def _ring_options(section: JobSection, engine: str) -> list[str]:
    wanted = {name for name in ("fixedbufs", "registerfiles", "hipri", "sqthread_poll") if section.flag(name)}
    if wanted and engine != "io_uring":
        said = f"{', '.join(sorted(wanted))} with ioengine={engine}"
        raise FioError(f"[{section.name}] {said}: Assay has this for io_uring only", "use io_uring, or remove it")
    if len(wanted & {"fixedbufs", "registerfiles"}) == 1:
        said = "Assay registers files and buffers together (fixed)"
        raise FioError(f"[{section.name}] {', '.join(sorted(wanted))}: {said}", "set both fixedbufs and registerfiles")
    if {"hipri", "sqthread_poll"} <= wanted:
        raise FioError(f"[{section.name}] hipri with sqthread_poll: Assay has one or the other", "remove one")
    names = {"fixedbufs": "fixed", "hipri": "iopoll", "sqthread_poll": "sqpoll"}
    return [word for name, word in names.items() if name in wanted]


def _operation(section: JobSection, operation: str) -> Table:
    if operation != "mix":
        return {"operation": operation}
    if "rwmixwrite" in section.options:
        percent = section.integer("rwmixwrite", 50)
    else:
        percent = 100 - section.integer("rwmixread", 50)
    if not 0 <= percent <= 100:
        raise FioError(f"[{section.name}] the share of writes is {percent} %", "give a share between 0 and 100")
    return {"operation": "mix", "write_percent": percent}


def _pattern(section: JobSection, pattern: str) -> str | Table:
    option = section.options.get("random_distribution")
    if option is None or pattern == "sequential" or option.value == "random":
        return pattern
    kind, _, rest = option.value.partition(":")
    if kind == "zipf" and rest and "/" not in rest:
        return {"kind": "zipf", "theta": number(option, rest)}
    if kind == "zoned":
        return _hot_spot(section, option, rest)
    hint = "use random, zipf:theta, or zoned with two zones"
    raise FioError(f"[{section.name}] {option.place}: Assay has no such distribution", hint)


def _hot_spot(section: JobSection, option: Option, text: str) -> Table:
    """Two zones that share all operations and all pages: a hot spot."""
    zones = [[number(option, part) for part in zone.split("/")] for zone in text.split(":")]
    complete = len(zones) == 2 and all(len(zone) == 2 for zone in zones)
    if not complete or any(sum(zone[part] for zone in zones) != 100 for part in (0, 1)):
        said = "Assay knows a hot spot: two zones that add up to 100/100"
        raise FioError(f"[{section.name}] {option.place}: {said}", "write zoned:90/10:10/90, for example")
    operations, pages = max(zones, key=lambda zone: zone[0] / max(zone[1], 1e-9))
    if operations != round(operations) or pages != round(pages) or pages < 1:
        raise FioError(f"[{section.name}] {option.place}: shares must be whole percents of at least 1", "round them")
    return {"kind": "hot-spot", "operations_percent": round(operations), "pages_percent": round(pages)}


def _size(section: JobSection, operation: str) -> str | list[Table]:
    split = section.options.get("bssplit")
    if split is not None:
        return _size_mix(section, split)
    option = section.options.get("bs", Option("bs", "4k", 0))
    each = [size(option, section.thousand(), text) for text in option.value.split(",") if text]
    last = {"read": 1, "write": 2, "trim": 3}.get(operation, 0)
    used = each[:last][-1:] if last else each[:2]
    if len(set(used)) != 1 or used[0] < 1:
        said = "reads and writes of one class have one size"
        raise FioError(f"[{section.name}] {option.place}: {said}", "make two jobs of it")
    return exact_size(used[0])


def _size_mix(section: JobSection, option: Option) -> list[Table]:
    if "," in option.value:
        raise FioError(f"[{section.name}] {option.place}: one mix of sizes for all directions", "make two jobs of it")
    parts = [part.partition("/") for part in option.value.split(":")]
    given = [integer(Option(option.name, share, option.line)) if share else None for _, _, share in parts]
    missing = [index for index, share in enumerate(given) if share is None]
    left = 100 - sum(share or 0 for share in given)
    if left < 0 or (left > 0 and not missing) or (missing and left % len(missing)):
        said = "the shares do not add up to 100 in whole percents"
        raise FioError(f"[{section.name}] {option.place}: {said}", "write every share, such as 4k/60:8k/40")
    shares = [left // len(missing) if share is None else share for share in given]
    sizes = [size(option, section.thousand(), text) for text, _, _ in parts]
    mix = [{"bytes": exact_size(one), "weight": share} for one, share in zip(sizes, shares, strict=True) if share]
    if not mix or min(sizes) < 1:
        raise FioError(f"[{section.name}] {option.place}: a size is zero", "write sizes such as 4k")
    return mix


def _positive(section: JobSection, name: str, default: int = 1) -> int:
    value = section.integer(name, default)
    if value < 1:
        raise FioError(f"[{section.name}] {name}={value}: it must be at least 1", "give a number from 1 up")
    return value


def _depth(section: JobSection, engine: str, notes: list[str]) -> Table:
    depth = _positive(section, "iodepth")
    if engine not in QUEUED:
        if depth > 1:
            notes.append(f"iodepth={depth}: with {engine} fio too has one operation in flight per job")
        return {}
    batch = min(_positive(section, "iodepth_batch"), depth)
    return {"depth": depth, **({"batch": batch} if batch > 1 else {})}


_SYNC = {"0": "", "none": "", "1": "o_dsync", "sync": "o_dsync", "dsync": "o_dsync"}


def _durability(section: JobSection, engine: str, operation: str, notes: list[str]) -> Table:
    if operation in ("read", "trim"):
        return {}
    given = [(name, section.integer(name, 0)) for name in ("fsync", "fdatasync") if section.integer(name, 0) > 0]
    opened = _SYNC.get(section.text("sync", "0"))
    if opened is None:
        raise FioError(f"[{section.name}] sync={section.text('sync')}: Assay has no such mode", "use 0, sync or dsync")
    if ENGINES[engine] == "pmem":
        return {"durability": "persist"} if opened or engine == "dev-dax" else {}
    if len(given) + bool(opened) > 1:
        raise FioError(f"[{section.name}] several of fsync, fdatasync, sync: a class has one means", "keep one of them")
    if opened:
        if section.text("sync") != "dsync":
            notes.append("sync=1: fio opens with O_SYNC, which also writes time stamps; Assay with O_DSYNC")
        return {"durability": opened}
    if not given:
        return {}
    kind, every = given[0]
    if engine == "mmap":
        notes.append(f"{kind} on a mapping: fio syncs the whole mapping; Assay just the pages that were written")
        kind = "msync"
    return {"durability": {"kind": kind, "every": every} if every > 1 else kind}


def _advice(section: JobSection, engine: str, pattern: str) -> Table:
    """fio gives the kernel a hint by default."""
    if _direct(section) or ENGINES[engine] in ("pmem", "null"):
        return {}
    hint = section.text("fadvise_hint", "1")
    known = {"0": "normal", "none": "normal", "random": "random", "sequential": "sequential"}
    if hint != "1" and hint not in known:
        raise FioError(f"[{section.name}] fadvise_hint={hint}: Assay has no such hint", "use 0, random or sequential")
    advice = known.get(hint, "sequential" if pattern == "sequential" else "random")
    return {} if advice == "normal" else {"advice": advice}


def _dataset(section: JobSection, engine: str, operation: str, notes: list[str]) -> Table:
    name = "filesize" if "filesize" in section.options else "size"
    option = section.options.get(name)
    if option is None and engine != "null":
        raise FioError(f"[{section.name}] there is no size", "give the size of the file, such as size=1g")
    found: Table = {"bytes": exact_size(section.size(name, 1 << 30))}
    threads = _positive(section, "numjobs")
    if threads > 1 and "filename" not in section.options:
        found["files"] = threads
    layout = _layout(section, engine, operation, notes)
    if layout:
        found["layout"] = layout
    if section.flag("zero_buffers"):
        found["content"] = "zero"
    return found


def _layout(section: JobSection, engine: str, operation: str, notes: list[str]) -> str:
    """fio writes files that are read beforehand, and only allocates those that are written."""
    if operation != "write" or section.flag("overwrite") or ENGINES[engine] in ("pmem", "null"):
        return ""
    if section.text("filename").startswith("/dev/"):
        return ""
    if section.text("fallocate", "native") in ("none", "0"):
        said = "the file would be sparse, and Assay has no layout for that"
        raise FioError(f"[{section.name}] fallocate=none: {said}", "add overwrite=1, or remove it")
    notes.append("without overwrite=1 fio only allocates a file that is written: layout is preallocated")
    return "preallocated"


def place_of(section: JobSection) -> str:
    """Where the files lie, for the hint how to run the study; empty where fio uses the current folder."""
    name, folder = section.text("filename"), section.text("directory")
    for value in (name, folder):
        if ":" in value.replace("\\:", ""):
            raise FioError(f"[{section.name}] `{value}` names several files", "use one, and give the others with --on")
    if name.startswith("/dev/"):
        return name
    return folder or (str(PurePosixPath(name).parent) if "/" in name else "")


def _window(section: JobSection, notes: list[str]) -> Table:
    found: Table = {"warmup": section.seconds("ramp_time")}
    runtime = section.seconds("runtime")
    if runtime:
        found["measure"] = runtime
    if section.flag("time_based"):
        if not runtime:
            raise FioError(f"[{section.name}] time_based without runtime", "add runtime=30s, for example")
        return found
    per_job = section.size("io_size") or section.size("size") * _positive(section, "loops")
    total = per_job * _positive(section, "numjobs")
    if not runtime:
        notes.append(f"no runtime: the window closes at {exact_size(total)}, or after {LONGEST}")
    if total:
        found["bytes"] = exact_size(total)
    return {"measure": LONGEST, **found}


def _cache(section: JobSection, engine: str) -> str:
    if _direct(section) or ENGINES[engine] in ("pmem", "null"):
        return "bypassed" if ENGINES[engine] not in ("pmem", "null") else "as-found"
    if section.flag("pre_read"):
        return "warm"
    return "cold" if section.flag("invalidate", True) else "as-found"
