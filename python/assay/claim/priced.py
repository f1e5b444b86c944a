"""Claims about prices, computed from the ingredients in the price book."""

from __future__ import annotations

import functools
from collections.abc import Callable
from decimal import Decimal

from assay.claim.model import Claim
from assay.claim.value import ClaimValue
from assay.error import FAILED, AssayError
from assay.price.book import open_book
from assay.price.budget import budget
from assay.price.holding import parse
from assay.price.jungle import CPU, DRAM, DRAM_MODULES, STUDY, hardware_usd, table1
from assay.price.ledger import Ledger
from assay.untyped import Json


def value(claim: Claim) -> ClaimValue | str:
    """What the price book gives, in the unit that the claim has too; a sentence where it gives nothing."""
    word, *rest = claim.price.split()
    known: dict[str, Callable[..., float | None]] = {"jungle-table1": _table1, "budget": _budget, "unit": _unit}
    if word not in known:
        raise AssayError(f"claim {claim.id}: no price is called `{word}`", hint="correct catalog/claims", code=FAILED)
    found = known[word](*rest)
    if found is None:
        return f"no source gives it: `{claim.price}`"
    return ClaimValue(found)


def _table1(configuration: str, *basis: str) -> float | None:
    return next(
        (
            float(row["usd_per_gb"])
            for row in _rows_of_table1()
            if row["configuration"] == configuration and row["basis"] == " ".join(basis)
        ),
        None,
    )


@functools.cache
def _rows_of_table1() -> list[Json]:
    rows: list[Json] = table1(_ledger(), 1.0).figures["rows"]
    return rows


def _budget(item: str, figure: str) -> float | None:
    """What 2000 US dollars buy of an item, at the prices of the end of 2019."""
    row = next((one for one in _rows_of_budget() if one["item"] == item), None)
    found = row.get(figure) if row else None
    return None if found is None else float(found)


@functools.cache
def _rows_of_budget() -> list[Json]:
    rows: list[Json] = budget(_ledger(), 2000.0, 1.0, "2019-12").figures["rows"]
    return rows


def _unit(item: str, unit: str, study: str) -> float | None:
    """Price of an item by the unit, as a study had it."""
    return float(_ledger().usd(item, unit, study=study))


def hardware(storage: str, threads_busy: float) -> float:
    """US dollars at the bottom of Huang et al.'s R: storage such as `p4800x-375g*1`, six modules of DRAM, threads."""
    ledger, held = _ledger(), parse(storage)
    usd = {item: ledger.usd(item, study=STUDY) for item in (held.item, DRAM, CPU)}
    threads = ledger.fact(ledger.book.part(CPU), "threads")
    used = Decimal(str(threads_busy))
    return float(hardware_usd(usd[held.item] * held.count, usd[DRAM] * DRAM_MODULES, usd[CPU], used, threads))


@functools.cache
def _ledger() -> Ledger:
    return Ledger(open_book())
