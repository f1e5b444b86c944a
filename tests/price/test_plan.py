"""Plans, figure by figure: what each limit needs and has, what a plan costs, and what is asked of its storage."""

from __future__ import annotations

import math
from dataclasses import dataclass, field, replace
from typing import Any

import pytest
from assay.price.choose.latency import LOCAL, Ask, LatencyFigure
from assay.price.choose.plan import FleetPlan, Limit, Planner
from assay.price.choose.volume import Volume, VolumePrices
from assay.price.choose.workload import Workload

from price.test_choose import machine, workload

KNOWN = LatencyFigure(100.0, "modelled", "a twin", None, 200.0, 0.25, 0.5)


@dataclass
class Noting:
    """Knows one latency, and notes what it was asked."""

    figure: LatencyFigure = KNOWN
    asked: list[Ask] = field(default_factory=list)

    def under(self, ask: Ask) -> LatencyFigure:
        """The same for everybody."""
        self.asked.append(ask)
        return self.figure


def fact(value: float) -> dict[str, Any]:
    return {"value": value, "kind": "datasheet", "source": "a sheet", "date": "2026"}


def volume() -> Volume:
    """A GB of it costs 0.1 a month, an I/O a second 0.01 beyond 1000, and a byte a second 2e-6 beyond 10 MB/s."""
    facts = {
        "included_iops": 1000, "included_bytes_per_s": 10e6, "max_iops": 4000, "max_bytes_per_s": 50e6,
        "max_bytes": 300e9, "iops_unit_bytes": 8192,
    }  # fmt: skip
    return Volume.model_validate({"name": "v", "cloud": "own"} | {name: fact(value) for name, value in facts.items()})


PRICES = VolumePrices(0.1, 0.01, 2e-6)


def close(value: float) -> Any:
    return pytest.approx(value, rel=1e-12)


def amounts(found: FleetPlan) -> dict[str, tuple[float, float | None]]:
    return {limit.name: (limit.demand, limit.supply) for limit in found.limits}


def test_every_limit_of_local_storage() -> None:
    # Six instances with 10 GB of cache each hold three copies: 20 GB of 400 GB, a twentieth of the reads.
    work = workload(
        capacity=1e12, working_set=4e11, reads_per_s=90e3, writes_per_s=10e3, page=10_240, durability="replicated",
        copies=3, utilisation=0.5, fill=0.8, memory=2e9, cycles_per_operation=20_000, clock=2e9,
    )  # fmt: skip
    noting = Noting()
    found = Planner(work, noting).plan(machine(memory_bytes=12e9), 6)
    assert found.hit_ratio == close(0.05)
    # A page of 10 KiB is three I/O of 4 KiB; every copy is written; half of what there is may be used.
    assert amounts(found) == {
        "memory of an instance": (2e9, 12e9),
        "cores": (close(120e3 * 20e3 / 2e9), close(6 * 8 * 0.5)),
        "network for copies": (close(10e3 * 10_240 * 2), close(1e9 * 6 * 0.5)),
        "local storage": (3e12, close(6 * 1e12 * 0.8)),
        "read IOPS of local storage": (close(85.5e3 * 3), close(100e3 * 6 * 0.5)),
        "write IOPS of local storage": (close(30e3 * 3), close(50e3 * 6 * 0.5)),
        "time of local storage for reads and writes": (close(3 * (0.855 + 0.6)), close(3.0)),
    }
    assert (found.usd_per_month, found.volume, found.volumes_each) == (600.0, None, 0)
    assert found.headroom == close(3 / 4.365)
    assert found.binding.name.startswith("time of local storage")
    assert found.read_latency_ns == close(95.0)
    assert noting.asked == [Ask("m", "", False, 10_240.0, close(0.5 * 4.365 / 3), close(85.5 / 115.5))]


