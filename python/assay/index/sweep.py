"""Sweeps as studies: indexes x workloads x threads, those in memory and those on a drive each where they belong."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

from assay.binary import Binary
from assay.error import BAD_JOB, NOT_POSSIBLE, AssayError
from assay.study.expand import expand
from assay.study.model import Study
from assay.study.plan import make
from assay.study.request import Prepared
from assay.study.settings import ExpandRequest, with_profile
from assay.study.work.index import usual_place
from assay.target import names
from assay.target.host import HostWish
from assay.target.target import parse_all
from assay.untyped import Json


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


@dataclass(frozen=True)
class CommonParts:
    """What all runs of a sweep have in common: words of `[work]`, of indexes in memory and on drives apart, and who
    drives twins."""

    words: Json
    memory: Json
    drive: Json
    host: HostWish
    seed: int


def prepared(
    name: str, sweep: Sweep, common: CommonParts, where: Places, most: int, repeats: int, binary: Binary
) -> Prepared:
    """A sweep as a study for each medium, with at most so many threads, and the plan of both together.

    Raises:
        AssayError: where none of its indexes is in the program, or has a place.
    """
    has = there(binary)
    requests = [
        _request(name, replace(sweep, indexes=indexes), common, on, most, repeats)
        for memory, on in where.items()
        if on and (indexes := [one for one in sweep.indexes if one in has and _in_memory(one) == memory])
    ]
    if not requests:
        hint = "`assay index list` shows what is there; indexes in memory go with modules, others with drives"
        raise AssayError("none of these indexes is in this program, or has a place", hint=hint, code=NOT_POSSIBLE)
    cells = [cell for request in requests for cell in expand(request)]
    return Prepared(name, requests, make(cells, common.seed, binary))


def _in_memory(index: str) -> bool:
    return not index.startswith("ssd-")


def _request(name: str, sweep: Sweep, common: CommonParts, on: Sequence[str], most: int, repeats: int) -> ExpandRequest:
    """A study of indexes that all lie in memory, or all on a drive."""
    memory = _in_memory(sweep.indexes[0])
    part = f"{name}-{'memory' if memory else 'drive'}"
    targets = parse_all([one or str(usual_place(sweep.indexes[0])) for one in on], (), False, common.host)
    words = {key: value for key, value in (common.words | (common.memory if memory else common.drive)).items() if value}
    document: Json = {
        "name": part,
        "title": f"Indexes {'in memory' if memory else 'on a drive'}",
        "question": "How many operations does each index do?",
        "source": f"`assay index study {name}`",
        "repeats": repeats,
        "targets": ["folder"],
        "matrix": {
            "index": list(sweep.indexes),
            "load": [_choice(workload=workload, distribution=law) for workload, law in sweep.workloads],
            "threads": [count for count in sweep.threads if count <= most],
        },
        "work": {"kind": "index", "index": "${index}", "threads": "${threads}", **words}
        | {"distribution": "${load.distribution}", "workload": "${load.workload}"},
    }
    if not memory:
        document["matrix"]["way"] = [_choice(path=path, split=split, batch=batch) for path, split, batch in sweep.drive]
        document["work"] |= {key: f"${{way.{key}}}" for key in ("path", "split", "batch")}
    request = with_profile(Study.model_validate(document), None)
    return replace(request, targets=tuple(targets), seed=common.seed)


def _choice(**parts: Any) -> Json:
    words = [key if part is True else str(part) for key, part in parts.items() if part is not False]
    return {"name": " ".join(words), **parts}
