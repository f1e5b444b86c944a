"""Gray's five-minute rule: how long a page must rest before a slower tier is cheaper."""

from __future__ import annotations

import math

from assay.price.error import PriceError


def interval_s(usd_per_access_per_s: float, page_bytes: float, usd_per_byte: float) -> float:
    """The break-even interval, seconds. Prices must be of the same kind: purchase, or rent for the same time."""
    for name, amount in (("access", usd_per_access_per_s), ("page", page_bytes), ("memory", usd_per_byte)):
        if not (math.isfinite(amount) and amount > 0):
            raise PriceError(f"a break-even needs {name} above zero, not {amount:g}", "correct that number")
    return usd_per_access_per_s / (page_bytes * usd_per_byte)