def test_every_limit_of_volumes() -> None:
    # Two instances of which 0.8 may be used: 3125 pages of 20 000 B a second each, three I/O of 8 KiB.
    work = workload(
        durability="volume", reads_per_s=4000.0, writes_per_s=1000.0, page=20_000, utilisation=0.8, fill=0.8
    )
    noting = Noting()
    found = Planner(work, noting).plan(machine(memory_bytes=0.0), 2, volume(), PRICES)
    assert amounts(found) == {
        "memory of an instance": (0.0, 0.0),
        "I/O rate to volumes": (close(15_000), close(40e3 * 1.6)),
        "bandwidth to volumes": (close(100e6), close(1e9 * 1.6)),
    }
    each = 625e9 / 2**30 * 0.1 + (9375 - 3 * 1000) * 0.01 + (62.5e6 - 3 * 10e6) * 2e-6
    assert found.usd_per_month == close(2 * 100 + 2 * each)
    assert (found.name, found.volume, found.volumes_each) == ("m + v", "v", 3)
    assert noting.asked == [Ask("v", "", False, 20_000.0, close(0.8 * 15_000 / 64e3), close(0.8))]


def test_speeds_that_nobody_states_stay_unknown() -> None:
    work = workload(durability="volume", reads_per_s=1000.0)
    found = Planner(work, Noting()).plan(machine(volume_iops=None, volume_bytes_per_s=None), 1, volume(), PRICES)
    assert [supply for _, supply in amounts(found).values()][1:] == [None, None]
    silent = Noting()
    Planner(workload(writes_per_s=5e3), silent).plan(machine(read_iops=None, memory_bytes=0.0), 1)
    assert silent.asked[0].busy == close(0.1), "only the writes are known, and need a tenth of 50 000 IOPS"


def test_storage_that_nobody_reads_is_not_busy() -> None:
    noting = Noting()
    found = Planner(workload(working_set=64e9), noting).plan(machine(memory_bytes=64e9), 1)
    assert (found.hit_ratio, found.read_latency_ns, found.read_p99_ns) == (1.0, 0.0, 0.0)
    assert noting.asked == [Ask("m", "", False, 4096.0, 0.0, 1.0)]


def test_an_instance_whose_memory_is_taken_has_no_cache() -> None:
    found = Planner(workload(memory=65e9), Noting()).plan(machine(memory_bytes=64e9), 3)
    assert found.hit_ratio == 0.0
    assert Planner(workload(working_set=1.0, memory=64e9), Noting()).plan(machine(memory_bytes=64e9), 1).hit_ratio == 0


def test_fewer_than_one_operation_a_second_have_a_share_of_reads() -> None:
    noting = Noting()
    Planner(workload(reads_per_s=0.25, writes_per_s=0.5), noting).plan(machine(memory_bytes=0.0), 1)
    assert noting.asked[0].read_share == close(1 / 3)


def test_an_overloaded_device_is_busy_all_the_time_and_no_more() -> None:
    noting = Noting()
    Planner(workload(reads_per_s=1e6), noting).plan(machine(memory_bytes=0.0), 1)
    assert noting.asked[0].busy == 1.0


def test_who_is_asked_for_a_latency() -> None:
    noting = Noting()
    planner = Planner(workload(reads_per_s=50e3), noting)
    stated = planner.plan(machine(memory_bytes=0.0, read_latency_ns=40.0), 1)
    assert not noting.asked
    assert stated.latency == LatencyFigure(80.0, "assumed", "test", "2026"), "half busy, twice as long"
    planner.plan(machine(cloud="aws", twin="t", twin_lent=True), 1)
    assert (noting.asked[0].device, noting.asked[0].twin, noting.asked[0].lent) == (LOCAL, "t", True)
    unknown = Planner(workload(), Noting(LatencyFigure(None, "assumed", "nobody"))).plan(machine(), 1)
    assert unknown.read_latency_ns is None


@pytest.mark.parametrize("cycles", [{}, {"cycles_per_operation": 1000.0, "clock": 1e9}])
def test_one_copy_needs_no_network_and_cores_need_cycles(cycles: dict[str, float]) -> None:
    names = [limit.name for limit in Planner(workload(**cycles), Noting()).plan(machine(), 1).limits]
    assert "network for copies" not in names
    assert ("cores" in names) == bool(cycles)


