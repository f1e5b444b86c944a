"""From what is wanted of an index to the measuring program's job."""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from assay import home
from assay.error import BAD_JOB, AssayError, did_you_mean
from assay.target import names
from assay.target.host import HostWish
from assay.target.target import parse
from assay.units.parse import parse_bytes, parse_seconds

Json = dict[str, Any]
VERSION = 1
INDEXES = ("fptree", "bztree", "dash-eh", "dash-lh", "ssd-btree", "ssd-hash")
RIVALS = ("lmdb", "rocksdb", "wiredtiger", "redb")
IN_MEMORY = INDEXES[:4]
WORKLOADS = (
    *("lookup", "missing", "insert", "update", "remove", "scan", "mixed"),
    *("ycsb-a", "ycsb-b", "ycsb-c", "ycsb-d", "ycsb-e", "ycsb-f"),
)
PATHS = ("io_uring", "libaio", "pread")
MEMORY_FOLDER = Path("/dev/shm")  # noqa: S108  Stands in for persistent memory; what is made there is removed again.
LEARN = "learn"
# Caches that a core brings where nobody says: 1 MiB of its own and 1.375 MiB of the last level, as the processors have
# that drove such modules.
CACHE_BYTES_PER_CORE = 2.375 * (1 << 20)
# Of virtual time: thousands of operations of each thread. What is warm is so before it begins.
TWIN_WINDOW, TWIN_WARMUP, WINDOW, WARMUP = "20ms", "1ms", "5s", "0.5s"


@dataclass(frozen=True)
class TwinWish:
    """Who runs an index on a twin, and what computing costs there; empty where that is left to Assay."""

    host: str = ""
    cores: int | None = None
    clock: float | None = None
    """GHz."""
    turn: str = ""
    cache: str = ""


@dataclass(frozen=True)
class Wish:
    """One run as the command line has it; empty text means what is usual."""

    index: str
    workload: str
    on: str = ""
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
    seed: int = 1
    options: list[str] = field(default_factory=list)
    twin: TwinWish = field(default_factory=TwinWish)

    @property
    def on_twin(self) -> bool:
        """Whether it is played."""
        return self.on.startswith(names.PREFIX)


def job(wish: Wish, driven: Mapping[str, Any] | None = None) -> Json:
    """The job of `assayer index`, without the waits of `as_if`, which a model of memory says.

    `driven` is the twin with its host, in the place of what the wish names.

    Raises:
        AssayError: where a word or a number is none.
    """
    for what, word, known in (("index", wish.index, INDEXES + RIVALS), ("workload", wish.workload, WORKLOADS)):
        if word not in known:
            raise AssayError(f"there is no {what} `{word}`", hint=did_you_mean(word, known), code=BAD_JOB)
    document: Json = {
        "version": VERSION,
        "name": f"{wish.index}-{wish.workload}",
        "index": wish.index,
        "target": str(Path(wish.on).absolute() if wish.on and not wish.on_twin else usual_place(wish.index)),
        "workload": wish.workload,
        "keys": number(wish.keys, "--keys"),
        "threads": wish.threads,
        "sizes": {"key": _span(wish.key_bytes), "value": _span(wish.value_bytes)},
        "scan_length": wish.scan_length,
        "warmup_s": parse_seconds(wish.warmup or (TWIN_WARMUP if wish.on_twin else WARMUP)),
        "window": _window(wish),
        "batch": wish.batch,
        "split": wish.split,
        "pin": wish.pin,
        "huge_pages": wish.huge_pages,
        "counted_operations": number(wish.count, "--count"),
        "seed": wish.seed,
        "options": dict(_option(text) for text in wish.options) | _path(wish),
    }
    if wish.distribution:
        document["distribution"] = _law(wish.distribution)
    if wish.pool:
        document["pool_bytes"] = parse_bytes(wish.pool)
    if wish.pool_file is not None:
        document["pool_file"] = str(wish.pool_file.absolute())
    return document | _twin(wish, driven)


def _twin(wish: Wish, driven: Mapping[str, Any] | None) -> Json:
    """The twin that a run is played on, with its host."""
    given = wish.twin
    if not wish.on_twin:
        if given != TwinWish():
            hint = "leave them away, or name a twin: --on 'twin:pmem100-128g*4'"
            raise AssayError("--host, --cores, --clock, --turn and --cache are for twins", hint=hint, code=BAD_JOB)
        return {}
    host = HostWish(given.host, given.cores, given.clock * 1e9 if given.clock else None)
    data = dict(driven or parse(wish.on, host).twin or {})
    cache = parse_bytes(given.cache) if given.cache else int(data["host"]["cores"]["value"] * CACHE_BYTES_PER_CORE)
    twin: Json = {"data": data, "cache_bytes": cache}
    if given.turn and given.turn != LEARN:
        return {"twin": twin | {"turn_ns": round(parse_seconds(given.turn) * 1e9, 3)}}
    state = home.state()
    kept = {"costs": str(state / "costs")} if state is not None else {}
    return {"twin": twin | kept | ({"learn": True} if given.turn == LEARN else {})}


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


def _window(wish: Wish) -> Json:
    if wish.duration and wish.operations:
        raise AssayError("a window ends after a time or after operations, not both", hint="leave one out", code=BAD_JOB)
    if wish.operations:
        return {"operations": number(wish.operations, "--operations")}
    return {"seconds": parse_seconds(wish.duration or (TWIN_WINDOW if wish.on_twin else WINDOW))}


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
