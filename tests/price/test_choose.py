"""The choice: feasibility with its limit, the Pareto set, and a reason for every loser."""

from __future__ import annotations

import json
import math
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from assay.price.book import open_book
from assay.price.choose.candidate import Candidate, cloud, own
from assay.price.choose.decision import OBJECTIVES, Chooser, choose, decide
from assay.price.choose.latency import LOCAL, STAND_IN, Ask, CatalogLatencies, FileLatencies, loaded_ns
from assay.price.choose.pareto import dominates, front, goals
from assay.price.choose.plan import FleetPlan, Planner
from assay.price.choose.volume import Need, VolumePrices, catalog_volumes, count, usd_per_month
from assay.price.choose.workload import Workload
from assay.price.error import PriceError
from assay.price.ledger import Ledger
from assay.price.reading import parse
from hypothesis import given
from hypothesis import strategies as some

Write = Callable[[str, str], Path]
GIB = 2**30
VOLUMES = catalog_volumes()
LATENCIES = CatalogLatencies(VOLUMES)


def workload(**changes: Any) -> Workload:
    fields = {"capacity": "1TB", "reads_per_s": "100000/s", "durability": "local", "fill": 1.0, "utilisation": 1.0}
    return Workload.model_validate(fields | changes)


def machine(name: str = "m", usd: float = 100.0, **changes: Any) -> Candidate:
    facts: dict[str, Any] = {
        "cores": 8.0,
        "memory_bytes": 64.0 * GIB,
        "local_bytes": 1e12,
        "read_iops": 100e3,
        "write_iops": 50e3,
        "volume_iops": 40e3,
        "volume_bytes_per_s": 1e9,
        "network_bytes_per_s": 1e9,
    }
    facts |= changes
    facts |= {"nvme": True, "provenance": "assumed", "source": "test", "date": "2026"}
    return Candidate(name, facts.pop("cloud", "own"), usd, **facts)


def plan(work: Workload, candidate: Candidate) -> FleetPlan:
    return Planner(work, LATENCIES).best(candidate)


def test_the_fewest_instances_and_the_limit_that_binds() -> None:
    found = plan(workload(working_set="1TB"), machine(memory_bytes=0.0))
    assert (found.instances, found.feasible) == (1, True)
    twice = plan(workload(reads_per_s="150000/s"), machine(memory_bytes=0.0))
    assert twice.instances == 2
    assert twice.binding.name == "read IOPS of local storage"
    assert twice.headroom == pytest.approx(200e3 / 150e3)


def test_a_write_spends_its_cpu_on_every_copy() -> None:
    work = workload(writes_per_s="50000/s", cycles_per_operation=10_000, clock=1e9, durability="replicated", copies=3)
    cores = next(limit for limit in plan(work, machine()).limits if limit.name == "cores")
    assert cores.demand == pytest.approx((100e3 + 3 * 50e3) * 10_000 / 1e9)


def test_what_is_missing_is_said_in_units_of_people() -> None:
    lost = plan(workload(capacity="4TB", most_instances=2), machine())
    assert lost.failure().startswith("local storage: 4 TB needed, 2 TB there")


def test_memory_serves_what_fits() -> None:
    # Half of the working set fits into the memory that is left, so half of the reads reach the drives.
    found = plan(workload(working_set=64 * GIB, memory=32 * GIB, reads_per_s=200e3), machine())
    assert found.hit_ratio == pytest.approx(0.5)
    assert found.instances == 1


def test_a_measured_curve_of_hits_is_interpolated_and_never_extrapolated() -> None:
    points = [{"memory": 10, "hit_ratio": 0.5}, {"memory": 20, "hit_ratio": 0.9}]
    found = workload(hits=points)
    assert [found.hit_ratio(size) for size in (0, 5, 10, 15, 20, 1e12)] == pytest.approx([0, 0.25, 0.5, 0.7, 0.9, 0.9])


def test_large_pages_count_as_several_io() -> None:
    found = plan(workload(page="16KiB", working_set="1TB"), machine(memory_bytes=0.0))
    assert found.instances == 4


def test_copies_need_room_network_and_as_many_instances() -> None:
    work = workload(durability="replicated", copies=3, writes_per_s=10e3, reads_per_s=1.0)
    found = plan(work, machine())
    assert found.instances >= 3
    network = next(limit for limit in found.limits if limit.name == "network for copies")
    assert network.demand == pytest.approx(10e3 * 4096 * 2)
    silent = plan(work, machine(network_bytes_per_s=None))
    assert not silent.feasible
    assert silent.failure() == "no source states its network for copies"


