"""The choice: the winner, the Pareto set, and why each other lost."""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Callable, Sequence
from dataclasses import dataclass

from assay.error import did_you_mean
from assay.price.answer import Answer, span
from assay.price.error import PriceError
from assay.price.ledger import Ledger
from assay.untyped import Json

from .candidate import Candidate, age_warning, snapshot
from .latency import Latencies
from .pareto import front, goals
from .plan import FleetPlan, Planner
from .volume import Volume, VolumePrices
from .workload import Workload

OBJECTIVES: dict[str, Callable[[FleetPlan], tuple[float, ...]]] = {
    "cost": goals,
    "throughput": lambda plan: (-plan.headroom, plan.usd_per_month),
    "latency": lambda plan: (goals(plan)[2], plan.usd_per_month),
    "throughput-per-dollar": lambda plan: (-plan.headroom / plan.usd_per_month, plan.usd_per_month),
}


@dataclass(frozen=True)
class Decision:
    """All plans, sorted out."""

    objective: str
    winner: FleetPlan | None
    pareto: Sequence[FleetPlan]
    losers: Sequence[tuple[FleetPlan, str, str]]

    @property
    def counts(self) -> dict[str, int]:
        """Losers by kind of reason."""
        return dict(Counter(kind for _, kind, _ in self.losers).most_common())


def decide(plans: Sequence[FleetPlan], objective: str, budget_usd: float | None = None) -> Decision:
    """Sorts plans out. Names are unique."""
    feasible = [plan for plan in plans if plan.feasible]
    within = [plan for plan in feasible if budget_usd is None or plan.usd_per_month <= budget_usd]
    kept, beaten = front(within)
    winner = min(kept, key=lambda plan: (*OBJECTIVES[objective](plan), plan.name), default=None)
    losers = [(plan, *_why(plan, winner, beaten, budget_usd)) for plan in plans if plan is not winner]
    return Decision(objective, winner, kept, losers)


def _why(
    plan: FleetPlan, winner: FleetPlan | None, beaten: dict[str, FleetPlan], budget: float | None
) -> tuple[str, str]:
    """Kind and sentence."""
    if not plan.feasible:
        kind = plan.binding.name if plan.headroom < 1 else "latency"
        return kind, f"{plan.failure()}, with {plan.instances} instances"
    if budget is not None and plan.usd_per_month > budget:
        return "budget", f"{plan.usd_per_month:.2f} USD a month, {budget:.2f} allowed"
    if plan.name in beaten:
        return "dominated", _dominated(plan, beaten[plan.name])
    return "not the objective", _trade(plan, winner)


def _dominated(plan: FleetPlan, by: FleetPlan) -> str:
    dearer = plan.usd_per_month / by.usd_per_month
    cost = f"{dearer:.2f} times the cost of" if dearer >= 1.005 else "the cost of"
    return f"dominated by {by.instances} x {by.name}: {cost} it, and neither more headroom nor less latency"


def _trade(plan: FleetPlan, winner: FleetPlan | None) -> str:
    if winner is None:
        return "no winner"
    ratio = plan.usd_per_month / winner.usd_per_month
    return f"in the Pareto set: {ratio:.2f} times the winner's cost for {plan.headroom:.2f} times the load"


