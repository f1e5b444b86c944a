"""What one run of a contestant came to, whoever printed it."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

Json = dict[str, Any]
# What a program's own driver can say: entries and outcomes are as they must be. It does not judge the machine.
CHECKED = "checked"
GOOD = frozenset({"valid", CHECKED})


@dataclass(frozen=True)
class Reading:
    """Operations a second, CPU of one in ns, what a commit waited for, and whether it can be used."""

    per_s: float
    cpu_ns: float
    durability: str
    verdict: str


def of_record(record: Json, *, missing: bool = False) -> Reading:
    """Of a work record. Where keys are `missing`, an operation that finds nothing is what was asked for."""
    figures = record["figures"]
    name = "transactions_per_s" if "transactions_per_s" in figures else "succeeded_per_s"
    name = "ops_per_s" if missing else name
    return Reading(float(figures[name]["value"]), _cpu_ns(record), str(record["durability"]), _verdict(record))


def of_driver(document: Json, durability: str) -> Reading:
    """Of what a published program's driver printed: no operation may be empty, and no entry wrong."""
    done = int(document["succeeded"])
    bad = [name for name in ("empty", "wrong") if int(document.get(name, 0))]
    verdict = f"{document[bad[0]]} {bad[0]}" if bad else CHECKED
    per_s = float(document["succeeded_per_s"])
    return Reading(per_s, float(document["cpu_s"]) * 1e9 / max(1, done), durability, verdict)


def _cpu_ns(record: Json) -> float:
    """User and kernel time of the whole process, background threads included, for one operation."""
    cpu = record["cpu"]
    done = sum(one["succeeded"] + one["empty"] for one in record["parts"])
    return (float(cpu["user_s"]["value"]) + float(cpu["kernel_s"]["value"])) * 1e9 / max(1, int(done))


def _verdict(record: Json) -> str:
    failed = [one["name"] for one in record["checks"] if not one["passed"]]
    return f"check {failed[0]} failed" if failed else str(record["verdict"]["status"])