def test_two_copies_need_the_network() -> None:
    work = workload(durability="replicated", copies=2, writes_per_s=1000.0)
    assert amounts(Planner(work, Noting()).plan(machine(), 2))["network for copies"] == (close(4096e3), 2e9)
    silent = Planner(work, Noting()).plan(machine(network_bytes_per_s=None), 2)
    assert amounts(silent)["network for copies"][1] is None


def test_iops_of_both_kinds_are_needed_to_know_their_time() -> None:
    for missing in ("read_iops", "write_iops"):
        unstated: dict[str, Any] = {missing: None}
        found = Planner(workload(), Noting()).plan(machine(**unstated), 1)
        assert not any(name.startswith("time") for name in amounts(found))


@pytest.mark.parametrize(
    ("demand", "supply", "fixed", "headroom"),
    [
        (0.0, 5.0, False, math.inf),
        (0.0, None, False, math.inf),
        (0.5, 1.0, False, 2.0),
        (5.0, 5.0, False, 1.0),
        (10.0, 5.0, False, 0.5),
        (5.0, None, False, 0.0),
        (5.0, 5.0, True, math.inf),
        (5.0, 10.0, True, math.inf),
        (10.0, 5.0, True, 0.5),
        (5.0, None, True, 0.0),
    ],
)
def test_the_headroom_of_a_limit(demand: float, supply: float | None, fixed: bool, headroom: float) -> None:
    assert Limit("x", demand, supply, "B", fixed=fixed).headroom == headroom
    assert Limit("x", 5.0, 10.0, "B").headroom == 2.0


@pytest.mark.parametrize(
    ("demand", "supply", "unit", "sentence"),
    [
        (1.5e15, 1e15, "B", "x: 1.5 PB needed, 1 PB there"),
        (1.5e12, 1e12, "B", "x: 1.5 TB needed, 1 TB there"),
        (1.5e9, 1e9, "B/s", "x: 1.5 GB/s needed, 1 GB/s there"),
        (1.5e6, 1e6, "B", "x: 1.5 MB needed, 1 MB there"),
        (1500.0, 999.0, "B", "x: 1500 B needed, 999 B there"),
        (1.5e6, 2.0, "IOPS", "x: 1.5e+06 IOPS needed, 2 IOPS there"),
        (1.5, 1.0, "", "x: 1.5 needed, 1 there"),
        (1.5, None, "B", "no source states its x"),
    ],
)
def test_a_limit_in_words(demand: float, supply: float | None, unit: str, sentence: str) -> None:
    assert Limit("x", demand, supply, unit).sentence() == sentence


def fleet(headroom: float = 2.0, **changes: Any) -> FleetPlan:
    """One instance that reads from storage in 100 ns on average and 200 ns at p99."""
    limits = (Limit("cores", 1.0, headroom, "cores"), Limit("memory", 1.0, 99.0, "B"))
    plain = FleetPlan(machine(), 1, 100.0, None, 0, limits, 0.0, 100.0, KNOWN, None)
    return replace(plain, **changes)


@pytest.mark.parametrize(
    ("mean", "tail", "met", "sure"),
    [
        (None, None, True, True),
        (99.0, None, False, False),
        (100.0, None, True, False),
        (124.0, None, True, False),
        (125.0, None, True, True),
        (125.0, 199.0, False, False),
        (125.0, 200.0, True, False),
        (125.0, 300.0, True, True),
        (99.0, 300.0, False, False),
        (100.0, 300.0, True, False),
    ],
)
def test_objectives_are_met_by_the_value_and_sure_by_its_band(
    mean: float | None, tail: float | None, met: bool, sure: bool
) -> None:
    found = fleet(latency_bound_ns=mean, p99_bound_ns=tail)
    assert (found.latency_met, found.latency_sure, found.feasible) == (met, sure, met)


def test_a_figure_without_a_band_is_sure_where_it_is_met() -> None:
    plain = replace(KNOWN, band=None, tail_band=None)
    assert fleet(latency=plain, latency_bound_ns=100.0, p99_bound_ns=200.0).latency_sure


