"""What the hosts of a fleet compute for an executor: pieces that are known by name, and measure nothing."""

from __future__ import annotations

from typing import Any

from assay.executor.work import Work
from assay.fleet.error import FleetError
from assay.untyped import Json


def works() -> dict[str, Work]:
    """All that a fleet computes, by name."""
    from assay.claim import coverage
    from assay.executor import dispatch
    from assay.explore import part
    from assay.soak import lanes
    from assay.twin import fit_drive

    found: tuple[Work, ...] = (
        *(dispatch.predicted, dispatch.ended, part.answered, fit_drive.tried, coverage.counted, lanes.elsewhere),
    )
    return {name(one): one for one in found}


def compute(asked: Json) -> Any:
    """Does a piece on this host.

    Raises:
        FleetError: where it is none of those that a fleet computes.
    """
    known = works()
    if asked["work"] not in known:
        raise FleetError(f"`{asked['work']}` is nothing that a fleet computes", f"known are {', '.join(known)}")
    return known[asked["work"]](asked["order"])


def name(work: Work) -> str:
    """What a piece of work is called."""
    return f"{work.__module__}.{work.__qualname__}"
