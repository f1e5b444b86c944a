"""Sweeps: indexes x workloads x threads, with every record kept and nothing done twice."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any, cast

from assay.binary import Binary
from assay.error import BAD_JOB, AssayError
from assay.index.job import job
from assay.record import WorkRecord
from assay.study.work import load, run_work, save
from assay.study.work.index import Wish
from assay.target import names

Json = dict[str, Any]
# The pool in front of a drive where none is asked for, as `crates/index/src/ssd/factory.rs` has it.
POOL_BYTES = 256 << 20


@dataclass(frozen=True)
class Sweep:
    """What a study of indexes runs."""

    indexes: Sequence[str]
    workloads: Sequence[tuple[str, str]]
    threads: Sequence[int]
    # How indexes on a drive are run: by which path, keys split over threads, lookups that wait together.
    drive: Sequence[tuple[str, bool, int]] = (("", False, 1),)
    # Who runs it on twins.
    host: str = ""


# jungle's second part: FPTree and BzTree and Dash in persistent memory against a B+-tree and a hash table on a drive,
# single operations and YCSB-like mixes, uniform and skewed, threads from one up.
JUNGLE = Sweep(
    indexes=("fptree", "bztree", "dash-eh", "ssd-btree", "ssd-hash"),
    workloads=(
        ("lookup", "uniform"),
        ("lookup", "zipf:0.99"),
        ("insert", "uniform"),
        ("update", "uniform"),
        ("mixed", "self-similar:0.2"),
        ("ycsb-a", "zipf:0.99"),
        ("ycsb-b", "zipf:0.99"),
    ),
    threads=(1, 2, 4, 8, 16, 20),
    # As in the study: blocking calls, keys split over threads. And as its outlook asks for: io_uring, lookups batched.
    drive=(("pread", True, 1), ("io_uring", False, 64)),
    host="xeon-6242r",
)
STUDIES = {"jungle": JUNGLE}


@dataclass(frozen=True)
class SweepCell:
    """One run of a sweep."""

    wish: Wish
    identity: tuple[Any, ...]


def there(binary: Binary) -> set[str]:
    """The indexes that the measuring program has."""
    listed: list[Json] = binary.document("index", "--list")
    return {str(one["name"]) for one in listed if one["there"]}


Places = Mapping[bool, Sequence[str]]


def places(on: Sequence[str], on_drive: str) -> Places:
    """Where indexes in memory (True) and on a drive (False) lie: a folder each, or any number of twins.

    Raises:
        AssayError: where twins and folders are mixed.
    """
    twins = [one for one in on if one.startswith(names.PREFIX)]
    if not twins:
        if len(on) > 1:
            hint = "name twins, such as --on twin:pmem100-128g*4 --on twin:pmem100-128g*6"
            raise AssayError("several places to compare have to be twins", hint=hint, code=BAD_JOB)
        return {True: list(on) or [""], False: [on_drive]}
    if len(twins) < len(on) or on_drive:
        hint = "name twins alone, those of drives with --on too, or folders alone"
        raise AssayError("twins are played, and folders are measured: not in one sweep", hint=hint, code=BAD_JOB)
    memory = {one: names.is_memory(names.target(one)) for one in twins}
    return {wanted: [one for one in twins if memory[one] == wanted] for wanted in (True, False)}


def cells(sweep: Sweep, base: Wish, where: Places, has: set[str], cpus: int) -> list[SweepCell]:
    """The runs of a sweep: indexes that are there, in each place that is theirs, with as many threads as there are."""
    found = []
    for index in (name for name in sweep.indexes if name in has):
        for on in where[not index.startswith("ssd-")]:
            for workload, law in sweep.workloads:
                for threads in (count for count in sweep.threads if count <= cpus):
                    wish = replace(base, index=index, workload=workload, distribution=law, threads=threads, on=on)
                    found += [SweepCell(one, identity_of_job(job(one))) for one in _ways(sweep, wish)]
    return found


def _ways(sweep: Sweep, wish: Wish) -> list[Wish]:
    """A pool and how it is reached are a drive's business, a twin of memory modules that of the others."""
    if not wish.index.startswith("ssd-"):
        return [replace(wish, pool="")]
    return [replace(wish, as_if="", path=path, split=split, batch=batch) for path, split, batch in sweep.drive]


