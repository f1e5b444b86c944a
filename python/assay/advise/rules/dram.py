"""Keep hot pages in DRAM."""

from __future__ import annotations

from assay.advise.advice import Evidence, RuleFinding, Trial, gain, joined
from assay.advise.facts import RuleFacts, ids, of_path, sizes, where
from assay.advise.rule import Rule
from assay.results import group, pick
from assay.results.group import Point
from assay.units import show


def _find(facts: RuleFacts) -> RuleFinding | None:
    """A read that memory serves against the same read from the device."""
    reads = where(
        facts.lone,
        lambda one: pick.does(one, "read") and pick.in_flight(one) == 1 and pick.size(one) is not None,
    )
    found = []
    for part in group.by(reads, ("study", "on", "pattern", "size")).values():
        warm = _best([one for one in part if pick.cache(one) == "warm" and of_path(one) == "pread"])
        device = _best([one for one in part if pick.cache(one) == "bypassed"])
        if warm is not None and device is not None:
            found.append((device, warm))
    if not found:
        return None
    page = "".join(sizes(found[0][0].rows[0]).split())
    says = (
        "A page in memory spares the whole read. Whether it earns its place is a matter of price: `assay cost"
        f" break-even --in DIR --page {page}` says how often it must be used, by the reads of these records and dated"
        " prices (--lower names your drive, --latency-bound what a read may take)."
    )
    return RuleFinding(
        says,
        tuple(Evidence(_said(*pair), ids(*pair)) for pair in found),
        joined([gain(warm, device, "as fast a read", cost=True) for device, warm in found]),
        trial=Trial(
            study="scm-cache",
            a={"path": "pread+direct", "cache_state": "bypassed"},
            b={"path": "pread", "cache_state": "warm"},
            settings={"data": "256MiB", "measure": "1s"},
            metric="service_p50",
            class_name="blocks",
        ),
    )


def _best(rows: list) -> Point | None:  # type: ignore[type-arg]
    return group.point(rows, "service_p50") if rows else None


def _said(device: Point, warm: Point) -> str:
    size = sizes(warm.rows[0])
    return f"{size}: {show.time(warm.value)} from a warm cache, {show.time(device.value)} from the device"


RULE = Rule(
    id="hot-in-dram",
    title="Keep hot pages in DRAM",
    source="Wu et al., DaMoN 2020 (placement over persistent memory); Gray and Putzolu, SIGMOD 1987",
    costs="Memory: the break-even interval says for which pages it pays.",
    check="The pool's hit ratio and the device's reads a second, before and after.",
    wants="assay run scm-cache --profile quick",
    find=_find,
)
