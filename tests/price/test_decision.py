"""The choice among plans, figure by figure: who wins, why others lose, and what is shown of both."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import pytest
from assay.price.book import open_book
from assay.price.choose import decision as decisions
from assay.price.choose.candidate import Candidate, snapshot
from assay.price.choose.decision import Chooser, choose, decide
from assay.price.choose.latency import LatencyFigure
from assay.price.choose.plan import FleetPlan, Limit
from assay.price.choose.volume import catalog_volumes
from assay.price.ledger import Ledger
from assay.untyped import Json

from price.test_choose import machine, workload
from price.test_plan import KNOWN, Noting, close


def fleet(name: str, usd: float, headroom: float = 2.0, latency: float | None = 100.0, **changes: Any) -> FleetPlan:
    limits = (Limit("cores", 1.0, headroom, "cores"),)
    figure = LatencyFigure(latency, "modelled", "a twin")
    return replace(FleetPlan(machine(name), 1, usd, None, 0, limits, 0.0, latency, figure, None), **changes)


def reasons(plans: list[FleetPlan], budget: float | None = None) -> dict[str, tuple[str, str]]:
    return {plan.name: (kind, why) for plan, kind, why in decide(plans, "cost", budget).losers}


def test_each_loser_has_its_reason() -> None:
    plans = [
        fleet("best", 100.0),
        fleet("short", 10.0, 0.5),
        fleet("slow", 10.0, 1.0, latency_bound_ns=50.0),
        fleet("slower", 10.0, 1.5, latency_bound_ns=50.0),
        fleet("rich", 200.0, 4.0),
        fleet("dear", 201.0, 5.0),
        fleet("beaten", 150.0),
    ]
    assert reasons(plans, 200.0) == {
        "short": ("cores", "cores: 1 cores needed, 0.5 cores there, with 1 instances"),
        "slow": ("latency", "latency: 0.1 us on average, 0.05 us wanted, with 1 instances"),
        "slower": ("latency", "latency: 0.1 us on average, 0.05 us wanted, with 1 instances"),
        "rich": ("not the objective", "in the Pareto set: 2.00 times the winner's cost for 4.00 times the load"),
        "dear": ("budget", "201.00 USD a month, 200.00 allowed"),
        "beaten": (
            "dominated",
            "dominated by 1 x best: 1.50 times the cost of it, and neither more headroom nor less latency",
        ),
    }
    assert reasons(plans)["dear"][0] == "not the objective", "nobody set a budget"


@pytest.mark.parametrize(
    ("usd", "cost"),
    [(100.4, "the cost of it"), (100.5, "1.00 times the cost of it"), (150.0, "1.50 times the cost of it")],
)
def test_a_cost_that_rounds_to_the_same_is_the_same(usd: float, cost: str) -> None:
    why = reasons([fleet("best", 100.0), fleet("other", usd, 1.5)])["other"][1]
    assert why.startswith(f"dominated by 1 x best: {cost}, and")


def test_equals_stand_together_and_the_first_by_name_is_chosen() -> None:
    decision = decide([fleet("b", 100.0), fleet("a", 100.0)], "cost")
    assert [plan.name for plan in decision.pareto] == ["a", "b"]
    assert decision.winner is not None
    assert decision.winner.name == "a"
    assert decide([], "cost").winner is None


def test_objectives_rank_by_what_they_say_and_then_by_cost() -> None:
    plans = [fleet("cheap", 100.0, 2.0), fleet("large", 300.0, 9.0), fleet("swift", 400.0, 2.0, 10.0)]
    chosen = {name: decide(plans, name).winner for name in decisions.OBJECTIVES}
    assert {name: plan and plan.name for name, plan in chosen.items()} == {
        "cost": "cheap",
        "throughput": "large",
        "latency": "swift",
        "throughput-per-dollar": "large",
    }


def shown(plans: list[FleetPlan], objective: str = "cost") -> Json:
    return decisions._shown(decide(plans, objective), 2.0)


@pytest.mark.parametrize(
    ("others", "nearest"),
    [
        ([], None),
        ([fleet("rich", 150.0, 4.0)], 1.5),
        ([fleet("beaten", 120.0), fleet("rich", 150.0, 4.0)], 1.2),
        ([fleet("beaten", 180.0), fleet("rich", 150.0, 4.0)], 1.5),
        ([fleet("same", 100.0, 1.5)], 1.0),
        # What cannot serve is no other choice, however near.
        ([fleet("short", 110.0, 0.5)], None),
    ],
)
def test_how_far_a_price_may_rise(others: list[FleetPlan], nearest: float | None) -> None:
    found = shown([fleet("best", 100.0), *others])
    expected = None if nearest is None else close(nearest)
    assert found["cheapest_until_its_price_rises_by"] == expected
    assert found["band"] == {"factor": 2.0, "low": 50.0, "high": 200.0}
    assert found["name"] == "best"


def test_a_winner_that_is_not_the_cheapest_has_only_dearer_ones_near() -> None:
    plans = [fleet("cheap", 100.0), fleet("large", 200.0, 4.0), fleet("beaten", 260.0, 3.0), fleet("near", 190.0, 3.0)]
    found = shown(plans, "throughput")
    assert (found["name"], found["cheapest_until_its_price_rises_by"]) == ("large", close(1.3))
    assert shown([]) == {}


def grid(plans: list[FleetPlan]) -> list[list[str]]:
    return decisions._grid(decide(plans, "cost"))


def test_the_table_shows_twelve_of_the_pareto_set_and_eight_that_are_beaten() -> None:
    kept = [fleet(f"k{number:02}", 100.0 + number, 2.0 + number) for number in range(14)]
    beaten = [fleet(f"b{number}", 200.0 - number) for number in range(10)]
    rows = grid([*kept, *beaten, fleet("short", 1.0, 0.5)])
    assert [row[0] for row in rows[1:13]] == [f"k{number:02}" for number in range(12)]
    assert [row[0] for row in rows[13:]] == [f"b{number}" for number in range(9, 1, -1)], "the cheapest first"
    assert rows[1] == ["k00", "1", "100.00", "2.00", "0.1", "-", "chosen"]
    assert rows[2] == ["k01", "1", "101.00", "3.00", "0.1", "-", "Pareto; first limit cores"]
    assert rows[13][-1].startswith("dominated by")


def test_where_nobody_is_beaten_others_are_shown() -> None:
    rows = grid([fleet("best", 100.0), fleet("short", 1.0, 0.5, None)])
    assert [row[0] for row in rows[1:]] == ["best", "short"]
    assert rows[2][4:6] == ["-", "-"]
    assert grid([]) == []
    assert len(grid([fleet("best", 100.0)])) == 2


def answer(work: Json, candidates: list[Candidate], objective: str = "cost", latencies: Noting | None = None) -> Any:
    chooser = Chooser(Ledger(open_book()), workload(**work), catalog_volumes(), latencies or Noting())
    return choose(chooser, candidates, objective, 2.0)


CLOUDY: Json = {"memory_bytes": 0.0, "cloud": "aws"}


def test_the_sentences_of_a_choice() -> None:
    candidates = [machine("best", **CLOUDY), machine("dear", 300.0, **CLOUDY)]
    found = answer({"reads_per_s": 50e3}, candidates)
    assert found.lines == [
        "2 of 2 serve workload.",
        "By cost: 1 x best for 100.00 USD a month (50 to 200 USD with prices from 1/2 to 2 times).",
        (
            "It serves 1.00 times the load; its first limit: local storage. 0% of reads come from memory; a read takes"
            " 0.1 us (0.08 to 0.125) on average and 0.2 us (0.1333 to 0.3) at p99 of those from storage"
            " (modelled: a twin)."
        ),
        "Others lost by: dominated (1).",
        "The Pareto set of cost, headroom and latency, and the nearest losers:",
    ]
    assert found.figures["workload"]["provenance"] == "assumed"
    assert (found.figures["considered"], found.figures["feasible"]) == (2, 2)
    assert found.figures["losers"][0]["name"] == "dear"


def test_a_choice_of_one() -> None:
    lines = answer({"reads_per_s": 50e3}, [machine(memory_bytes=0.0)]).lines
    assert lines[3] == "There was no other to choose from."
    unknown = answer({}, [machine(memory_bytes=0.0)], latencies=Noting(LatencyFigure(None, "assumed", "nobody"))).lines
    assert unknown[2].endswith("0% of reads come from memory; the latency of a read is not known.")
    served = answer({"working_set": 1e9}, [machine()]).lines
    assert served[2].endswith("100% of reads come from memory; none waits for storage.")
    plain = answer({}, [machine(memory_bytes=0.0)], latencies=Noting(replace(KNOWN, p99_ns=None, band=None))).lines
    assert "a read takes 0.1 us on average (modelled: a twin)" in plain[2]


def test_where_none_serves_four_reasons_are_said() -> None:
    losing = [
        *(machine(f"a{number}", local_bytes=1.0) for number in range(5)),
        *(machine(f"b{number}", read_iops=None) for number in range(4)),
        *(machine(f"c{number}", write_iops=None) for number in range(3)),
        *(machine(f"d{number}", cores=1e-9) for number in range(2)),
        machine("e", memory_bytes=0.5),
    ]
    cycles = {"cycles_per_operation": 1000, "clock": 1e9}
    work = {"writes_per_s": 50.0, "memory": 1.0, "most_instances": 2} | cycles
    found = answer(work, losing)
    assert found.lines == [
        "0 of 15 serve workload.",
        (
            "None can be chosen. What failed: local storage (5), read IOPS of local storage (4),"
            " write IOPS of local storage (3), cores (2)."
        ),
    ]
    assert found.figures["winner"] is None


SURE = "the latency objective lies within the twin's band: measure it before you rely on it"


@pytest.mark.parametrize(("bound", "warned"), [(110e-9, True), (130e-9, False)])
def test_an_objective_within_the_band_warns(bound: float, warned: bool) -> None:
    found = answer({"latency": {"read": bound}}, [machine(memory_bytes=0.0)])
    assert (SURE in found.ledger.warnings) == warned
    assert SURE not in answer({"latency": {"read": 1e-9}}, [machine(memory_bytes=0.0)]).ledger.warnings


def test_what_a_choice_takes_for_granted_is_said() -> None:
    found = answer({}, [machine("own"), machine("a", cloud="aws"), machine("b", cloud="aws")])
    catalog = [one for one in found.ledger.inputs if one["name"] == "instances of the catalog"]
    assert [(one["value"], one["provenance"]) for one in catalog] == [(2, "datasheet")]
    said = ["no cycles per operation are given", "local data has one copy"]
    assert [any(line.startswith(word) for line in found.ledger.warnings) for word in said] == [True, True]
    work = {"cycles_per_operation": 1.0, "clock": 1e9, "durability": "replicated", "copies": 2}
    quiet = answer(work, [machine("own")])
    assert (quiet.ledger.inputs, quiet.ledger.warnings) == ([], [])


def test_prices_of_instances_that_are_old_warn() -> None:
    def warned(day: str) -> bool:
        chooser = Chooser(Ledger(open_book(as_of=day)), workload(), [], Noting())
        choose(chooser, [machine(cloud="aws")], "cost", 2.0)
        return any("the prices of instances are" in line for line in chooser.ledger.warnings)

    first = snapshot().date
    assert (warned(first), warned("2099-01-01")) == (False, True)


def test_volumes_go_with_instances_of_their_cloud() -> None:
    candidates = [machine("a", cloud="aws"), machine("g", cloud="gcp"), machine("o")]
    chooser = Chooser(Ledger(open_book()), workload(durability="volume"), catalog_volumes(), Noting())
    names = sorted(f"a + {volume.name}" for volume in catalog_volumes() if volume.cloud == "aws")
    assert sorted(plan.name for plan in chooser.plans(candidates, "cost")) == names
    assert chooser.unpriced(candidates) == ["gcp", "own"]
    local = Chooser(Ledger(open_book()), workload(), catalog_volumes(), Noting())
    assert [plan.name for plan in local.plans(candidates, "cost")] == ["a", "g", "o"]
    assert local.unpriced(candidates) == []


@pytest.mark.parametrize("paid", [*range(2, 40), 63, 64, 65])
def test_a_budget_buys_all_that_it_pays_for(paid: int) -> None:
    """At least two are needed, and 64 are the most."""
    work = workload(capacity="2TB", budget_usd_per_month=100.0 * paid)
    (plan,) = Chooser(Ledger(open_book()), work, [], Noting()).plans([machine()], "throughput")
    assert plan.instances == min(paid, 64)


def test_a_budget_below_the_fewest_buys_none_and_counts_for_throughput_alone() -> None:
    def bought(objective: str, **changes: Any) -> int:
        work = workload(**({"capacity": "2TB", "budget_usd_per_month": 1000.0} | changes))
        (plan,) = Chooser(Ledger(open_book()), work, [], Noting()).plans([machine()], objective)
        return plan.instances

    assert bought("throughput", budget_usd_per_month=150.0) == 2
    assert bought("cost") == 2
    assert bought("throughput", budget_usd_per_month=None) == 2
    assert bought("throughput") == 10
    assert bought("throughput", capacity="9TB", most_instances=4) == 4, "four do not serve it"
