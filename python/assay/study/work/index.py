"""From what is wanted of an index to the measuring program's job."""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from assay.error import BAD_JOB, AssayError, did_you_mean
from assay.rivals import NAMES
from assay.study.work.engine import turns
from assay.target.target import Target
from assay.units.parse import parse_bytes, parse_seconds
from assay.untyped import Json

VERSION = 1
INDEXES = ("fptree", "bztree", "dash-eh", "dash-lh", "ssd-btree", "ssd-hash")
IN_MEMORY = INDEXES[:4]
WORKLOADS = (
    *("lookup", "missing", "insert", "update", "remove", "scan", "mixed"),
    *("ycsb-a", "ycsb-b", "ycsb-c", "ycsb-d", "ycsb-e", "ycsb-f"),
)
#: Workloads that change nothing once the keys are there.
READING = ("lookup", "missing", "scan", "ycsb-c")
PATHS = ("io_uring", "libaio", "pread")
MEMORY_FOLDER = Path("/dev/shm")  # noqa: S108  Stands in for persistent memory; what is made there is removed again.
# Caches that a core brings where nobody says: 1 MiB of its own and 1.375 MiB of the last level, as the processors have
# that drove such modules.
CACHE_BYTES_PER_CORE = 2.375 * (1 << 20)
# Of virtual time: thousands of operations of each thread. What is warm is so before it begins.
TWIN_WINDOW, TWIN_WARMUP, WINDOW, WARMUP = "20ms", "1ms", "5s", "0.5s"


@dataclass(frozen=True)
class Wish:
    """One run as a study or the command line has it; empty text means what is usual."""

    index: str = ""
    workload: str = ""
    keys: str = "1e6"
    threads: int = 1
    duration: str = ""
    operations: str = ""
    warmup: str = ""
    distribution: str = ""
    key_bytes: str = "8"
    value_bytes: str = "8"
    scan_length: int = 100
    pool: str = ""
    pool_file: Path | None = None
    batch: int = 1
    split: bool = False
    path: str = ""
    pin: bool = False
    huge_pages: bool = True
    as_if: str = ""
    count: str = "100000"
    options: list[str] = field(default_factory=list)
    turn: str = ""
    cache: str = ""


def job(wish: Wish, on: Target, seed: int) -> Json:
    """The job of `assayer index` on a folder, a device-DAX node or a twin, without the waits of `as_if`.

    Raises:
        AssayError: where a word or a number is none.
    """
    for what, word, known in (("index", wish.index, INDEXES + NAMES), ("workload", wish.workload, WORKLOADS)):
        if word not in known:
            raise AssayError(f"there is no {what} `{word}`", hint=did_you_mean(word, known), code=BAD_JOB)
    if on.members[1:]:
        raise AssayError("an index lies on one target", hint=f"name one of {on.label}", code=BAD_JOB)
    document: Json = {
        "version": VERSION,
        "name": f"{wish.index}-{wish.workload}",
        "index": wish.index,
        "target": on.members[0] if on.members else str(usual_place(wish.index)),
        "workload": wish.workload,
        "keys": number(wish.keys, "--keys"),
        "threads": wish.threads,
        "sizes": {"key": _span(wish.key_bytes), "value": _span(wish.value_bytes)},
        "scan_length": wish.scan_length,
        "warmup_s": parse_seconds(wish.warmup or (TWIN_WARMUP if on.twin else WARMUP)),
        "window": _window(wish, TWIN_WINDOW if on.twin else WINDOW),
        "batch": wish.batch,
        "split": wish.split,
        "pin": wish.pin,
        "huge_pages": wish.huge_pages,
        "counted_operations": number(wish.count, "--count"),
        "seed": seed,
        "options": dict(_option(text) for text in wish.options) | _path(wish),
    }
    if wish.distribution:
        document["distribution"] = _law(wish.distribution)
    if wish.pool:
        document["pool_bytes"] = parse_bytes(wish.pool)
    if wish.pool_file is not None:
        document["pool_file"] = str(wish.pool_file.absolute())
    return document | (_twin(wish, on.twin) if on.twin is not None else _here(wish))


