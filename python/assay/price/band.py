"""How far a result moves when prices move: every result of a cost carries it."""

from __future__ import annotations

import itertools
import math
from collections.abc import Callable, Mapping
from decimal import Decimal
from typing import Any

from assay.price.error import PriceError

Prices = Mapping[str, Decimal]


def check_factor(factor: float) -> float:
    """A factor of at least one: 2 means from half of a price to twice it."""
    if not math.isfinite(factor) or factor < 1:
        raise PriceError(f"a band of {factor:g} is no band", "give a factor of at least 1: 2 is from half to twice")
    return factor


def swing(compute: Callable[[Prices], float], prices: Prices, factor: float) -> dict[str, Any]:
    """The result with every price between its `factor`th part and its `factor`-fold.

    `low` and `high` are the worst over all prices at once (each moves on its own, so a ratio of two prices moves by
    the square); `by_price` moves one price alone. Exact where the result rises or falls with each price throughout,
    as sums and ratios do.
    """
    check_factor(factor)
    middle = compute(prices)
    ends = (Decimal(1) / Decimal(str(factor)), Decimal(str(factor)))
    alone = {name: [compute({**prices, name: prices[name] * end}) for end in ends] for name in prices}
    rising = {name: found[1] >= found[0] for name, found in alone.items()}
    extremes = [
        compute({name: prices[name] * ends[int(rising[name] == up)] for name in prices}) for up in (False, True)
    ]
    spans = {name: {"low": min(found), "high": max(found)} for name, found in alone.items()}
    everything = [middle, *extremes, *itertools.chain(*alone.values())]
    return {"factor": factor, "low": min(everything), "high": max(everything), "by_price": spans}