def test_reads_that_memory_serves_have_no_tail() -> None:
    assert (fleet(hit_ratio=1.0).read_p99_ns, fleet(hit_ratio=0.99).read_p99_ns) == (0.0, 200.0)


@pytest.mark.parametrize(
    ("headroom", "changes", "why"),
    [
        (0.5, {"latency_bound_ns": 50.0}, "cores: 1 cores needed, 0.5 cores there"),
        (1.0, {"latency_bound_ns": 50.0}, "latency: 0.1 us on average, 0.05 us wanted"),
        (1.5, {"latency_bound_ns": 50.0}, "latency: 0.1 us on average, 0.05 us wanted"),
        (2.0, {"latency_bound_ns": 100.0, "p99_bound_ns": 50.0}, "latency: 0.2 us at p99 of reads from storage, 0.05"),
        (2.0, {"latency_bound_ns": 100.0, "p99_bound_ns": 200.0}, ""),
        (2.0, {"latency_bound_ns": 1.0, "read_latency_ns": None}, "no source states the latency of its storage on"),
        (
            2.0,
            {"latency_bound_ns": 1.0, "read_latency_ns": None, "volume": "v"},
            "no source states the latency of v ",
        ),
    ],
)
def test_why_a_plan_fails(headroom: float, changes: dict[str, Any], why: str) -> None:
    found = fleet(headroom, **changes)
    assert found.failure().startswith(why)
    assert bool(found.failure()) == bool(why)


def test_a_plan_that_just_serves_the_load_is_feasible() -> None:
    assert [fleet(headroom).feasible for headroom in (0.99, 1.0, 1.5)] == [False, True, True]


def test_bounds_are_the_workloads() -> None:
    wanted = workload(latency={"read": 1e-6, "p99": 2e-6})
    found = Planner(wanted, Noting()).plan(machine(), 1)
    assert (found.latency_bound_ns, found.p99_bound_ns) == (close(1000), close(2000))
    for name in ("read", "p99"):
        half = Planner(workload(latency={name: 1e-6}), Noting()).plan(machine(), 1)
        assert (half.latency_bound_ns is None, half.p99_bound_ns is None) == (name != "read", name != "p99")


@pytest.mark.parametrize("needed", range(1, 65))
def test_as_many_instances_as_the_data_need(needed: int) -> None:
    found = Planner(workload(capacity=needed * 1e12, reads_per_s=1.0), Noting()).best(machine())
    assert (found.instances, found.feasible) == (needed, True)


def test_more_than_the_most_is_not_feasible() -> None:
    found = Planner(workload(capacity=3e12, most_instances=2), Noting()).best(machine())
    assert (found.instances, found.feasible) == (2, False)


def cached(most: int, *hits: float) -> Workload:
    """Instances with 10 GB of cache each; so many hits with one, two and three of them."""
    points = [{"memory": 10e9 * number, "hit_ratio": share} for number, share in enumerate(hits, 1)]
    return workload(durability="volume", capacity=1e9, reads_per_s=10e3, hits=points, most_instances=most)


@pytest.mark.parametrize(
    ("work", "instances", "io_usd"),
    [
        # I/O cost 100 times the share that misses: 10 + 90, 20 + 20, 30 + 15, and four instances alone 40.
        (cached(64, 0.1, 0.8, 0.85), 2, 20.0),
        (cached(2, 0.1, 0.8, 0.85), 2, 20.0),
        (cached(2, 0.1, 0.3, 0.99), 2, 70.0),
        (cached(64, 0.1, 0.1, 0.9), 3, 10.0),
        (cached(64, 0.9, 0.95, 0.99), 1, 10.0),
    ],
)
def test_more_instances_are_bought_while_they_spare_more_io_than_they_cost(
    work: Workload, instances: int, io_usd: float
) -> None:
    free = volume().model_copy(update={"included_iops": volume().included_iops.model_copy(update={"value": 0})})
    found = Planner(work, Noting()).best(machine(usd=10.0, memory_bytes=10e9), free, VolumePrices(0.0, 0.01, 0.0))
    assert (found.instances, found.usd_per_month) == (instances, close(10 * instances + io_usd))
