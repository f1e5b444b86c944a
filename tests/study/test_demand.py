"""Where threads run and how CPU is counted: from what is typed to the job."""

from __future__ import annotations

import json
import os

import pytest
from assay.error import BAD_JOB, NOT_POSSIBLE, AssayError
from assay.study.cell import Cell
from assay.study.demand import Demand
from assay.study.pin import parse_pin
from commands import assay


def cell(kind: str = "folder") -> Cell:
    job = {
        "targets": [{"id": "main", "kind": kind}],
        "classes": [{"name": "reads", "threads": 2}, {"name": "log", "pin": {"cpus": [1]}}],
    }
    return Cell(id="a-0001-r1", study="a", scenario="all", repeat=1, factors={}, job=job)


@pytest.mark.parametrize(
    ("text", "wanted"),
    [
        ("none", None),
        ("0", {"cpus": [0]}),
        ("3,0-2", {"cpus": [3, 0, 1, 2]}),
        ("node:0", {"nodes": [0]}),
        ("node:1,0", {"nodes": [1, 0]}),
    ],
)
def test_a_pin_is_read(text: str, wanted: object) -> None:
    assert parse_pin(text) == wanted


@pytest.mark.parametrize(
    "text", ["", "a", "-1", "3-1", "0,0", "0-3,2", "1024", "cpu:0", "node:", "0,", "\u0663", "1-2-3"]
)
def test_nonsense_is_refused_with_what_to_write(text: str) -> None:
    with pytest.raises(AssayError) as refused:
        parse_pin(text)
    assert refused.value.code == BAD_JOB
    assert "CPUs" in str(refused.value.hint)


def test_a_demand_is_laid_over_every_cell_and_a_class_of_its_own_goes_first() -> None:
    own = min(os.sched_getaffinity(0))
    job = Demand.of("accounts", [str(own), "log=none"]).on([cell()])[0].job
    assert job["counting"] == "accounts"
    assert job["classes"] == [{"name": "reads", "threads": 2, "pin": {"cpus": [own]}}, {"name": "log"}]
    assert Demand().on([cell()]) == [cell()]


def test_what_is_not_there_is_refused() -> None:
    with pytest.raises(AssayError) as refused:
        Demand.of(None, ["1023"])
    assert refused.value.code == NOT_POSSIBLE
    own = min(os.sched_getaffinity(0))
    for demand, words in ((["rads=node:0"], "no cell has such a class"), (["=0"], "name a class once")):
        with pytest.raises(AssayError, match=words):
            Demand.of(None, demand).on([cell()])
    with pytest.raises(AssayError, match="a twin's host has no CPUs"):
        Demand.of(None, [str(own)]).on([cell("twin")])
    with pytest.raises(AssayError, match="no such way to count"):
        Demand.of("never", [])


@pytest.mark.parametrize(
    ("arguments", "code", "words"),
    [
        (["--pin", "1023"], NOT_POSSIBLE, "may not use CPU 1023"),
        (["--pin", "0,0"], BAD_JOB, "0 stands there twice"),
        (["--pin", "nobody=node:0"], BAD_JOB, "no cell has such a class"),
        (["--counting", "always"], BAD_JOB, "no such way to count"),
    ],
)
def test_nonsense_on_the_command_line_is_refused(arguments: list[str], code: int, words: str) -> None:
    done = assay("run", "raw-null", "--dry-run", *arguments)
    assert done.returncode == code
    assert words in " ".join(done.stderr.split())


def test_a_plan_has_what_was_demanded() -> None:
    own = str(min(os.sched_getaffinity(0)))
    done = assay("run", "raw-null", "--dry-run", "--json", "--pin", own, "--counting", "accounts")
    assert done.returncode == 0, done.stderr
    jobs = [cell["job"] for cell in json.loads(done.stdout)["cells"]]
    assert jobs
    assert all(job["counting"] == "accounts" for job in jobs)
    assert all(entry["pin"] == {"cpus": [int(own)]} for job in jobs for entry in job["classes"])


def test_a_size_of_the_page_cache_is_laid_over_cells_that_have_one() -> None:
    demand = Demand.of(None, [], "10GiB")
    in_memory = cell("memory")
    both = demand.on([cell(), in_memory])
    assert [one.job.get("cache_bytes") for one in both] == [10 << 30, None]
    with pytest.raises(AssayError, match="no cell goes through a page cache"):
        demand.on([in_memory])
    with pytest.raises(AssayError, match="size"):
        Demand.of(None, [], "much")