class Chooser:
    """Plans every candidate for a workload."""

    def __init__(self, ledger: Ledger, workload: Workload, volumes: list[Volume], latencies: Latencies) -> None:
        self.ledger = ledger
        self.workload = workload
        self.volumes = volumes
        self.planner = Planner(workload, latencies)

    def plans(self, candidates: Sequence[Candidate], objective: str) -> list[FleetPlan]:
        """One plan per candidate, or one per candidate and volume where data lies on volumes."""
        if self.workload.durability != "volume":
            return [self._plan(candidate, objective) for candidate in candidates]
        found = []
        for volume in self.volumes:
            prices = VolumePrices.of(volume, self.ledger)
            here = [candidate for candidate in candidates if candidate.cloud == volume.cloud]
            found += [self._plan(candidate, objective, volume, prices) for candidate in here]
        return found

    def _plan(
        self, candidate: Candidate, objective: str, volume: Volume | None = None, prices: VolumePrices | None = None
    ) -> FleetPlan:
        fewest = self.planner.best(candidate, volume, prices)
        budget = self.workload.budget_usd_per_month
        if objective != "throughput" or budget is None or not fewest.feasible:
            return fewest
        return self._most(candidate, fewest, budget, volume, prices)

    def _most(
        self, candidate: Candidate, fewest: FleetPlan, budget: float, volume: Volume | None, prices: VolumePrices | None
    ) -> FleetPlan:
        """As many instances as the budget pays."""
        best, low, high = fewest, fewest.instances, self.workload.most_instances
        while low <= high:
            middle = (low + high) // 2
            plan = self.planner.plan(candidate, middle, volume, prices)
            if plan.usd_per_month <= budget and plan.feasible:
                best, low = plan, middle + 1
            else:
                high = middle - 1
        return best

    def unpriced(self, candidates: Sequence[Candidate]) -> list[str]:
        """Clouds whose volumes have no price."""
        if self.workload.durability != "volume":
            return []
        known = {volume.cloud for volume in self.volumes}
        return sorted({candidate.cloud for candidate in candidates} - known)


def choose(chooser: Chooser, candidates: Sequence[Candidate], objective: str, factor: float) -> Answer:
    """The decision as an answer."""
    if objective not in OBJECTIVES:
        raise PriceError(f"`{objective}` is no objective", did_you_mean(objective, OBJECTIVES))
    if objective == "throughput" and chooser.workload.budget_usd_per_month is None:
        hint = "add budget_usd_per_month to the workload, or take --objective throughput-per-dollar"
        raise PriceError("the highest throughput needs a budget", hint)
    plans = chooser.plans(candidates, objective)
    decision = decide(plans, objective, chooser.workload.budget_usd_per_month)
    _note(chooser, candidates)
    if decision.winner is not None and not decision.winner.latency_sure:
        chooser.ledger.warn("the latency objective lies within the twin's band: measure it before you rely on it")
    figures: Json = {
        "workload": chooser.workload.model_dump(mode="json") | {"provenance": "assumed", "source": "the workload file"},
        "objective": objective,
        "considered": len(plans),
        "feasible": sum(plan.feasible for plan in plans),
        "winner": None if decision.winner is None else _shown(decision, factor),
        "pareto": [plan.document() for plan in decision.pareto],
        "losers": [
            {
                "name": plan.name,
                "instances": plan.instances,
                "usd_per_month": plan.usd_per_month,
                "headroom": None if math.isinf(plan.headroom) else plan.headroom,
                "read_latency_ns": plan.read_latency_ns,
                "kind": kind,
                "why": why,
            }
            for plan, kind, why in decision.losers
        ],
        "losers_by_reason": decision.counts,
        "not_considered": chooser.unpriced(candidates),
    }
    return Answer("choose", figures, _lines(decision, figures), chooser.ledger, "docs/choose.md", _grid(decision))


def _note(chooser: Chooser, candidates: Sequence[Candidate]) -> None:
    ledger, work = chooser.ledger, chooser.workload
    if any(candidate.cloud != "own" for candidate in candidates):
        about = snapshot()
        old = age_warning(ledger.book)
        ledger.inputs.append(
            {
                "name": "instances of the catalog",
                "value": sum(candidate.cloud != "own" for candidate in candidates),
                "provenance": "datasheet",
                "source": f"{about.source}, {about.regions}; {about.note}; {about.licence}",
                "date": about.date,
            }
        )
        if old is not None:
            ledger.warn(old)
    if work.cycles_per_operation is None:
        ledger.warn("no cycles per operation are given: CPU limits nothing here")
    if work.durability == "local":
        ledger.warn("local data has one copy: it is gone when the instance stops")
    for name in chooser.unpriced(candidates):
        ledger.warn(f"volumes of {name} have no price in the book; its instances are not considered")


