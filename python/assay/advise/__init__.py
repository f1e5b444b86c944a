"""Advice: rules from published studies, each tried against the records that a user already has."""

from __future__ import annotations

from pathlib import Path

from assay.advise.advice import Advice, Gain, Outcome
from assay.advise.facts import RuleFacts, read
from assay.advise.rule import Rule

__all__ = ["Advice", "Facts", "Gain", "Outcome", "Rule", "of", "of_folder"]

_RANK = {"advised": 0, "depends": 1, "undecided": 2, "no gain here": 3, "no evidence": 4}


def of(facts: RuleFacts) -> list[Advice]:
    """What every rule says of these records: what is advised first, the largest gain first."""
    from assay.advise.rules import RULES

    return sorted((rule.judged(facts) for rule in RULES), key=_order)


def of_folder(directory: Path) -> list[Advice]:
    """Advice out of a result folder. Raises `ReportError` where it holds nothing that could be read."""
    return of(read(directory))


def _order(one: Advice) -> tuple[int, float]:
    return _RANK[one.outcome], -(one.gain.ratio if one.gain else 0.0)
