"""Which plans nobody beats: no other is at least as good in cost, headroom and latency and better in one of them."""

from __future__ import annotations

import math
from collections.abc import Sequence

from .plan import FleetPlan


def goals(plan: FleetPlan) -> tuple[float, float, float]:
    """Cost, headroom (negated) and latency: less is better in each."""
    latency = math.inf if plan.read_latency_ns is None else plan.read_latency_ns
    return plan.usd_per_month, -plan.headroom, latency


def dominates(one: FleetPlan, other: FleetPlan) -> bool:
    """Whether `one` is nowhere worse and somewhere better."""
    ours, theirs = goals(one), goals(other)
    return ours != theirs and all(mine <= yours for mine, yours in zip(ours, theirs, strict=True))


def front(plans: Sequence[FleetPlan]) -> tuple[list[FleetPlan], dict[str, FleetPlan]]:
    """The plans that nobody dominates, cheapest first, and for each other plan the cheapest that dominates it.

    Equals stand together: neither dominates the other.
    """
    kept: list[FleetPlan] = []
    beaten: dict[str, FleetPlan] = {}
    for plan in sorted(plans, key=lambda plan: (*goals(plan), plan.name)):
        better = next((one for one in kept if dominates(one, plan)), None)
        if better is None:
            kept.append(plan)
        else:
            beaten[plan.name] = better
    return kept, beaten
