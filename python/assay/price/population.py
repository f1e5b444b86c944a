"""Which counts and mixes of memory modules a socket takes, and who says so."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cache
from typing import Literal

from assay import home
from assay.document.table import Table
from assay.error import did_you_mean
from assay.price.answer import Answer
from assay.price.error import PriceError
from assay.price.ledger import Ledger
from assay.price.reading import read

Verdict = Literal["legal", "illegal", "unknown"]


class Platform(Table):
    """What a socket has."""

    name: str
    channels: int
    pmem_per_channel: int
    slots_per_channel: int
    processors: str
    source: str
    date: str


class Combination(Table):
    """Counts of modules per socket that somebody documented."""

    pmem: int
    dram: int
    source: str
    date: str


class Rules(Table):
    """The file of rules."""

    platform: Platform
    combination: list[Combination]
    mixing: dict[str, list[str] | str]

    def kinds(self) -> dict[str, list[str]]:
        """Which kinds may share a channel."""
        return {name: kinds for name, kinds in self.mixing.items() if isinstance(kinds, list)}


@dataclass(frozen=True)
class Judgement:
    """Whether a population is legal, why, and who says so."""

    verdict: Verdict
    reason: str
    source: str
    date: str


@cache
def rules() -> Rules:
    """The rules of the catalog."""
    return read(home.catalog() / "prices" / "population.toml", Rules, "population rules")


def judge(pmem: int, dram: int, sizes: int = 1, kind: str = "rdimm") -> Judgement:
    """The population of one socket: modules of PMem, modules of DRAM, how many sizes of PMem are mixed."""
    book = rules()
    if pmem < 0 or dram < 0:
        raise PriceError(f"{min(pmem, dram)} modules cannot be in a socket", "give counts of zero or more")
    if kind not in book.kinds():
        raise PriceError(f"`{kind}` is not a kind of module", did_you_mean(kind, book.kinds()))
    return _against_platform(pmem, dram, kind, book) or _documented(pmem, dram, sizes, book)


def _against_platform(pmem: int, dram: int, kind: str, book: Rules) -> Judgement | None:
    platform, where = book.platform, (book.platform.source, book.platform.date)
    most = platform.channels * platform.pmem_per_channel
    slots = platform.channels * platform.slots_per_channel
    mixing = (str(book.mixing["source"]), str(book.mixing["date"]))
    if pmem > most:
        return Judgement("illegal", f"a socket takes {most} modules of PMem, one per channel, not {pmem}", *where)
    if pmem + dram > slots:
        return Judgement("illegal", f"a socket has {slots} slots, not {pmem + dram}", *where)
    if pmem and not dram:
        return Judgement("unknown", "no source runs PMem without DRAM in the same socket", *where)
    if pmem and "pmem" not in book.kinds()[kind]:
        return Judgement("illegal", f"PMem does not share a channel with {kind}", *mixing)
    return None


def _documented(pmem: int, dram: int, sizes: int, book: Rules) -> Judgement:
    where = (book.platform.source, book.platform.date)
    if not pmem:
        return Judgement("legal", f"{dram} modules of DRAM alone fit the slots", *where)
    if sizes > 1:
        return Judgement("unknown", "no source says that sizes of PMem may be mixed in a socket", *where)
    for known in book.combination:
        if (known.pmem, known.dram) == (pmem, dram):
            return Judgement("legal", f"{pmem} of PMem with {dram} of DRAM is documented", known.source, known.date)
    listed = ", ".join(f"{one.pmem}+{one.dram}" for one in book.combination)
    return Judgement("unknown", f"no source documents {pmem} of PMem with {dram} of DRAM; documented: {listed}", *where)


def population(ledger: Ledger, pmem: int, dram: int, sizes: int, kind: str) -> Answer:
    """The judgement as an answer."""
    found = judge(pmem, dram, sizes, kind)
    figures = {
        "verdict": found.verdict,
        "reason": found.reason,
        "source": found.source,
        "date": found.date,
        "platform": rules().platform.name,
        "processors": rules().platform.processors,
        "provenance": "published",
    }
    lines = [
        f"{found.verdict}: {found.reason}.",
        f"Source: {found.source} ({found.date}). Platform: {rules().platform.name}.",
    ]
    return Answer("cost population", figures, lines, ledger)