def identity_of_job(document: Json) -> tuple[Any, ...]:
    """What makes two runs the same one."""
    law = document.get("distribution", {})
    value = law.get("theta", law.get("skew"))
    described = f"{law.get('law')} {value:g}" if value is not None else str(law.get("law"))
    window = document["window"]
    sizes = document["sizes"]
    return (
        document["index"],
        document["workload"],
        described,
        document["threads"],
        document["keys"],
        (sizes["key"]["least"], sizes["key"]["most"]),
        (sizes["value"]["least"], sizes["value"]["most"]),
        float(window["seconds"]) if "seconds" in window else int(window["operations"]),
        document["seed"],
        document.get("as_if", {}).get("twin", ""),
        document["batch"],
        document["split"],
        *_played(document),
        *_drive(document["index"], {"pool_bytes": document.get("pool_bytes", POOL_BYTES), **document["options"]}),
    )


def identity_of_record(record: WorkRecord) -> tuple[Any, ...]:
    """The same, of a record."""
    asked = record["workload"]["parameters"]
    window = asked.get("window_s", asked.get("window_operations"))
    return (
        record["subject"]["name"],
        record["workload"]["name"],
        asked["distribution"],
        asked["threads"],
        asked["keys"],
        tuple(asked["key_bytes"]),
        tuple(asked["value_bytes"]),
        window,
        asked["seed"],
        record["subject"]["settings"].get("as_if", {}).get("twin", ""),
        asked.get("batch", 1),
        asked.get("split", False),
        *_played_record(record),
        *_drive(record["subject"]["name"], record["subject"]["settings"]),
    )


def _played(document: Json) -> tuple[str, str, int]:
    """Twin, host and caches of a run that is played."""
    twin = document.get("twin")
    if twin is None:
        return "", "", 0
    cache = 0 if document["index"].startswith("ssd-") else int(twin["cache_bytes"])
    return str(twin["data"]["label"]), str(twin["data"]["host"]["name"]), cache


def _played_record(record: WorkRecord) -> tuple[str, str, int]:
    label, settings = str(record["targets"][0]["target"]), record["subject"]["settings"]
    if not label.startswith(names.PREFIX):
        return "", "", 0
    return label, str(settings["host"]), int(settings.get("cpu_cache_bytes", 0))


def _drive(index: str, settings: Json) -> tuple[str, int]:
    """Path and pool of an index on a drive. A pool that is split loses a few bytes to rounding."""
    if not index.startswith("ssd-"):
        return "", 0
    return str(settings.get("io", "io_uring")), round(int(settings["pool_bytes"]) / (64 << 10))


def run(binary: Binary, wanted: Sequence[SweepCell], out: Path, tell: Callable[[str], None]) -> Iterator[WorkRecord]:
    """Runs what has no record in `out` yet; yields every record, those that were there included. A run that is
    interrupted leaves what was finished; started again, it goes on."""
    known = {identity_of_record(record): record for record in load(out) if record["kind"] == "index"}
    for position, cell in enumerate(wanted, 1):
        record = known.get(cell.identity)
        if record is None:
            what = f"{cell.wish.index} {cell.wish.workload} {cell.wish.distribution} {cell.wish.threads} threads"
            what += f" on {cell.wish.on}" if cell.wish.on_twin else ""
            tell(f"{position} of {len(wanted)}: {what}")
            for record in cast("list[WorkRecord]", run_work(binary, ["index"], job(cell.wish))):
                save(out, record)
                yield record
        else:
            yield record
