"""A rule: where it comes from, what it costs, and how it is looked for in records."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

from assay.advise.advice import Advice, Outcome, RuleFinding
from assay.advise.facts import RuleFacts


@dataclass(frozen=True)
class Rule:
    """`find` looks for evidence; none means that the records hold none, and then nothing is advised."""

    id: str
    title: str
    source: str
    costs: str
    check: str
    wants: str
    find: Callable[[RuleFacts], RuleFinding | None]

    def judged(self, facts: RuleFacts) -> Advice:
        """What the rule says of these records."""
        found = self.find(facts)
        if found is None:
            says = "These records hold no two runs that would show it."
            return self._advice("no evidence", RuleFinding(says, ()))
        outcome = found.outcome or (found.gain.outcome if found.gain else "depends")
        if found.gain is not None and found.gain.status == "invalid":
            outcome = "no evidence"
            found = RuleFinding(f"A record behind this is invalid. {found.says}", found.evidence, found.gain)
        return self._advice(outcome, found)

    def _advice(self, outcome: Outcome, found: RuleFinding) -> Advice:
        return Advice(
            rule=self.id,
            title=self.title,
            outcome=outcome,
            says=found.says,
            gain=found.gain,
            evidence=found.evidence,
            source=self.source,
            costs=self.costs,
            check=self.check,
            wants=self.wants,
            trial=found.trial,
        )
