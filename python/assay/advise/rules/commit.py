"""Share one flush among several commits."""

from __future__ import annotations

from assay.advise.advice import Evidence, RuleFinding, gain, joined
from assay.advise.facts import RuleFacts, ids, pairs, where
from assay.advise.rule import Rule
from assay.results import pick
from assay.results.group import Point
from assay.results.row import Row
from assay.units import show

_ALIKE = ("study", "on", "operation", "size", "path", "threads")


def _find(facts: RuleFacts) -> RuleFinding | None:
    writes = where(facts.lone, lambda one: pick.does(one, "write", "sequential") and one.closed)
    writes = [one for one in writes if pick.durability(one)["kind"] not in ("none", "persist")]
    single = [one for one in writes if _every(one) == 1]
    shared = [one for one in writes if _every(one) > 1]
    found = list(pairs(single, shared, "ops_rate", _ALIKE))
    if not found:
        return None
    return RuleFinding(
        "One flush makes every write before it durable; commits that wait together pay it once.",
        tuple(Evidence(_said(*pair), ids(*pair)) for pair in found),
        joined([gain(after, before, "the durable writes a second") for before, after in found]),
    )


def _every(one: Row) -> int:
    return int(pick.durability(one).get("every") or 1)


def _said(single: Point, shared: Point) -> str:
    return (
        f"{show.count(single.value)} writes/s with a flush each, {show.count(shared.value)} writes/s with one flush"
        f" for {_every(shared.rows[0])}"
    )


RULE = Rule(
    id="group-commit",
    title="Share one flush among several commits",
    source="Common practice (DeWitt et al., SIGMOD 1984); Haas et al., CIDR 2020, reads beside rarer flushes",
    costs="A commit waits until its group is full or a timer ends: latency at low load.",
    check="Commits a second rise with the number of clients while flushes a second do not.",
    wants='assay run FILE.toml with durability = { kind = "fdatasync", every = 16 } beside every = 1',
    find=_find,
)
