"""A cell as a job file of fio's, with notes of what fio cannot say."""

import math
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from assay.fio.jobfile import FioError

Entry = Mapping[str, Any]
"""A class, a target or a data set of a job."""

_BLOCK = Path("/sys/class/block")
_ENGINES = {
    "pread": "psync",
    "mmap": "mmap",
    "libaio": "libaio",
    "io_uring": "io_uring",
    "pmem": "libpmem",
    "null": "null",
    "nvme_polled": "spdk",
}
_DIRECTIONS = {
    ("read", True): "read",
    ("write", True): "write",
    ("mix", True): "rw",
    ("trim", True): "trim",
    ("trim", False): "randtrim",
    ("read", False): "randread",
    ("write", False): "randwrite",
    ("mix", False): "randrw",
}


@dataclass
class Exported:
    """A job file as text, and what it cannot say."""

    text: str = ""
    notes: list[str] = field(default_factory=list)


def export_cell(job: Entry, folders: Mapping[str, str] | None = None, block: Path = _BLOCK) -> Exported:
    """The job file for a cell's job. `folders` says for a data set where the files lie that Assay prepared.

    `block` is where the kernel shows block devices: the address of a drive that is polled is looked up there.
    """
    notes: list[str] = list(_job_notes(job))
    datasets = {dataset["name"]: dataset for dataset in job["datasets"]}
    targets = {target["id"]: target for target in job["targets"]}
    lines = ["[global]", *_lines(_global(job))]
    for entry in job["classes"]:
        dataset = datasets[entry["dataset"]]
        options = _class(entry, notes) | _data(entry, dataset, targets[dataset["target"]], folders or {}, block, notes)
        # A group of its own: fio would add up all classes otherwise.
        lines += ["", f"[{entry['name']}]", *_lines({"new_group": 1} | options | _size_limit(job, entry))]
    unique = list(dict.fromkeys(notes))
    heading = [f"; {note}" for note in (f"From the cell `{job['name']}`. What fio cannot say:", *unique)]
    return Exported("\n".join([*(heading if unique else heading[:0]), *lines]) + "\n", unique)


def _lines(options: Mapping[str, object]) -> Iterator[str]:
    return (f"{name}={value}" for name, value in options.items())


def _global(job: Entry) -> dict[str, object]:
    window = job["window"]
    cache = {"warm": {"pre_read": 1, "invalidate": 0}, "cold": {"invalidate": 1}, "bypassed": {"invalidate": 1}}
    return {
        "thread": 1,
        "group_reporting": 1,
        "runtime": _milliseconds(window["measure_s"]),
        **({} if window.get("bytes_at_most") else {"time_based": 1}),
        **({"ramp_time": _milliseconds(window["warmup_s"])} if window.get("warmup_s") else {}),
        **cache.get(str(job.get("cache", "as-found")), {"invalidate": 0}),
    }


def _milliseconds(seconds: float) -> str:
    return f"{int(seconds)}s" if float(seconds).is_integer() else f"{max(1, round(seconds * 1000))}ms"


def _size_limit(job: Entry, entry: Entry) -> dict[str, object]:
    limit = job["window"].get("bytes_at_most") or 0
    return {"io_size": math.ceil(limit / entry.get("threads", 1))} if limit else {}


def _job_notes(job: Entry) -> Iterator[str]:
    checks = job.get("checks") or {}
    if checks.get("data") or checks.get("acknowledgements"):
        yield "the data check: fio's verify stamps blocks in its own way"
    if job["window"].get("steady_after_s"):
        yield "stopping early on steady state: fio runs to the end"


def _class(entry: Entry, notes: list[str]) -> dict[str, object]:
    kind = entry["path"]["kind"]
    if kind not in _ENGINES:
        raise FioError(f"class `{entry['name']}`: the path {kind} has no engine of fio's here", "choose another cell")
    sequential = entry["pattern"]["kind"] == "sequential"
    operation = entry["operation"]
    return {
        "rw": _DIRECTIONS[operation["kind"], sequential],
        **({"rwmixwrite": operation["write_percent"]} if operation["kind"] == "mix" else {}),
        **_distribution(entry["pattern"]),
        **_sizes(entry, notes),
        "ioengine": _ENGINES[kind],
        **_path_options(entry, notes),
        "numjobs": entry.get("threads", 1),
        **_depth(entry),
        **_rate(entry, notes),
        **_durability(entry, notes),
        **({"startdelay": _milliseconds(entry["start_s"])} if entry.get("start_s") else {}),
        **_memory_notes(entry, notes),
    }


