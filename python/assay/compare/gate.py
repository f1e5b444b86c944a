"""`--fail-if-slower`: a loss beyond a bound, for scripts. Only what is shown fails; what is not known is said."""

from __future__ import annotations

import math
import re
from dataclasses import dataclass

from assay.compare import bands, judgement, words
from assay.compare.comparison import Comparison
from assay.compare.error import CompareError
from assay.compare.line import Line
from assay.error import DONE, MISSED, UNDECIDED
from assay.untyped import Json

_SHARE = re.compile(r"\s*([0-9]+(?:\.[0-9]+)?)\s*(%?)\s*")


def share(text: str, option: str) -> float:
    """`5%` or `0.05` as 0.05."""
    found = _SHARE.fullmatch(text)
    value = float(found[1]) / (100 if found[2] else 1) if found else -1.0
    if not 0 < value < 1:
        raise CompareError(
            f"`{option} {text}` is not a share between 0 and 100 %", f"write {option} 5% or {option} 0.05"
        )
    return value


@dataclass(frozen=True)
class Gate:
    """How the comparisons stand to a bound."""

    bound: float
    slower: tuple[Line, ...]
    within: tuple[Line, ...]
    undecided: tuple[Line, ...]

    def exit_code(self, *, undecided_fails: bool) -> int:
        """6 where B is slower beyond the bound; 5 where that is undecided and shall fail; otherwise 0."""
        if self.slower:
            return MISSED
        return UNDECIDED if self.undecided and undecided_fails else DONE

    @property
    def sentence(self) -> str:
        """The result in words."""
        bound = words.percent(self.bound)
        if self.slower:
            worst = max(self.slower, key=lambda line: abs(math.log(line.ratio or 1.0)))
            more = f" and {len(self.slower) - 1} more" if len(self.slower) > 1 else ""
            return f"B is slower than A by more than {bound}: {worst.name}{more}.{self._by_what()}"
        if self.undecided:
            some, total = len(self.undecided), len(self.undecided) + len(self.within)
            return f"Whether B is slower by more than {bound} is undecided for {some} of {total} comparisons."
        return (
            f"B is not slower than A by more than {bound}: all {len(self.within)} comparisons show it.{self._by_what()}"
        )

    def _by_what(self) -> str:
        modelled = any(line.judgement is None for line in (*self.slower, *self.within))
        return " Modelled: what the bands leave open shows it, and no test." if modelled else ""

    def document(self) -> Json:
        """As `--json` prints it."""
        groups = {"slower": self.slower, "within": self.within, "undecided": self.undecided}
        names = {name: [line.name for line in lines] for name, lines in groups.items()}
        return {"bound": self.bound, "sentence": self.sentence, **names}


def gate(comparison: Comparison, bound: float) -> Gate:
    """Sorts the comparisons by what is shown about a loss beyond `bound`."""
    groups: dict[str, list[Line]] = {"slower": [], "within": [], "undecided": []}
    for line in comparison.lines:
        groups[_standing(line, bound, comparison.rules.level)].append(line)
    return Gate(bound, *(tuple(groups[name]) for name in ("slower", "within", "undecided")))


def _standing(line: Line, bound: float, level: float) -> str:
    """Both proofs are asked for, as for any outcome: the corrected test and the interval.

    Of figures that a model computed on both sides no test speaks, and their bands do.
    """
    at = judgement.loss_of(bound, line.cost)
    if line.judgement is None:
        return _by_bands(line, at)
    worst, best = _losses(line, (line.judgement.evidence.interval.low, line.judgement.evidence.interval.high))
    if line.outcome == "different" and line.judgement.p_beyond <= level and best > at:
        return "slower"
    if line.judgement.p_within <= level and worst < at:
        return "within"
    return "undecided"


def _by_bands(line: Line, at: float) -> str:
    """What holds of every ratio that the bands leave open."""
    found = bands.of(line) if line.reason in bands.DECIDING else None
    if found is None or found[0] <= 0:
        return "undecided"
    worst, best = _losses(line, (math.log(found[0]), math.log(found[1])))
    return "slower" if best > at else "within" if worst < at else "undecided"


def _losses(line: Line, logs: tuple[float, float]) -> tuple[float, float]:
    """The largest and the smallest loss between the logarithms of two ratios."""
    low, high = logs
    return (high, low) if line.cost else (-low, -high)
