"""The device is not your bottleneck, this is."""

from __future__ import annotations

from collections.abc import Sequence

from assay.advise.advice import Evidence, Gain, Outcome, RuleFinding, gain
from assay.advise.facts import RuleFacts, ids, of_path, sizes, where
from assay.advise.rule import Rule
from assay.advise.usage import Usage, usages
from assay.results import group, pick
from assay.results.group import Point
from assay.results.row import Row
from assay.units import show

_FAR, _BUSY = 0.5, 0.9


def _find(facts: RuleFacts) -> RuleFinding | None:
    works = usages(facts.works)
    far = _far(facts)
    if far is None and not works:
        return None
    best = max((row.metric("bandwidth") or 0.0 for row in facts.lone), default=0.0)
    told = [Evidence(one.said(best), (one.work.anchor,)) for one in works]
    if far is None:
        return RuleFinding(_of_work(works[0]), tuple(told), None, "depends")
    says, gain, outcome = _told(far)
    if works:
        says = f"{_of_work(works[0])} Of plain reads: {says}"
    return RuleFinding(says, (*told, Evidence(_said(*far), ids(*far))), gain, outcome)


def _of_work(one: Usage) -> str:
    """What the database, engine or index waits for, in a sentence."""
    drive = "" if one.drive is None else f" and its drive {show.percent(one.drive)}"
    return (
        f"{one.work.subject} with {one.work.workload} keeps {one.cpus} CPUs {show.percent(one.cpu)}{drive} of the time"
        f" busy; {one.cause}."
    )


def _far(facts: RuleFacts) -> tuple[Point, Point] | None:
    """The path that leaves most of the device unused, beside the best of its class that was asked the same.

    Alike are study, place, order of offsets, size, threads, depth, state of the page cache and class of the path. What
    differs by more than the way to the device says nothing of that way.
    """
    reads = where(facts.lone, lambda one: pick.does(one, "read") and one.closed and pick.cache(one) != "warm")
    pairs = []
    for part in group.by(reads, ("study", "on", "pattern", "size", "threads", "depth")).values():
        for alike in _classes(part).values():
            found = [group.point(rows, "bandwidth") for rows in group.by(alike, ("path",)).values()]
            points = [one for one in found if one is not None and one.value > 0]
            if len(points) > 1:
                pairs.append((min(points, key=_value), max(points, key=_value)))
    shown = [(slow, fast) for slow, fast in pairs if not gain(fast, slow, "").spans_one] or pairs
    return min(shown, key=lambda pair: pair[0].value / pair[1].value, default=None)


def _classes(rows: Sequence[Row]) -> dict[tuple[str, str], list[Row]]:
    found: dict[tuple[str, str], list[Row]] = {}
    for one in rows:
        found.setdefault(path_class(one), []).append(one)
    return found


def path_class(one: Row) -> tuple[str, str]:
    """Past the page cache, through it, or mapped; and the state of the cache."""
    kind = "mapped" if of_path(one) == "mmap" else "direct" if pick.direct(one) else "buffered"
    return kind, pick.cache(one)


def _value(point: Point) -> float:
    return point.value


def _told(far: tuple[Point, Point]) -> tuple[str, Gain | None, Outcome | None]:
    slow, fast = far
    share, busy = slow.value / fast.value, utilisation(slow)
    found = gain(fast, slow, "the bandwidth, by another way to the same device")
    if found.spans_one:
        return "No way to the device is shown to leave much of it unused.", None, "no gain here"
    if share > _FAR:
        return "What was measured reaches most of what the device gave at its best.", None, "no gain here"
    if busy is not None and busy > _BUSY:
        cause = f"its threads are on the CPU {show.percent(min(1.0, busy))} of the time: the CPU is the limit"
    else:
        cause = "neither the device nor the CPU is busy all the time: the path between them is what waits"
    name = slow.rows[0].path_label
    says = f"{name} uses {show.percent(share)} of what the device gave when asked the same, and {cause}."
    return says, found, None


def utilisation(point: Point) -> float | None:
    """CPU seconds by threads and seconds of the middle run, helpers of the kernel included, waits for a start not."""
    one = point.rows[0]
    seconds = float((one.record.get("window") or {}).get("measured_s") or 0)
    parts = [one.metric(name) for name in ("user_s", "kernel_s", "helper_s")]
    known = [part for part in parts if part is not None]
    if not known or seconds <= 0:
        return None
    return (sum(known) - (one.metric("wait_s") or 0.0)) / (seconds * int(one.asked.get("threads") or 1))


def _said(slow: Point, fast: Point) -> str:
    one, other = slow.rows[0], fast.rows[0]
    return (
        f"{sizes(one)}: {one.path_label} with {pick.in_flight(one)} in flight {show.rate(slow.value)},"
        f" {other.path_label} with {pick.in_flight(other)} in flight {show.rate(fast.value)}"
    )


RULE = Rule(
    id="bottleneck",
    title="The device is not your bottleneck; this is",
    source="Haas, Haubenschild, Leis, CIDR 2020, cycles per byte; Fedorova 2019; Boether et al., DaMoN 2021, query 18",
    costs="Nothing: it says where money and work would be lost.",
    check="Change what is named, and look whether the share of the device that is used rises.",
    wants="assay quick",
    find=_find,
)
