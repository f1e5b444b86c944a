"""Do not write pages through a mapping with msync."""

from __future__ import annotations

from assay.advise.advice import Evidence, RuleFinding, Trial, gain, joined
from assay.advise.facts import RuleFacts, ids, of_path, pairs, sizes, where
from assay.advise.rule import Rule
from assay.results import pick
from assay.results.group import Point
from assay.results.row import Row
from assay.units import show

_ALIKE = ("study", "on", "class", "operation", "pattern", "size", "threads", "depth", "page_bytes", "write_percent")


def _find(facts: RuleFacts) -> RuleFinding | None:
    durable = where(facts.lone, lambda one: _share(one) > 0 and pick.durability(one)["kind"] in ("msync", "fdatasync"))
    mapped = [one for one in durable if of_path(one) == "mmap" and pick.durability(one)["kind"] == "msync"]
    called = [one for one in durable if of_path(one) == "pread" and not pick.direct(one)]
    called = [one for one in called if pick.layout(one) == "written"]
    found = list(pairs(mapped, called, "ops_rate", _ALIKE))
    if not found:
        return None
    return RuleFinding(
        "msync walks the mapping, locks it and waits for each page; a write call and fdatasync do neither.",
        tuple(Evidence(_said(*pair), ids(*pair)) for pair in found),
        joined([gain(call, mapping, "the page operations a second") for mapping, call in found]),
        trial=Trial(
            study="drop-in-buffer",
            a={"path": "mmap + msync"},
            b={"path": "read/write + fdatasync"},
            settings={"write_percent": 80, "data": "256MiB", "buffer": "16MiB", "limit": "1s"},
            metric="ops_rate",
            class_name="pages",
        ),
    )


def _share(one: Row) -> int:
    return 100 if pick.does(one, "write") else pick.write_percent(one)


def _said(mapped: Point, called: Point) -> str:
    one = mapped.rows[0]
    return (
        f"{sizes(one)} pages, {_share(one)} % written, {one.asked.get('threads', 1)} thread(s):"
        f" {show.count(mapped.value)}/s by mmap and msync, {show.count(called.value)}/s by calls and fdatasync"
    )


RULE = Rule(
    id="no-mmap-msync",
    title="Do not make pages durable by mmap and msync",
    source="Boether et al., DaMoN 2021: 1 to 2 % of the bandwidth of calls on persistent memory, a tenth on drives",
    costs="A buffer pool with write calls in place of the mapping.",
    check="Pages written and made durable a second, and system time per page.",
    wants="assay run drop-in-buffer --profile quick",
    find=_find,
)