def _distribution(pattern: Entry) -> dict[str, object]:
    if pattern["kind"] == "sequential":
        return {}
    found: dict[str, object] = {"norandommap": 1}
    if pattern["kind"] == "zipf":
        found["random_distribution"] = f"zipf:{pattern['theta']}"
    elif pattern["kind"] == "hot-spot":
        hot, pages = pattern["operations_percent"], pattern["pages_percent"]
        found["random_distribution"] = f"zoned:{hot}/{pages}:{100 - hot}/{100 - pages}" if pages < 100 else "random"
    return found


def _sizes(entry: Entry, notes: list[str]) -> dict[str, object]:
    size = entry["size"]
    if isinstance(size, int):
        return {"bs": size}
    total = sum(share["weight"] for share in size)
    percents = [share["weight"] * 100 / total for share in size]
    if any(percent != round(percent) for percent in percents):
        notes.append(f"{entry['name']}: the weights of its sizes, which fio knows in whole percents only")
    rounded = [round(percent) for percent in percents]
    rounded[-1] = 100 - sum(rounded[:-1])
    return {"bssplit": ":".join(f"{share['bytes']}/{part}" for share, part in zip(size, rounded, strict=True))}


def _path_options(entry: Entry, notes: list[str]) -> dict[str, object]:
    path, name = entry["path"], entry["name"]
    found: dict[str, object] = {}
    if path["kind"] == "pmem":
        found["direct"] = int(path.get("persist", "auto") in ("auto", "nt"))
        notes.append(f"{name}: cache control of stores; fio's libpmem chooses between clwb and clflushopt itself")
        if path.get("fenced"):
            notes.append(f"{name}: reads that end before the next begins")
        return found
    if path["kind"] in ("pread", "libaio", "io_uring"):
        found["direct"] = int(path.get("direct", False))
    if path.get("fixed"):
        found |= {"fixedbufs": 1, "registerfiles": 1}
    if path["kind"] == "nvme_polled":
        return _polled_options(path, name, notes)
    poll = {"iopoll": {"hipri": 1}, "sqpoll": {"sqthread_poll": 1}}
    return found | poll.get(str(path.get("poll")), {}) | _advice(entry, notes)


def _polled_options(path: Entry, name: str, notes: list[str]) -> dict[str, object]:
    notes.append(f"{name}: taking the drive from the kernel; SPDK's plug-in wants it bound beforehand (its setup.sh)")
    if path.get("poll_sleep_us"):
        notes.append(f"{name}: {path['poll_sleep_us']} us of sleep between polls; the plug-in polls all the time")
    if path.get("reach", "auto") != "auto":
        notes.append(f"{name}: the way to the drive ({path['reach']}), which setup.sh chooses")
    return {"direct": 1}


def _advice(entry: Entry, notes: list[str]) -> dict[str, object]:
    path = entry["path"]
    if path["kind"] == "null" or path.get("direct"):
        return {}
    advice = path.get("advice", "normal")
    if advice in ("will_need", "huge_page"):
        notes.append(f"{entry['name']}: the hint {advice} to the kernel")
    if path["kind"] == "mmap":
        sequential = entry["pattern"]["kind"] == "sequential"
        return {"fadvise_hint": int(advice == ("sequential" if sequential else "random"))}
    return {"fadvise_hint": advice if advice in ("random", "sequential") else 0}


def _depth(entry: Entry) -> dict[str, object]:
    depth, batch = entry.get("depth", 1), entry.get("batch", 1)
    found = {"iodepth": depth} if depth > 1 else {}
    return found | ({"iodepth_batch": batch} if batch > 1 else {})


def _rate(entry: Entry, notes: list[str]) -> dict[str, object]:
    arrivals = entry.get("arrivals") or {"kind": "closed"}
    if think := entry.get("think"):
        pause_us = max(1, round(think["pause_s"] * 1e6))
        return {"thinktime": pause_us} | ({"thinktime_blocks": think["every"]} if think["every"] > 1 else {})
    if arrivals["kind"] == "closed":
        return {}
    name = entry["name"]
    notes.append(f"{name}: response time from the intended start; fio counts from when it gets around to issuing")
    if arrivals["kind"] == "burst":
        notes.append(f"{name}: bursts of {arrivals['burst']}; fio spaces evenly")
    threads = entry.get("threads", 1) if arrivals["scope"] == "total" else 1
    exact = arrivals["rate_per_s"] / threads
    each = max(1, round(exact))
    if each != exact:
        notes.append(f"{name}: a rate of {exact:g} operations per second and thread; fio takes whole numbers")
    process = {"rate_process": "poisson"} if arrivals["kind"] == "poisson" else {}
    return {"rate_iops": _both_directions(entry["operation"], each), **process}


