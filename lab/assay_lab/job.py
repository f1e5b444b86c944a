"""Jobs of the measuring program for checks: small, stamped, verified."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Any

from assay_lab.check import expect
from assay_lab.lab import Outcome
from assay_lab.qemu import KIB, MIB

Json = dict[str, Any]

_PAGE = 4 * KIB
# The window ends by work, not by time: an emulated machine may be as slow as it likes.
_OPERATIONS = 64
# It ends for all classes when the first one has done that: what begins late on a busy machine needs room to do any.
_AMONG_SEVERAL = 512
_LONGEST_S = 60.0
_POLLS = ("iopoll", "sqpoll")
_PERSISTS = ("nt", "clwb", "clflushopt")


def path(words: str) -> Json:
    """A path by its words: `io_uring+direct+fixed`, `pmem+nt`."""
    kind, *options = words.split("+")
    spec: Json = {"kind": kind}
    for option in options:
        if option in _POLLS:
            spec["poll"] = option
        elif option in _PERSISTS:
            spec["persist"] = option
        else:
            spec[option] = True
    return spec


def klass(words: str, durability: str = "none", **more: Any) -> Json:
    """A class that reads and writes in equal parts by a path, on a data set of its own; more fields replace."""
    name = words.replace("+", "-")
    blocking = words.partition("+")[0] in ("pread", "mmap", "pmem")
    return {
        "name": name,
        "dataset": name,
        "path": path(words),
        "operation": {"kind": "mix", "write_percent": 50},
        "pattern": {"kind": "uniform"},
        "size": _PAGE,
        "depth": 1 if blocking else 4,
        "durability": {"kind": durability},
    } | more


def folder(at: str) -> Json:
    """A folder as target."""
    return {"id": "main", "kind": "folder", "members": [at]}


def device(at: str, serial: str, kind: str = "block-device") -> Json:
    """A device as target, with all that allows writes."""
    return {"id": "main", "kind": kind, "members": [at], "serials": [serial], "yes_destroy": True}


def job(target: Json, classes: Sequence[Json], data_bytes: int = MIB, **more: Any) -> Json:
    """Stamped data sets, one for each that classes name; every block read is verified. More fields replace."""
    largest = max(int(one["size"]) for one in classes)
    operations = _OPERATIONS if len(classes) == 1 else _AMONG_SEVERAL
    names = dict.fromkeys(str(one["dataset"]) for one in classes)
    datasets = [{"name": name, "target": "main", "bytes": data_bytes, "content": "stamped"} for name in names]
    return {
        "version": 1,
        "name": "lab",
        "seed": 7,
        "targets": [target],
        "datasets": datasets,
        "classes": list(classes),
        "window": {"measure_s": _LONGEST_S, "bytes_at_most": operations * largest},
        "checks": {"data": True},
    } | more


def read_back(outcome: Outcome) -> Json:
    """The record of a job whose every class wrote, and read what it or its preparation wrote."""
    record = outcome.record
    for one in record["classes"]:
        name, check = one["name"], one.get("check") or {"blocks": 0, "wrong": 0}
        expect(not one.get("errors"), f"{name}: errors {one.get('errors')} / none")
        expect(one["writes"] > 0 and one["reads"] > 0, f"{name}: {one['writes']} writes, {one['reads']} reads / both")
        expect(check["wrong"] == 0, f"{name}: {check['wrong']} of {check['blocks']} blocks are wrong {check} / none")
        expect(
            check["blocks"] >= one["reads"], f"{name}: {check['blocks']} blocks verified / each of {one['reads']} read"
        )
    emulated(record)
    return record


def emulated(record: Json) -> None:
    """No figure of a record claims to be measured, and its verdict says what it stands for."""
    measured = [place for place, value in _walk(record, "record") if value == "measured"]
    expect(not measured, f"figures that claim to be measured: {', '.join(measured[:5])} / emulated")
    codes = {reason["code"] for reason in record["verdict"]["reasons"]}
    expect("emulated-target" in codes, f"the verdict's reasons are {sorted(codes)} / emulated-target among them")


def _walk(value: Any, place: str) -> Iterable[tuple[str, Any]]:
    if isinstance(value, dict):
        for key, inner in value.items():
            if key == "provenance":
                yield place, inner
            yield from _walk(inner, f"{place}.{key}")
    elif isinstance(value, list):
        for index, inner in enumerate(value):
            yield from _walk(inner, f"{place}[{index}]")
