"""Latencies of a choice by twins: the grid, the stand-in, the objective."""

from __future__ import annotations

import itertools
import json
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

import pytest
from assay.price.choose.latency import LOCAL, Ask, CatalogLatencies
from assay.price.choose.plan import Planner
from assay.price.choose.twinned import LOADS, SHARES, STAND_IN, TwinCurve, TwinLatencies, curves, with_twin
from assay.price.choose.volume import catalog_volumes
from assay.target import catalog
from assay.twin.predict import Point, predict
from hypothesis import given
from hypothesis import strategies as some

from .conftest import Run
from .test_choose import machine, workload

CATALOG = CatalogLatencies(catalog_volumes())
Grid = list[list[float]]


@given(some.floats(0, 1), some.floats(0, 1))
def test_what_is_between_points_lies_between_them(share: float, load: float) -> None:
    grid: Grid = [[1 + 10 * load + share for load in LOADS] for share in SHARES]
    held = (min(max(share, SHARES[0]), SHARES[-1]), min(max(load, LOADS[0]), LOADS[-1]))
    curve = TwinCurve(grid, grid, 0.3, 1.5)
    assert curve.at(grid, share, load) == pytest.approx(1 + 10 * held[1] + held[0])


@pytest.fixture(scope="module")
def grid(assayer: Path) -> TwinCurve:
    """The stand-in's."""
    assert assayer.is_file()
    return curves([STAND_IN], 4096)[STAND_IN]


def test_reads_wait_longer_the_busier_the_drives_are(grid: TwinCurve) -> None:
    for line in (*grid.mean_ns, *grid.p99_ns):
        assert all(one <= other * 1.02 for one, other in itertools.pairwise(line)), line
    assert all(tail > mean for tail, mean in zip(grid.p99_ns[-1], grid.mean_ns[-1], strict=True))


def test_the_grid_is_what_the_twin_says(grid: TwinCurve) -> None:
    asked = Point(f"twin:{STAND_IN}", threads=256, depth=4, rate_per_s=153_160.0)
    assert grid.at(grid.mean_ns, 1.0, 0.7) == pytest.approx(predict(asked)["latency_ns"]["mean"], rel=0.02)


def test_who_has_no_twin_of_its_own_is_lent_one() -> None:
    known = catalog.twins()
    own = with_twin(machine("aws/i4i.large", cloud="aws"), known)
    lent = with_twin(machine("gcp/z3-highmem-8", cloud="gcp"), known)
    assert (own.twin, own.twin_lent) == ("i4i-large", False)
    assert (lent.twin, lent.twin_lent) == (STAND_IN, True)
    assert with_twin(replace(machine("aws/d3.xlarge", cloud="aws"), nvme=False), known).twin == ""
    assert with_twin(machine(), known).twin == ""


def test_a_latency_by_a_twin_has_a_band_and_says_what_is_lent(grid: TwinCurve) -> None:
    latencies = TwinLatencies([STAND_IN], 4096, CATALOG)
    found = latencies.under(Ask(LOCAL, STAND_IN, True, 4096, 0.5, 1.0))
    assert found.value_ns == pytest.approx(grid.at(grid.mean_ns, 1.0, 0.5))
    assert (found.provenance, found.band) == ("modelled", grid.band)
    assert "for want of its own" in found.source
    assert latencies.under(Ask(LOCAL, "", False, 4096, 0.5, 1.0)).provenance == "assumed"


def test_an_objective_on_the_tail_takes_more_instances(grid: TwinCurve) -> None:
    latencies = TwinLatencies([STAND_IN], 4096, CATALOG)
    light = {"working_set": "1TB", "reads_per_s": 90e3, "writes_per_s": 1e3}
    cloudy = with_twin(machine("gcp/x", cloud="gcp", memory_bytes=0.0), ())
    plain = Planner(workload(**light), latencies).best(cloudy)
    bound = grid.at(grid.p99_ns, 1.0, 0.5) * 1.1 / 1e9
    strict = Planner(workload(latency={"p99": bound}, **light), latencies).best(cloudy)
    assert strict.feasible
    assert strict.instances > plain.instances
    assert (plain.read_p99_ns or 0) > bound * 1e9 >= (strict.read_p99_ns or 0)
    hopeless = Planner(workload(latency={"p99": 1e-6}, most_instances=2, **light), latencies).best(cloudy)
    assert "at p99 of reads from storage, 1 us wanted" in hopeless.failure()


def test_a_machine_of_ones_own_may_name_a_twin(assayer: Path, assay: Run, write: Callable[[str, str], Path]) -> None:
    assert assayer.is_file()
    text = 'capacity = "300GB"\nreads_per_s = 50000\ndurability = "local"\nlatency = { read = "50us", p99 = "90us" }\n'
    hardware = '[[machine]]\nname = "ours"\nusd_per_month = 40\ncores = 8\nmemory = "16GiB"\nlocal = "400GB"\n'
    hardware += (
        'read_iops = 550000\nwrite_iops = 500000\ntwin = "p4800x"\nsource = "s"\ndate = "2026-10"\nkind = "quote"\n'
    )
    words = ("choose", "--cloud", "none", "--json", "--workload", str(write("w.toml", text)), "--hardware")
    done = assay(*words, str(write("h.toml", hardware)))
    winner = json.loads(done.stdout)["winner"]
    assert winner["latency"]["source"].startswith("twin:p4800x")
    assert winner["read_latency_ns"] < winner["read_p99_ns"] < 90e3
    both = hardware.replace('twin = "p4800x"', 'twin = "p4800x"\nread_latency = "90us"')
    assert "two latencies" in assay(*words, str(write("both.toml", both))).stdout
