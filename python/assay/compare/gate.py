"""`--fail-if-slower`: a loss beyond a bound, for scripts. Only what is shown fails; what is not known is said."""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import Any

from assay.compare import judgement, words
from assay.compare.comparison import Comparison
from assay.compare.error import CompareError
from assay.compare.line import Line
from assay.error import DONE, MISSED, UNDECIDED

Json = dict[str, Any]

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
            worst = max(self.slower, key=lambda line: abs(line.evidence.median) if line.evidence else 0.0)
            more = f" and {len(self.slower) - 1} more" if len(self.slower) > 1 else ""
            return f"B is slower than A by more than {bound}: {worst.name}{more}."
        if self.undecided:
            some, total = len(self.undecided), len(self.undecided) + len(self.within)
            return f"Whether B is slower by more than {bound} is undecided for {some} of {total} comparisons."
        return f"B is not slower than A by more than {bound}: all {len(self.within)} comparisons show it."

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
    """Both proofs are asked for, as for any outcome: the corrected test and the interval."""
    if line.judgement is None:
        return "undecided"
    interval = line.judgement.evidence.interval
    worst, best = (interval.high, interval.low) if line.cost else (-interval.low, -interval.high)
    at = judgement.loss_of(bound, line.cost)
    if line.outcome == "different" and line.judgement.p_beyond <= level and best > at:
        return "slower"
    if line.judgement.p_within <= level and worst < at:
        return "within"
    return "undecided"