def test_cpu_limits_where_cycles_are_given() -> None:
    found = plan(workload(cycles_per_operation=240_000, clock=3e9, working_set=GIB), machine())
    assert found.instances == 1
    assert found.binding.name == "cores"
    assert found.headroom == pytest.approx(1.0)
    assert plan(workload(cycles_per_operation=240_001, clock=3e9, working_set=GIB), machine()).instances == 2


def test_memory_that_an_instance_lacks_fails_and_does_not_bind_otherwise() -> None:
    found = plan(workload(memory=65 * GIB), machine())
    assert "memory of an instance" in found.failure()
    assert plan(workload(memory=64 * GIB), machine()).binding.name != "memory of an instance"


def test_iops_that_nobody_states_are_not_assumed() -> None:
    found = plan(workload(working_set="1TB"), machine(read_iops=None, memory_bytes=0.0))
    assert not found.feasible
    assert found.failure() == "no source states its read IOPS of local storage"


def test_a_latency_objective() -> None:
    idle = LATENCIES.read(LOCAL, 4096).value_ns
    assert idle is not None
    light = {"working_set": "1TB", "reads_per_s": 10e3}
    cloudy = machine(memory_bytes=0.0, cloud="aws")
    assert plan(workload(latency={"read": "1ms"}, **light), cloudy).feasible
    failed = plan(workload(latency={"read": "50us"}, most_instances=2, **light), cloudy)
    assert not failed.feasible
    assert "50 us wanted" in failed.failure()
    unknown = plan(workload(latency={"read": "1ms"}, **light), machine(memory_bytes=0.0))
    assert "no source states the latency" in unknown.failure()
    assert loaded_ns(idle, 0.5) == pytest.approx(2 * idle)


def test_latency_of_the_catalog_is_labelled_as_a_stand_in() -> None:
    found = LATENCIES.read(LOCAL, 4096)
    assert found.provenance == "assumed"
    assert "taken for" in found.source
    assert STAND_IN == "p4500-4t"
    assert LATENCIES.read("gp3", 4096).value_ns is None
    assert LATENCIES.read("io2", 4096).provenance == "datasheet"


def test_a_prediction_wins_over_the_catalog(write: Write) -> None:
    text = json.dumps({"local": {"latency_ns": {"mean": 77000}, "provenance": "modelled"}})
    found = FileLatencies(write("l.json", text), LATENCIES)
    local = found.under(Ask(LOCAL, "", False, 4096, 0.5, 1.0))
    assert (local.value_ns, local.provenance) == (2 * 77000, "modelled")
    assert found.under(Ask("io2", "", False, 4096, 0.0, 1.0)).provenance == "datasheet"


@pytest.mark.parametrize("figure", ["", "{}", '{"mean_ns": 0, "provenance": "x"}', '{"mean_ns": 5}', "3"])
def test_a_file_that_holds_no_latencies_is_a_sentence(write: Write, figure: str) -> None:
    with pytest.raises(PriceError, match="is no file of latencies"):
        FileLatencies(write("l.json", f'{{"local": {figure}}}'), LATENCIES)


def test_volumes_cost_what_the_list_says(ledger: Ledger) -> None:
    gp3, io2 = VOLUMES
    need = Need(100 * GIB, 5000, 225 * 2**20)
    usd = [usd_per_month(volume, VolumePrices.of(volume, ledger), need) for volume in (gp3, io2)]
    assert usd == pytest.approx([100 * 0.08 + 2000 * 0.005 + 100 * 0.04, 100 * 0.125 + 5000 * 0.065])
    assert count(gp3, Need(1, 160_000, 1)) == 2
    assert count(gp3, Need(65 * 2**40, 1, 1)) == 2


def test_more_instances_are_taken_where_they_spare_io_to_volumes(ledger: Ledger) -> None:
    io2 = VOLUMES[1]
    candidate = machine(cloud="aws", usd=10.0)
    work = workload(durability="volume", working_set=256 * GIB, reads_per_s=30e3)
    planner = Planner(work, LATENCIES)
    prices = VolumePrices.of(io2, ledger)
    best = planner.best(candidate, io2, prices)
    every = [planner.plan(candidate, number, io2, prices) for number in range(1, 65)]
    cheapest = min((one for one in every if one.feasible), key=lambda one: one.usd_per_month)
    assert best.usd_per_month == cheapest.usd_per_month
    assert best.instances > next(one.instances for one in every if one.feasible)


machines = some.builds(
    machine,
    usd=some.floats(1, 1e4),
    memory_bytes=some.floats(0, 1e12),
    local_bytes=some.floats(1e9, 1e13),
    read_iops=some.floats(1e3, 1e7),
    write_iops=some.floats(1e3, 1e7),
    cores=some.floats(1, 200),
)
workloads = some.builds(
    workload,
    working_set=some.floats(1e6, 1e12),
    reads_per_s=some.floats(1, 1e6),
    writes_per_s=some.floats(0, 1e6),
    cycles_per_operation=some.just(50e3),
    clock=some.just(3e9),
)