def _both_directions(operation: Entry, rate: int) -> str:
    """fio limits reads and writes apart."""
    if operation["kind"] != "mix":
        return str(rate)
    writes = max(1, round(rate * operation["write_percent"] / 100))
    return f"{max(1, rate - writes)},{writes}"


def _durability(entry: Entry, notes: list[str]) -> dict[str, object]:
    durability = entry.get("durability") or {"kind": "none"}
    kind, every, name = durability["kind"], durability.get("every", 1), entry["name"]
    if kind == "none" or entry["operation"]["kind"] == "read":
        return {}
    if kind == "msync":
        notes.append(f"{name}: msync of just the pages written; fio syncs the whole mapping")
        return {"fsync": every}
    if kind in ("fsync", "fdatasync"):
        return {kind: every}
    if kind == "persist":
        if every > 1:
            notes.append(f"{name}: making writes durable once in {every}; fio's libpmem does it on each")
        return {"sync": 1}
    if kind == "rwf_dsync":
        notes.append(f"{name}: RWF_DSYNC on each write; fio opens the file with O_DSYNC instead")
    return {"sync": "dsync"}


def _memory_notes(entry: Entry, notes: list[str]) -> dict[str, object]:
    name = entry["name"]
    if entry.get("buffer_bytes"):
        notes.append(
            f"{name}: reads that land in {entry['buffer_bytes']} bytes of memory; fio uses a buffer per operation"
        )
    if entry.get("dirty_bytes"):
        notes.append(f"{name}: changing {entry['dirty_bytes']} bytes of a page before it is written")
    if entry.get("objective"):
        notes.append(f"{name}: the objective; fio does not judge")
    return {}


def _data(
    entry: Entry,
    dataset: Entry,
    target: Entry,
    folders: Mapping[str, str],
    block: Path,
    notes: list[str],
) -> dict[str, object]:
    name, count, threads = dataset["name"], dataset.get("files", 1), entry.get("threads", 1)
    found: dict[str, object] = {"size": dataset["bytes"]}
    if dataset.get("content") == "zero":
        found["zero_buffers"] = 1
    if target["kind"] == "null":
        return found
    if len(target.get("members", [])) != 1:
        raise FioError(f"data set `{name}` spreads over several members", "fio cannot; choose a cell with one target")
    if count not in (1, threads):
        raise FioError(f"data set `{name}` has {count} files for {threads} threads", "fio has one file per job, or one")
    member = target["members"][0]
    if entry["path"]["kind"] == "nvme_polled":
        notes.append(f"{entry['name']}: data that Assay prepares through the kernel before it takes the drive")
        return found | {"filename": _escaped(_transport(member, block))}
    if target["kind"] in ("block-device", "device-dax", "file"):
        found["filename"] = _escaped(member)
    else:
        found["directory"] = _escaped(folders.get(name, member))
        # A name lets jobs share one file; a format gives each its own. Both are the names that Assay gives.
        shared = count == 1 and threads > 1
        found |= {"filename": f"{name}.0.0.data"} if shared else {"filename_format": f"{name}.$jobnum.0.data"}
    return found | _layout(entry, dataset, notes)


def _transport(member: str, block: Path) -> str:
    """A drive as SPDK's plug-in names it: its PCI address with dots, because fio separates files by colons."""
    device = block / Path(member).resolve().name
    try:
        address, namespace = (device / "device" / "address").read_text().strip(), (device / "nsid").read_text().strip()
    except OSError as error:
        hint = "export the cell on the machine with the drive, while the kernel has it"
        raise FioError(f"the PCI address of {member} is not known: {error.strerror}", hint) from error
    return f"trtype=PCIe traddr={address.replace(':', '.')} ns={namespace}"


def _escaped(path: str) -> str:
    """fio separates files by colons."""
    return path.replace(":", "\\:")


def _layout(entry: Entry, dataset: Entry, notes: list[str]) -> dict[str, object]:
    layout = dataset.get("layout", "written")
    if layout == "grow":
        notes.append(f"{entry['name']}: a file that grows as it is written; fio allocates it beforehand")
    if layout == "as-found":
        return {"allow_file_create": 0}
    return {"overwrite": 1} if layout == "written" and entry["operation"]["kind"] == "write" else {}
