"""How the runs of both sides lie in time: only lots inside pairs take drift out of a comparison."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import pairwise

from assay.compare.pair import Pair

# An order this lopsided was hardly drawn by lot.
_LOPSIDED = 0.01


@dataclass(frozen=True)
class Design:
    """`kind` is `paired` (drawn by lot), `interleaved`, `fixed-order`, `apart` or `single`."""

    kind: str
    a_first: int
    b_first: int

    @property
    def takes_out_drift(self) -> bool:
        """Whether a drift of the machine falls on both sides alike."""
        return self.kind in {"paired", "interleaved"}

    @property
    def said(self) -> str:
        """In words."""
        orders = f"A first {self.a_first} times, B first {self.b_first} times"
        words = {
            "paired": f"adjacent pairs, the order in each drawn by lot ({orders})",
            "interleaved": f"the sides took turns ({orders})",
            "fixed-order": f"the sides took turns, but always in the same order ({orders})",
            "apart": "the sides were not interleaved: one ran before the other",
            "single": "a single pair",
        }
        return words[self.kind]


def of(pairs: Sequence[Pair], *, by_lot: bool) -> Design:
    """The design of pairs in time order; `by_lot` where the plan says that the order was drawn."""
    a_first = sum(1 for pair in pairs if pair.first == "A")
    return Design(_kind(pairs, a_first, by_lot), a_first, len(pairs) - a_first)


def _kind(pairs: Sequence[Pair], a_first: int, by_lot: bool) -> str:
    if len(pairs) < 2:
        return "single"
    spans = sorted(pair.span for pair in pairs)
    if any(earlier[1] > later[0] for earlier, later in pairwise(spans)):
        return "apart"
    if by_lot:
        return "paired"
    return "interleaved" if _could_be_lots(a_first, len(pairs)) else "fixed-order"


def _could_be_lots(a_first: int, count: int) -> bool:
    from scipy import stats

    return 0 < a_first < count and float(stats.binomtest(a_first, count).pvalue) >= _LOPSIDED