def _shown(decision: Decision, factor: float) -> Json:
    """The winner with its band, and how far its price may rise until another is the choice."""
    winner = decision.winner
    if winner is None:
        return {}
    ratios = [plan.usd_per_month / winner.usd_per_month for plan in decision.pareto if plan is not winner]
    others = [
        *ratios,
        *(p.usd_per_month / winner.usd_per_month for p, kind, _ in decision.losers if kind == "dominated"),
    ]
    nearest = min((ratio for ratio in others if ratio >= 1), default=None)
    usd = winner.usd_per_month
    band = {"factor": factor, "low": usd / factor, "high": usd * factor}
    return winner.document() | {"band": band, "cheapest_until_its_price_rises_by": nearest}


def _lines(decision: Decision, figures: Json) -> list[str]:
    head = f"{figures['feasible']} of {figures['considered']} serve {figures['workload']['name']}."
    winner = decision.winner
    if winner is None:
        reasons = ", ".join(f"{kind} ({number})" for kind, number in list(decision.counts.items())[:4])
        return [head, f"None can be chosen. What failed: {reasons}."]
    limit = winner.binding
    latency = winner.read_latency_ns
    known = f"a read takes {_spread(latency or 0, winner.latency.band)} on average{_tail(winner)} ({_origin(winner)})"
    read = "the latency of a read is not known" if latency is None else known if latency else "none waits for storage"
    room = "without limit" if math.isinf(winner.headroom) else f"{winner.headroom:.2f} times the load"
    band = span(figures["winner"]["band"], "USD")
    lost = ", ".join(f"{kind} ({number})" for kind, number in decision.counts.items())
    return [
        head,
        (
            f"By {decision.objective}: {winner.instances} x {winner.name} for {winner.usd_per_month:.2f} USD a month"
            f" ({band})."
        ),
        f"It serves {room}; its first limit: {limit.name}. {winner.hit_ratio:.0%} of reads come from memory; {read}.",
        f"Others lost by: {lost}." if lost else "There was no other to choose from.",
        "The Pareto set of cost, headroom and latency, and the nearest losers:",
    ]


def _origin(plan: FleetPlan) -> str:
    return f"{plan.latency.provenance}: {plan.latency.source}"


def _spread(value_ns: float, band: float | None) -> str:
    """Microseconds, with the ends of the band where there is one."""
    around = f" ({value_ns / (1 + band) / 1e3:.4g} to {value_ns * (1 + band) / 1e3:.4g})" if band else ""
    return f"{value_ns / 1e3:.4g} us{around}"


def _tail(plan: FleetPlan) -> str:
    if plan.read_p99_ns is None:
        return ""
    return f" and {_spread(plan.read_p99_ns, plan.latency.tail_band)} at p99 of those from storage"


def _grid(decision: Decision) -> list[list[str]]:
    rows = [["", "n", "USD/month", "headroom", "read us", "p99 us", "why"]]
    for plan in decision.pareto[:12]:
        why = "chosen" if plan is decision.winner else f"Pareto; first limit {plan.binding.name}"
        rows.append(_row(plan, why))
    losers = [(plan, why) for plan, kind, why in decision.losers if kind == "dominated"]
    losers = losers or [(plan, why) for plan, _, why in decision.losers]
    for plan, why in sorted(losers, key=lambda pair: pair[0].usd_per_month)[:8]:
        rows.append(_row(plan, why))
    return rows if len(rows) > 1 else []


def _row(plan: FleetPlan, why: str) -> list[str]:
    mean, p99 = ("-" if ns is None else f"{ns / 1e3:.4g}" for ns in (plan.read_latency_ns, plan.read_p99_ns))
    return [plan.name, str(plan.instances), f"{plan.usd_per_month:.2f}", f"{plan.headroom:.2f}", mean, p99, why]