@given(workloads, machines)
def test_no_smaller_number_serves(work: Workload, candidate: Candidate) -> None:
    planner = Planner(work, LATENCIES)
    found = planner.best(candidate)
    if found.feasible:
        assert all(not planner.plan(candidate, number).feasible for number in range(1, found.instances))
    else:
        assert found.instances == work.most_instances
        assert found.failure()


@given(workloads, some.lists(machines, min_size=1, max_size=12))
def test_the_pareto_set_is_what_nobody_beats_and_every_loser_has_a_reason(
    work: Workload, candidates: list[Candidate]
) -> None:
    named = [machine(f"m{i}", **_facts(one)) for i, one in enumerate(candidates)]
    plans = [plan(work, one) for one in named]
    decision = decide(plans, "cost")
    feasible = [one for one in plans if one.feasible]
    assert set(map(id, decision.pareto)) == {
        id(one) for one in feasible if not any(dominates(other, one) for other in feasible)
    }
    assert len(decision.losers) == len(plans) - (decision.winner is not None)
    assert all(why for _, _, why in decision.losers)
    if decision.winner is not None:
        assert decision.winner.usd_per_month == min(one.usd_per_month for one in feasible)


def _facts(one: Candidate) -> dict[str, Any]:
    names = ("memory_bytes", "local_bytes", "read_iops", "write_iops", "cores")
    return {"usd": one.usd_per_month} | {name: getattr(one, name) for name in names}


@given(some.lists(machines, min_size=2, max_size=8))
def test_dominance_is_an_order(candidates: list[Candidate]) -> None:
    plans = [plan(workload(), one) for one in candidates]
    for one in plans:
        assert not dominates(one, one)
        for other in plans:
            assert not (dominates(one, other) and dominates(other, one))


def test_a_loser_is_named_with_the_one_that_beats_it() -> None:
    plans = [plan(workload(), machine("cheap", 10.0)), plan(workload(), machine("dear", 25.0))]
    kept, beaten = front(plans)
    assert [one.name for one in kept] == ["cheap"]
    assert beaten["dear"].name == "cheap"
    why = decide(plans, "cost").losers[0][2]
    assert "dominated by" in why
    assert "2.50 times the cost" in why


def test_objectives_choose_differently() -> None:
    small = machine("small", 10.0)
    large = machine("large", 100.0, read_iops=1e6, local_bytes=1e13)
    swift = machine("swift", 50.0, read_latency_ns=10_000.0)
    plans = [plan(workload(working_set="1TB"), one) for one in (small, large, swift)]
    chosen = {name: decide(plans, name).winner for name in OBJECTIVES}
    assert {name: found.name for name, found in chosen.items() if found} == {
        "cost": "small",
        "throughput": "large",
        "latency": "swift",
        "throughput-per-dollar": "small",
    }
    capped = decide(plans, "throughput", budget_usd=60.0)
    assert capped.winner is not None
    assert capped.winner.name != "large"
    assert ("budget", "large") in [(kind, one.name) for one, kind, _ in capped.losers]


def chooser(ledger: Ledger, **changes: Any) -> Chooser:
    return Chooser(ledger, workload(**changes), VOLUMES, LATENCIES)


def test_a_budget_buys_as_many_as_it_pays_for(ledger: Ledger) -> None:
    found = choose(chooser(ledger, budget_usd_per_month=550.0), [machine()], "throughput", 2.0).figures
    assert found["winner"]["instances"] == 5
    with pytest.raises(PriceError, match="needs a budget"):
        choose(chooser(ledger), [machine()], "throughput", 2.0)
    with pytest.raises(PriceError, match="is no objective"):
        choose(chooser(ledger), [machine()], "beauty", 2.0)


def test_the_instances_of_the_catalog(ledger: Ledger) -> None:
    found = cloud([], ledger.book)
    assert len(found) == 3040
    assert len({one.name for one in found}) == 3040
    assert all(one.usd_per_month > 0 and one.cores > 0 and one.memory_bytes > 0 for one in found)
    one = next(one for one in found if one.name == "aws/i4i.32xlarge")
    assert (one.usd_per_month / 730, one.read_iops, one.local_bytes) == pytest.approx((10.9824, 3.2e6, 30e12))
    assert {one.cloud for one in cloud(["aws", "gcp"], ledger.book)} == {"aws", "gcp"}
    with pytest.raises(PriceError, match="no cloud `aw`"):
        cloud(["aw"], ledger.book)


