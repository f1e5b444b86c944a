"""Direct and asynchronous I/O for scans."""

from __future__ import annotations

from assay.advise.advice import Evidence, RuleFinding, Trial, gain, joined
from assay.advise.facts import RuleFacts, ids, of_path, sizes, where
from assay.advise.rule import Rule
from assay.results import group, paths, pick
from assay.results.group import Point
from assay.results.row import Row
from assay.units import show


def _find(facts: RuleFacts) -> RuleFinding | None:
    scans = where(facts.lone, lambda one: pick.does(one, "read", "sequential") and pick.cache(one) != "warm")
    found = []
    for part in group.by(scans, ("study", "on", "size", "threads")).values():
        blocking = _best([one for one in part if of_path(one) in ("pread", "mmap") and not pick.direct(one)])
        direct = _best([one for one in part if paths.named(of_path(one)).queued and pick.direct(one)])
        if blocking is not None and direct is not None:
            found.append((blocking, direct))
    if not found:
        return None
    first = found[0][1].rows[0]
    return RuleFinding(
        "A scan that keeps many requests in flight past the page cache uses more of the device, and spares a copy.",
        tuple(Evidence(_said(*pair), ids(*pair)) for pair in found),
        joined([gain(direct, blocking, "the scan bandwidth") for blocking, direct in found]),
        trial=Trial(
            study="raw-scan",
            a={"path": "pread, page cache"},
            b={"path": "libaio, O_DIRECT" if of_path(first) == "libaio" else "io_uring, O_DIRECT"},
            settings={"data": "512MiB", "limit": "1s"},
            metric="bandwidth",
            class_name="scan",
        ),
    )


def _best(rows: list[Row]) -> Point | None:
    """The best of the paths, each over its repeats."""
    points = [group.point(part, "bandwidth") for part in group.by(rows, ("path", "depth")).values()]
    having = [point for point in points if point is not None]
    return max(having, key=lambda point: point.value, default=None)


def _said(blocking: Point, direct: Point) -> str:
    one = blocking.rows[0]
    cycles = [group.point(point.rows, "cycles_per_byte") for point in (blocking, direct)]
    cost = ""
    if cycles[0] is not None and cycles[1] is not None:
        cost = f", at {show.significant(cycles[0].value)} and {show.significant(cycles[1].value)} cycles/byte"
    return (
        f"{sizes(one)} at a time: {one.path_label} {show.rate(blocking.value)},"
        f" {direct.rows[0].path_label} {show.rate(direct.value)}{cost}"
    )


RULE = Rule(
    id="scan-direct-async",
    title="Scan with direct and asynchronous I/O",
    source="Haas, Haubenschild, Leis, CIDR 2020, table 2, steps 3 and 4",
    costs="A buffer pool of one's own: the page cache no longer keeps what was read, nor reads ahead.",
    check="Cycles per byte of the scan fall, and the device's bandwidth is reached with one thread.",
    wants="assay run raw-scan --profile quick",
    find=_find,
)