def _here(wish: Wish) -> Json:
    if wish.turn or wish.cache:
        hint = "leave them away, or name a twin: --on 'twin:pmem100-128g*4'"
        raise AssayError("--host, --cores, --clock, --turn and --cache are for twins", hint=hint, code=BAD_JOB)
    return {}


def _twin(wish: Wish, driven: Mapping[str, Any]) -> Json:
    """The twin that a run is played on, with its host."""
    data = dict(driven)
    cache = parse_bytes(wish.cache) if wish.cache else int(data["host"]["cores"]["value"] * CACHE_BYTES_PER_CORE)
    return {"twin": {"data": data, "cache_bytes": cache} | turns(wish.turn)}


def _path(wish: Wish) -> Json:
    if not wish.path:
        return {}
    if wish.path not in PATHS:
        raise AssayError(f"there is no path `{wish.path}`", hint=did_you_mean(wish.path, PATHS), code=BAD_JOB)
    if wish.index in IN_MEMORY:
        hint = "leave --path out; it is for ssd-btree and ssd-hash"
        raise AssayError(f"{wish.index} lies in memory: no path leads to it", hint=hint, code=BAD_JOB)
    return {"io": wish.path}


def usual_place(index: str) -> Path:
    """Where an index lies where nobody says."""
    return MEMORY_FOLDER if index in IN_MEMORY and MEMORY_FOLDER.is_dir() else Path.cwd()


def number(text: str, flag: str) -> int:
    """A count, such as 1000000, 1e6 or 50M."""
    found = re.fullmatch(r"(\d+(?:\.\d+)?(?:e\d+)?)([kMG]?)", text.replace("_", ""))
    value = float(found[1]) * {"": 1, "k": 1e3, "M": 1e6, "G": 1e9}[found[2]] if found else -1.0
    if value != int(value) or value < 0:
        raise AssayError(f"{flag} {text} is no count", hint="write a count such as 1000000, 1e6 or 50M", code=BAD_JOB)
    return int(value)


def _window(wish: Wish, usual: str) -> Json:
    if wish.duration and wish.operations:
        raise AssayError("a window ends after a time or after operations, not both", hint="leave one out", code=BAD_JOB)
    if wish.operations:
        return {"operations": number(wish.operations, "--operations")}
    return {"seconds": parse_seconds(wish.duration or usual)}


def _span(text: str) -> Json:
    found = re.fullmatch(r"(\d+)(?:-(\d+))?", text)
    if found is None:
        hint = "write a number of bytes such as 8, or the shortest and the longest such as 8-64"
        raise AssayError(f"`{text}` is no length", hint=hint, code=BAD_JOB)
    return {"least": int(found[1]), "most": int(found[2] or found[1])}


_LAWS = {"uniform": ("", 0.0), "zipf": ("theta", 0.99), "self-similar": ("skew", 0.2), "latest": ("theta", 0.99)}


def _law(text: str) -> Json:
    name, _, value = text.partition(":")
    if name not in _LAWS:
        raise AssayError(f"there is no distribution `{name}`", hint=did_you_mean(name, _LAWS), code=BAD_JOB)
    parameter, usual = _LAWS[name]
    if not parameter:
        return {"law": name}
    try:
        return {"law": name, parameter: float(value) if value else usual}
    except ValueError:
        hint = f"write {name} or {name}:{usual}"
        raise AssayError(f"`{value}` is no {parameter}", hint=hint, code=BAD_JOB) from None


def _option(text: str) -> tuple[str, Any]:
    name, equals, value = text.partition("=")
    if not name or not equals:
        raise AssayError(f"`{text}` is no option", hint="write --set NAME=VALUE", code=BAD_JOB)
    if re.fullmatch(r"\d+", value):
        return name, int(value)
    return name, {"true": True, "false": False}.get(value, value)