def test_a_quote_of_an_instance_wins(write: Write) -> None:
    text = '[[price]]\nitem = "aws/i4i.large"\nvalue = 1\ncurrency = "USD"\nunit = "month"\n'
    text += 'date = "2026-10"\nsource = "our contract"\nkind = "contract"\n'
    found = cloud(["aws"], open_book(write("q.toml", text)))
    one = next(one for one in found if one.name == "aws/i4i.large")
    assert (one.usd_per_month, one.source) == (1.0, "contract: our contract")


def test_every_instance_that_lost_says_why(ledger: Ledger) -> None:
    found = choose(chooser(ledger, capacity="2TB"), cloud(["aws", "gcp", "azure"], ledger.book), "cost", 2.0).document()
    assert found["considered"] == len(found["losers"]) + 1
    assert all(loser["why"] for loser in found["losers"])
    assert sum(found["losers_by_reason"].values()) == len(found["losers"])
    winner = found["winner"]
    assert winner["band"] == {"factor": 2.0, "low": winner["usd_per_month"] / 2, "high": winner["usd_per_month"] * 2}
    assert winner["cheapest_until_its_price_rises_by"] >= 1
    assert winner["name"] == found["pareto"][0]["name"]
    json.dumps(found, allow_nan=False)


def test_clouds_whose_volumes_have_no_price_are_said(ledger: Ledger) -> None:
    found = choose(chooser(ledger, durability="volume"), cloud(["aws", "gcp"], ledger.book), "cost", 2.0).document()
    assert found["not_considered"] == ["gcp"]
    assert any("volumes of gcp have no price" in warning for warning in found["warnings"])


def test_reads_and_writes_share_the_time_of_the_drives() -> None:
    work = workload(working_set="1TB", reads_per_s=80e3, writes_per_s=20e3)
    found = plan(work, machine(memory_bytes=0.0))
    assert (found.instances, found.binding.name) == (2, "time of local storage for reads and writes")
    assert found.binding.demand == pytest.approx(80e3 / 100e3 + 20e3 / 50e3)


MACHINE = """
[[machine]]
name = "ours"
{price}
cores = 16
memory = "256GiB"
local = "6TB"
read_iops = 1000000
write_iops = 300000
source = "dealer's offer 17"
date = "2026-10"
kind = "quote"
"""


def test_own_machines_stand_beside_the_clouds(write: Write) -> None:
    text = MACHINE.format(price="price_usd = 6000\nlifetime_months = 60\nrunning_usd_per_month = 40")
    (found,) = own(write("h.toml", text))
    assert found.usd_per_month == pytest.approx(140)
    assert plan(workload(), found).feasible


@pytest.mark.parametrize("price", ["", "usd_per_month = 5\nprice_usd = 5", "usd_per_month = 0", "price_usd = -1"])
def test_own_machines_without_one_price_are_refused(write: Write, price: str) -> None:
    with pytest.raises(PriceError):
        own(write("h.toml", MACHINE.format(price=price)))


@pytest.mark.parametrize(
    ("text", "sentence"),
    [
        ('capacity = "1TB"\nreads_per_s = 1', "durability is missing"),
        ('capacity = "1TX"\nreads_per_s = 1\ndurability = "local"', "line 1, capacity"),
        ('capacity = 0\nreads_per_s = 1\ndurability = "local"', "line 1, capacity"),
        ('capacity = "1TB"\nreads_per_s = 0\ndurability = "local"', "reads or writes"),
        ('capacity = "1TB"\nreads_per_s = 1\ndurability = "replicated"', "at least two copies"),
        ('capacity = "1TB"\nreads_per_s = 1\ndurability = "local"\ncycles_per_operation = 5', "belong together"),
        ('capacity = "1TB"\nreads_per_s = 1\ndurability = "local"\nworking_set = "2TB"', "larger than the data"),
        ('capacity = "1TB"\nreads_per_s = 1\ndurability = "local"\nread_per_s = 5', "did you mean `reads_per_s`"),
        ('capacity = "1TB"\nreads_per_s = 1\ndurability = "magnetic"', "line 3, durability"),
    ],
)
def test_a_wrong_workload_is_a_sentence(text: str, sentence: str) -> None:
    with pytest.raises(PriceError, match=sentence):
        parse(text, "w.toml", Workload)


def test_goals_rank_an_unknown_latency_last() -> None:
    found = plan(workload(working_set="1TB"), machine(memory_bytes=0.0))
    assert goals(found)[2] == math.inf
    assert dominates(plan(workload(working_set="1TB"), machine(memory_bytes=0.0, cloud="aws")), found)
