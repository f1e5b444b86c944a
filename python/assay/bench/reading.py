"""What one run of a contestant came to, whoever printed it."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

from assay.binary import Binary
from assay.record import WorkRecord
from assay.rivals.published import DriverWork
from assay.rivals.published.recipe import Recipe
from assay.study.work import WorkDraft, check, figure, part
from assay.untyped import Json

GOOD = "valid"


@dataclass(frozen=True)
class Reading:
    """Operations a second, CPU of one in ns, what a commit waited for, and whether it can be used."""

    per_s: float
    cpu_ns: float
    durability: str
    verdict: str


def of_record(record: WorkRecord, *, missing: bool = False) -> Reading:
    """Of a work record. Where keys are `missing`, an operation that finds nothing is what was asked for."""
    figures = record["figures"]
    name = "transactions_per_s" if "transactions_per_s" in figures else "succeeded_per_s"
    name = "ops_per_s" if missing else name
    return Reading(float(figures[name]["value"]), _cpu_ns(record), str(record["durability"]), _verdict(record))


def of_driver(document: Json, recipe: Recipe, work: DriverWork, folder: Path) -> WorkRecord:
    """The record of what a published program's driver printed: no operation may be empty, and no entry wrong.

    It does not judge the machine, which the record says.
    """
    done, empty = int(document["succeeded"]), int(document.get("empty", 0))
    draft = WorkDraft("index", recipe.name, " ".join(map(str, document.get("commits", ()))), work.workload)
    draft.settings = {"structure": work.structure, "compiler": str(document.get("compiler", ""))}
    draft.parameters = {"keys": work.keys, "threads": work.threads, "seed": work.seed}
    draft.lies_on("data", str(folder.parent), folder.parent)
    draft.durability, draft.measured_s = recipe.durability, work.seconds
    per_s = float(document["succeeded_per_s"])
    rates = {"ops_per_s": figure(per_s, "ops/s"), "succeeded_per_s": figure(per_s, "ops/s")}
    cpu_ns = float(document["cpu_s"]) * 1e9 / max(1, done)
    draft.figures = rates | {"cpu_ns_per_op": figure(cpu_ns, "ns", method="rusage")}
    draft.parts = [part(work.workload, {}, succeeded=done, empty=empty)]
    for name in ("empty", "wrong"):
        count = int(document.get(name, 0))
        draft.checks.append(check(name, not count, f"{count} {name}"))
    draft.lacks("a verdict on the machine", "the program has a driver of its own", "look at its neighbour's record")
    return draft.record(Binary.find())


def _cpu_ns(record: WorkRecord) -> float:
    """User and kernel time of the whole process, background threads included, for one operation."""
    cpu = record.get("cpu")
    if cpu is None:
        return float(record["figures"]["cpu_ns_per_op"]["value"])
    done = sum(one["succeeded"] + one["empty"] for one in record["parts"])
    return (float(cpu["user_s"]["value"]) + float(cpu["kernel_s"]["value"])) * 1e9 / max(1, int(done))


def _verdict(record: WorkRecord) -> str:
    failed = [one["name"] for one in record["checks"] if not one["passed"]]
    return f"check {failed[0]} failed" if failed else str(record["verdict"]["status"])
