"""Stripe over several drives, or not."""

from __future__ import annotations

from assay.advise.advice import Evidence, Outcome, RuleFinding, gain
from assay.advise.facts import RuleFacts, ids, sizes, where
from assay.advise.rule import Rule
from assay.results import group, pick
from assay.results.group import Point
from assay.results.row import Row
from assay.units import show

_ALIKE = ("study", "scenario", "class", "operation", "pattern", "size", "threads", "depth", "path", "durability")


def _find(facts: RuleFacts) -> RuleFinding | None:
    """The same load on one drive and on several."""
    found = []
    for part in group.by(where(facts.rows, lambda one: one.closed), _ALIKE).values():
        sides = {count: [one for one in part if _drives(one) == count] for count in {_drives(one) for one in part}}
        if len(sides) > 1:
            one, many = group.point(sides[min(sides)], "bandwidth"), group.point(sides[max(sides)], "bandwidth")
            if one is not None and many is not None:
                found.append((one, many))
    if not found:
        return None
    gains = [gain(many, one, "the bandwidth of one drive") for one, many in found]
    middle = max(gains, key=lambda each: each.ratio)
    outcomes = {each.outcome for each in gains}
    outcome: Outcome = gains[0].outcome if len(outcomes) == 1 else "depends"
    says = (
        "Every load gains." if outcome == "advised" else "Loads that keep enough in flight gain; others wait as before."
    )
    return RuleFinding(says, tuple(Evidence(_said(*pair), ids(*pair)) for pair in found), middle, outcome)


def _drives(one: Row) -> int:
    """Members of the target; those of a twin by its name."""
    count = 0
    for target in one.record["job"].get("targets") or ():
        twin = target.get("twin")
        label = str(twin.get("label") or "") if isinstance(twin, dict) else ""
        number = label.rpartition("*")[2]
        count += int(number) if "*" in label and number.isdigit() else max(1, len(target.get("members") or ()))
    return max(1, count)


def _said(one: Point, many: Point) -> str:
    row = one.rows[0]
    return (
        f"{row.name}, {sizes(row)}, {pick.in_flight(row)} in flight:"
        f" {show.rate(one.value)} on {_drives(row)}, {show.rate(many.value)} on {_drives(many.rows[0])}"
    )


RULE = Rule(
    id="stripe",
    title="Stripe over drives where enough is in flight",
    source="Boether et al., DaMoN 2021: one thread without read-ahead gains nothing from four drives",
    costs="More drives; any of them failing loses the stripe.",
    check="Bandwidth at the depth that your engine really keeps, on one drive and on the stripe.",
    wants="assay run raw-depth --on A --on A+B, or --on twin:p4610 --on 'twin:raid0:p4610*4'",
    find=_find,
)
