"""The device is not your bottleneck, this is."""

from __future__ import annotations

from assay.advise.advice import Evidence, Finding, Gain, Outcome
from assay.advise.facts import Facts, ids, where
from assay.advise.rule import Rule
from assay.report import group, units
from assay.report.answer import pick
from assay.report.group import Point
from assay.report.work import Work

_FAR, _BUSY = 0.5, 0.9


def _find(facts: Facts) -> Finding | None:
    works = [one for one in facts.works if one.status != "invalid" and one.record.get("cpu")]
    evidence = [found for one in works if (found := _of_work(one, facts)) is not None]
    far = _far(facts)
    if far is None and not evidence:
        return None
    says, gain, outcome = _told(far, [text for text, _ in evidence])
    told = [Evidence(text, (one.anchor,)) for text, one in evidence]
    if far is not None:
        told.insert(0, Evidence(_said(*far), ids(*far)))
    return Finding(says, tuple(told), gain, outcome)


def _far(facts: Facts) -> tuple[Point, Point] | None:
    """The read that leaves most of the device unused, beside the one that uses most, of the same size and pattern."""
    reads = where(facts.lone, lambda one: pick.does(one, "read") and one.closed and pick.cache(one) != "warm")
    pairs = []
    for part in group.by(reads, ("on", "pattern", "size")).values():
        found = [group.point(rows, "bandwidth") for rows in group.by(part, ("path", "threads", "depth")).values()]
        points = [one for one in found if one is not None and one.value > 0]
        if len(points) > 1:
            pairs.append((min(points, key=_value), max(points, key=_value)))
    return min(pairs, key=lambda pair: pair[0].value / pair[1].value, default=None)


def _value(point: Point) -> float:
    return point.value


def _told(far: tuple[Point, Point] | None, works: list[str]) -> tuple[str, Gain | None, Outcome | None]:
    if far is None:
        return works[0], None, "depends"
    slow, fast = far
    share, busy = slow.value / fast.value, utilisation(slow)
    if share > _FAR:
        return "What was measured reaches most of what the device gave at its best.", None, "no gain here"
    if busy is not None and busy > _BUSY:
        cause = f"its threads are on the CPU {units.percent(min(1.0, busy))} of the time: the CPU is the limit"
    elif pick.in_flight(slow.rows[0]) == 1 < pick.in_flight(fast.rows[0]):
        cause = "it waits for one request at a time: latency is the limit, and more in flight is the remedy"
    else:
        cause = "neither the device nor the CPU is busy all the time: the path between them is what waits"
    says = f"{slow.rows[0].path_label} uses {units.percent(share)} of what the device gave at its best, and {cause}."
    from assay.advise.advice import gain

    return says, gain(fast, slow, "the bandwidth, when the device is the limit"), None


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
    size = units.block(float(pick.size(one) or 0))
    return (
        f"{size}: {one.path_label} with {pick.in_flight(one)} in flight {units.rate(slow.value)},"
        f" {other.path_label} with {pick.in_flight(other)} in flight {units.rate(fast.value)}"
    )


def _of_work(one: Work, facts: Facts) -> tuple[str, Work] | None:
    """What a database or an engine did to CPU and device, in words."""
    cpu, seconds = one.record["cpu"], float(one.record.get("measured_s") or 0)
    used = sum(_figure(cpu.get(name)) for name in ("user_s", "kernel_s", "helper_s"))
    cpus = int((one.record["environment"].get("cpu") or {}).get("usable") or 0)
    if seconds <= 0 or cpus == 0:
        return None
    share = used / (seconds * cpus)
    moved = sum(_figure(device.get(name)) for device in one.record.get("devices") or () for name in _MOVED)
    best = max((row.metric("bandwidth") or 0.0 for row in facts.lone), default=0.0)
    against = f", {units.percent(moved / seconds / best)} of the best that these records show" if best else ""
    text = (
        f"{one.subject}, {one.workload}: {units.percent(share)} of {cpus} CPUs busy,"
        f" {units.rate(moved / seconds)} moved by its devices{against}"
    )
    return text, one


_MOVED = ("read_bytes", "written_bytes")


def _figure(found: object) -> float:
    value = found.get("value") if isinstance(found, dict) else None
    return float(value) if isinstance(value, (int, float)) else 0.0


RULE = Rule(
    id="bottleneck",
    title="The device is not your bottleneck; this is",
    source="Haas, Haubenschild, Leis, CIDR 2020, cycles per byte; Fedorova 2019; Boether et al., DaMoN 2021, query 18",
    costs="Nothing: it says where money and work would be lost.",
    check="Change what is named, and look whether the share of the device that is used rises.",
    wants="assay quick",
    find=_find,
)
