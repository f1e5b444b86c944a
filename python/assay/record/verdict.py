"""Whether to believe a record, with reasons.

Made from schema/ by `tools/record_types.py`; a test says when it is stale.
"""

from typing import Literal, TypedDict

ReasonCode = Literal[
    "page-cache-served",
    "cache-not-warm",
    "memory-beneath",
    "unwritten-extents",
    "depth-not-reached",
    "rate-not-reached",
    "operations-missing",
    "generator-late",
    "generator-bound",
    "not-steady",
    "steadiness-lost",
    "window-too-short",
    "compressible-data",
    "noisy-machine",
    "frequency-changed",
    "limit-met",
    "device-hot",
    "costs-unsteady",
    "cpu-taken",
    "counting-bends",
    "counters-disagree",
    "file-smaller-than-caches",
    "foreign-load",
    "device-bytes-differ",
    "errors",
    "flush-not-seen",
    "target-changed",
    "process-stopped",
    "data-corrupt",
    "check-failed",
    "clock-unreliable",
    "windows-differ",
    "interrupted",
    "emulated-target",
    "modelled-target",
    "extrapolated",
    "engines-differ",
    "played-late",
]
"""What was found."""

Severity = Literal["note", "suspect", "invalid"]
"""What a reason does to the verdict."""

Reason = TypedDict(
    "Reason",
    {
        "class": str | None,
        "code": ReasonCode,
        "evidence": str,
        "fix": str,
        "numbers": dict[str, float],
        "severity": Severity,
    },
    total=False,
)
"""One thing found, with evidence and remedy."""

Status = Literal["valid", "suspect", "invalid"]
"""How far a record can be trusted."""


class Verdict(TypedDict, total=False):
    """The verdict on a record."""

    reasons: list[Reason]
    status: Status
