"""The verdict on work that was driven from Python, by the rules that the measuring program has for its own."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import cast

from assay.record import Verdict
from assay.untyped import Json

_GRADES = {"invalid": 0, "suspect": 1, "note": 2}
# As ERRORS_INVALID in crates/instruments: from this share on, the figures describe the failures.
ERRORS_INVALID = 0.01


def verdict(reasons: Iterable[Json], checks: Sequence[Json], parts: Sequence[Json], targets: Sequence[Json]) -> Json:
    """What was found, gravest first, and the status that follows."""
    own = [_check_failed(checks), _failures(parts), _emulated(targets)]
    return _graded([*reasons, *(found for found in own if found is not None)])


def _graded(reasons: Iterable[Json]) -> Json:
    everything = sorted(reasons, key=lambda one: (_GRADES[one["severity"]], one["code"]))
    gravest = everything[0]["severity"] if everything else "note"
    status = {"invalid": "invalid", "suspect": "suspect", "note": "valid"}[gravest]
    return {"status": status, "reasons": everything}


def added(verdict: Verdict, found: Json) -> Verdict:
    """The verdict of a record with one more thing that was found; the same one is not said twice."""
    others = [cast("Json", one) for one in verdict["reasons"] if one["code"] != found["code"]]
    return cast("Verdict", _graded([*others, found]))


def reason(code: str, severity: str, evidence: str, fix: str, **numbers: float) -> Json:
    """One thing found: evidence and remedy in a sentence each, and the figures of the evidence."""
    document: Json = {"code": code, "severity": severity, "evidence": evidence, "fix": fix}
    if numbers:
        document["numbers"] = {name: float(value) for name, value in numbers.items()}
    return document


def _check_failed(checks: Sequence[Json]) -> Json | None:
    failed = [one for one in checks if not one["passed"]]
    if not failed:
        return None
    first = failed[0]
    evidence = f"{len(failed)} of {len(checks)} checks failed, first {first['name']}: {first['evidence']}"
    fix = (
        "repeat it on another target: where it fails there too, the program is wrong; else look at this target's "
        "durability and at the kernel's log"
    )
    return reason("check-failed", "invalid", evidence, fix, failed=len(failed))


def _failures(parts: Sequence[Json]) -> Json | None:
    failed = sum(one["failed"] for one in parts)
    if not failed:
        return None
    everything = failed + sum(one["succeeded"] + one["empty"] for one in parts)
    kinds = ", ".join(f"{one['failed']} {one['name']}" for one in parts if one["failed"])
    share = failed / everything
    severity = "invalid" if share >= ERRORS_INVALID else "suspect"
    evidence = f"{failed} of {everything} operations failed ({kinds})"
    fix = "look at the messages of the run and at dmesg, mend what is broken, and run it again"
    return reason("errors", severity, evidence, fix, failed=failed, failed_share=share)


def _emulated(targets: Sequence[Json]) -> Json | None:
    names = [f"{one['target']} ({one['role']})" for one in targets if one.get("emulated")]
    if not names:
        return None
    evidence = f"{' and '.join(names)} stands in for a device: the code is real, the hardware is not"
    fix = "measure on the device itself; use these figures for the cost of the software only"
    return reason("emulated-target", "note", evidence, fix)
