"""What sets bars of one subject apart is what differs between their runs."""

from __future__ import annotations

from typing import Any, cast

from assay.record import WorkRecord
from assay.report.view.workfigures import _label
from assay.results.work import Work

MIB = 1 << 20


def _run(pool_mib: int, placement: str = "", tier_mib: int = 24) -> Work:
    settings: dict[str, Any] = {"pool_bytes": pool_mib * MIB}
    if placement:
        settings |= {"placement": placement, "tier_bytes": tier_mib * MIB}
    record = {
        "kind": "engine",
        "subject": {"name": "assay", "settings": settings},
        "workload": {"name": "ycsb", "parameters": {}},
        "targets": [{"target": "twin:p4510"}],
        "environment": {},
        "durability": "none",
    }
    return Work(f"{pool_mib}-{placement}-{tier_mib}", cast("WorkRecord", record))


def _labels(*works: Work) -> list[str]:
    return [_label(one, works) for one in works]


def test_runs_of_a_study_of_tiers_say_their_pool_and_their_policy() -> None:
    assert _labels(_run(4), _run(4, "copy"), _run(8, "hot")) == [
        "assay, on twin:p4510, pool 4 MiB, no tier",
        "assay, on twin:p4510, pool 4 MiB, copy",
        "assay, on twin:p4510, pool 8 MiB, hot",
    ]


def test_what_all_have_alike_is_not_said() -> None:
    assert _labels(_run(4, "copy"), _run(4, "copy")) == ["assay, on twin:p4510"] * 2
    assert _labels(_run(4, "hot"), _run(4, "hot", 48)) == [
        "assay, on twin:p4510, tier 24 MiB",
        "assay, on twin:p4510, tier 48 MiB",
    ]
