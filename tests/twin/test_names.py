"""Names of twins on the command line."""

from __future__ import annotations

import contextlib
from pathlib import Path

import pytest
from assay import home
from assay.error import AssayError
from assay.target import catalog, names
from hypothesis import given
from hypothesis import strategies as st

DRIVE = """
version = 1
name = "drive"
title = "a drive"
capacity_bytes = { value = 1e12, kind = "datasheet", source = "a sheet", date = "2020-01" }
device = { family = "nand" }
"""

VOLUME = """
version = 1
name = "{name}"
title = "a volume"
capacity_bytes = {{ value = 1e12, kind = "datasheet", source = "a sheet", date = "2020-01" }}

[device]
family = "cloud-volume"

[device.operations]
rate_per_s = {{ value = {rate}, kind = "datasheet", source = "a sheet", date = "2020-01" }}

[device.bytes]
rate_per_s = {{ value = 125e6, kind = "datasheet", source = "a sheet", date = "2020-01" }}
"""


@pytest.fixture(autouse=True)
def made_catalog(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "twins").mkdir()
    for name, family in (
        ("drive", "nand"),
        ("dimm", "pmem"),
        ("dram", "dram"),
        (names.CACHE_MEMORY.split("*")[0], "dram"),
    ):
        text = DRIVE.replace('"drive"', f'"{name}"').replace("nand", family)
        (tmp_path / "twins" / f"{name}.toml").write_text(text)
    for name, rate in (("volume", 3000), ("volume-80k", 80_000)):
        (tmp_path / "twins" / f"{name}.toml").write_text(VOLUME.format(name=name, rate=rate))
    monkeypatch.setattr(home, "catalog", lambda: tmp_path)


def test_a_drive_and_modules_of_memory() -> None:
    assert names.target("twin:drive") == {"kind": "device", "twin": catalog.twin("drive"), "modules": 1}
    assert names.target("dimm*6")["modules"] == 6


def test_several_drives_are_a_stripe() -> None:
    found = names.target("drive*4")
    assert (found["kind"], found["count"], found["layout"]) == ("stripe", 4, "interleave")
    assert names.capacity_bytes(found) == 4e12


@pytest.mark.parametrize(("layout", "capacity"), [("raid0", 4e12), ("raid5", 3e12), ("raid10", 2e12)])
def test_arrays(layout: str, capacity: float) -> None:
    found = names.target(f"{layout}:drive*4")
    assert (found["layout"], found["chunk_bytes"]) == (layout, names.RAID_CHUNK_BYTES)
    assert names.capacity_bytes(found) == capacity
    assert names.target(f"chunk=64KiB:{layout}:drive*4")["chunk_bytes"] == 65536


def test_two_mirrors_are_a_pair() -> None:
    found = names.target("raid1:drive*2")
    assert (found["layout"], found["count"], names.capacity_bytes(found)) == ("raid10", 2, 1e12)


@pytest.mark.parametrize("array", ["raid1:drive*2", "raid5:drive*4", "raid10:drive*4"])
def test_an_array_that_lacks_a_member_holds_what_it_held(array: str) -> None:
    whole, found = names.target(array), names.target(f"{array}-1")
    assert found == whole | {"missing": 1}
    assert names.capacity_bytes(found) == names.capacity_bytes(whole)


def test_a_volume_gets_what_is_provisioned() -> None:
    found = names.target("iops=9000:volume")["twin"]["device"]["operations"]["rate_per_s"]
    assert (found["value"], found["kind"]) == (9000, "assumed")
    both = names.target("iops=9000:throughput=1MiB:raid0:volume*2")["member"]["twin"]["device"]
    assert (both["operations"]["rate_per_s"]["value"], both["bytes"]["rate_per_s"]["value"]) == (9000, 1 << 20)
    assert names.target("volume")["twin"]["device"]["operations"]["rate_per_s"]["value"] == 3000


@pytest.mark.parametrize("text", ["iops=90000:volume", "iops=0:volume", "iops=9000:drive", "throughput=x:volume"])
def test_what_no_vendor_provisions_is_refused(text: str) -> None:
    with pytest.raises(AssayError):
        names.target(text)


def test_caches() -> None:
    found = names.target("memory-mode:dram*6+dimm*2")
    assert (found["policy"], found["bytes"]) == ("direct-mapped", 6 * 10**12)
    found = names.target("cache=16GiB@dram*2:raid0:drive*4")
    assert (found["policy"], found["bytes"], found["back"]["layout"]) == ("lru", 16 << 30, "raid0")
    assert names.target("cache=1GiB:drive")["front"]["twin"]["device"]["family"] == "dram"


def test_memory_as_a_block_device_is_reached_as_drives_are() -> None:
    found = names.target("block:dimm*6")
    assert found == {"kind": "block", "memory": names.target("dimm*6")}
    assert not names.is_memory(found)
    assert (names.family(found), names.devices(found), names.capacity_bytes(found)) == ("pmem", 6, 6e12)


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("block:drive", "write twin:drive"),
        ("block:memory-mode:dram+dimm", "name modules"),
        ("cache=1GiB:block:dimm", "the host's own page cache lies before it"),
    ],
)
def test_what_is_no_memory_or_has_a_cache_already_is_no_block_device(text: str, said: str) -> None:
    with pytest.raises(AssayError) as caught:
        names.target(text)
    assert said in caught.value.hint


@pytest.mark.parametrize(
    "text",
    [
        "drove",
        "drive*",
        "drive*0",
        "drive*x",
        "raid6:drive*4",
        "raid1:drive*4",
        "raid0:drive*4-1",
        "raid5:drive*4-2",
        "drive*4-1",
        "drive*4-",
        "raid0:dimm*4",
        "raid0:block:dimm*4",
        "block:",
        "memory-mode:dram",
        "memory-mode:dram+drive",
        "cache=:drive",
        "cache=1GiB@drive:drive",
        "chunk=4Kb:drive*2",
        "*4",
        ":",
        "../drive",
    ],
)
def test_a_name_that_means_nothing_is_refused_in_a_sentence(text: str) -> None:
    with pytest.raises(AssayError) as caught:
        names.target(text)
    assert caught.value.hint


@given(st.text(alphabet="drive*:=+@raid05cachblk.memoy-/419KiB", max_size=24))
def test_no_name_breaks_the_reader(text: str) -> None:
    with contextlib.suppress(AssayError):
        names.target(text)


def test_parameters_are_found_with_their_place() -> None:
    assert [where for where, _ in catalog.parameters(catalog.twin("drive"))] == ["capacity_bytes"]
