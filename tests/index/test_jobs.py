"""Flags become jobs, and what is no flag's value is refused with a sentence."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from assay.binary import Binary
from assay.error import BAD_JOB, AssayError
from assay.index.sweep import JUNGLE, CommonParts, places, prepared
from assay.index.waits import as_if
from assay.study.work import declared
from assay.study.work.index import INDEXES, number
from assay.study.work.runners import register_waits
from assay.target.host import HostWish
from assay.target.target import parse

COMMON = CommonParts({"keys": "1e6"}, {}, {}, HostWish(), 3)
register_waits(as_if)


def job(on: str = "/tmp", host: Any = None, **words: Any) -> dict[str, Any]:
    """The job of a cell whose `[work]` has these words."""
    usual = {"kind": "index", "index": "fptree", "workload": "ycsb-a"}
    return declared.job(usual | words, parse(on, host), {}, 3)


def test_a_wish_becomes_a_job() -> None:
    document = job(keys="2e6", key_bytes="8-64", distribution="zipf:0.8", operations="5k", pool="64MiB")
    assert document["keys"] == 2_000_000
    assert document["sizes"]["key"] == {"least": 8, "most": 64}
    assert document["distribution"] == {"law": "zipf", "theta": 0.8}
    assert document["window"] == {"operations": 5000}
    assert document["pool_bytes"] == 64 << 20
    assert job(options=["io=io_uring", "depth=8", "shared=true"])["options"] == {
        "io": "io_uring",
        "depth": 8,
        "shared": True,
    }


@pytest.mark.parametrize(
    ("change", "said"),
    [
        ({"index": "fptre"}, "no index"),
        ({"workload": "ycsb-z"}, "no workload"),
        ({"keys": "many"}, "no count"),
        ({"key_bytes": "eight"}, "no length"),
        ({"distribution": "gauss"}, "no distribution"),
        ({"distribution": "zipf:steep"}, "no theta"),
        ({"duration": "1s", "operations": "5"}, "not both"),
        ({"options": ["loose"]}, "no option"),
        ({"as_if": "twin:p4610"}, "is a drive"),
    ],
)
def test_what_is_wrong_is_said(change: dict[str, Any], said: str) -> None:
    with pytest.raises(AssayError, match=said) as raised:
        job(**change)
    assert raised.value.code == BAD_JOB
    assert raised.value.hint


def test_counts() -> None:
    assert [number(text, "--keys") for text in ("7", "1e6", "50M", "2.5k", "1_000")] == [
        7,
        10**6,
        50 * 10**6,
        2500,
        1000,
    ]


@pytest.mark.usefixtures("assayer")
def test_a_sweep_has_each_cell_once_and_only_what_is_there(tmp_path: Path) -> None:
    sweep = replace(JUNGLE, indexes=("fptree", "nowhere", "ssd-hash"))
    where = {True: [str(tmp_path)], False: [str(tmp_path)]}
    found = prepared("jungle", sweep, COMMON, where, 3, 2, Binary.find())
    jobs = [cell.job for cell in found.plan.in_file_order]
    assert {job["index"] for job in jobs} == {"fptree", "ssd-hash"}
    assert {job["threads"] for job in jobs} == {1, 2}
    assert len(jobs) == 2 * (1 + len(JUNGLE.drive)) * len(JUNGLE.workloads) * 2
    drive = [job for job in jobs if job["index"] == "ssd-hash"]
    assert {(job["options"]["io"], job["split"], job["batch"]) for job in drive} == set(JUNGLE.drive)
    assert not any("io" in job["options"] for job in jobs if job["index"] == "fptree")
    assert len(set(INDEXES)) == 6


@pytest.mark.usefixtures("assayer")
def test_waits_of_modules_are_those_of_indexes_in_memory(tmp_path: Path) -> None:
    where = {True: [str(tmp_path)], False: [str(tmp_path)]}
    common = replace(COMMON, memory={"as_if": "twin:pmem100-128g"})
    found = prepared("jungle", JUNGLE, common, where, 1, 1, Binary.find())
    assert {cell.job["index"].startswith("ssd-") for cell in found.plan.cells if "as_if" in cell.job} == {False}


@pytest.mark.usefixtures("assayer")
def test_a_sweep_on_twins_has_modules_for_some_indexes_and_drives_for_others() -> None:
    twins = ["twin:pmem100-128g*1", "twin:pmem100-128g*4", "twin:p4800x"]
    where = places(twins, "")
    assert where == {True: twins[:2], False: twins[2:]}
    sweep = replace(JUNGLE, workloads=JUNGLE.workloads[:1], indexes=("fptree", "ssd-hash"))
    common = replace(COMMON, words={"turn": "300ns", "cache": "64KiB"}, host=HostWish("xeon-6242r"))
    jobs = [cell.job for cell in prepared("jungle", sweep, common, where, 2, 1, Binary.find()).plan.cells]
    assert len(jobs) == 2 * (2 + len(JUNGLE.drive))
    assert {(job["index"], job["twin"]["data"]["label"]) for job in jobs} == {
        *(("fptree", on) for on in twins[:2]),
        ("ssd-hash", twins[2]),
    }
    assert {(job["twin"]["turn_ns"], job["twin"]["cache_bytes"]) for job in jobs} == {(300, 65536)}
    assert {job["twin"]["data"]["host"]["name"] for job in jobs} == {"xeon-6242r"}


@pytest.mark.parametrize(
    ("on", "on_drive", "said"),
    [
        (["twin:p4800x", "/tmp"], "", "not in one sweep"),
        (["twin:p4800x"], "/tmp", "not in one"),
        (["a", "b"], "", "twins"),
    ],
)
def test_twins_and_folders_are_no_one_sweep(on: list[str], on_drive: str, said: str) -> None:
    with pytest.raises(AssayError, match=said):
        places(on, on_drive)


def test_a_twin_gets_its_host_its_caches_and_a_short_window() -> None:
    document = job("twin:pmem100-128g*4", HostWish("xeon-6242r"), turn="300ns")
    twin = document["twin"]
    assert twin["data"]["target"]["modules"] == 4
    assert (twin["data"]["host"]["name"], twin["turn_ns"]) == ("xeon-6242r", 300)
    assert twin["cache_bytes"] == 20 * 2.375 * (1 << 20)
    assert document["window"] == {"seconds": 0.02}
    assert job()["window"] == {"seconds": 5}
    with pytest.raises(AssayError, match="for twins"):
        job(turn="1us")
