"""Jobs of the engine out of flags: folders, twins, memory below the pool."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
from assay.error import BAD_JOB, AssayError
from assay.study.work import declared
from assay.target.host import HostWish
from assay.target.target import parse_all


def job(on: str, *roles: str, host: HostWish | None = None, serials: tuple[str, ...] = (), **words: Any) -> Any:
    """The job of a cell whose `[work]` has these words."""
    target, *parts = parse_all([on, *roles], serials, False, host)
    return declared.job({"kind": "engine-tpcc", "small": True, **words}, target, {one.role: one for one in parts}, 7)


def test_twins_stand_in_the_place_of_all_folders_with_one_host() -> None:
    made = job(
        "twin:970evoplus*4",
        "log=twin:p5800x",
        "pmem=twin:pmem100-128g*6",
        host=HostWish("i9-9900k", 4),
        tier="twin:pmem100-512g*2:4GiB",
        placement="copy",
        durability="pmem",
        turn="2us",
    )
    twins = made["twins"]
    assert made["target"] == "twin:970evoplus*4"
    assert made["tier"] == {"target": "twin:pmem100-512g*2", "bytes": 4 << 30, "placement": "copy"}
    assert set(twins) == {"data", "log", "tail", "tier", "turn_ns"}
    assert twins["data"]["target"]["count"] == 4
    assert twins["turn_ns"] == pytest.approx(2000)
    hosts = [twins[part]["host"] for part in ("data", "log", "tail", "tier")]
    assert all(host == hosts[0] for host in hosts)
    assert (hosts[0]["name"], hosts[0]["cores"]["value"]) == ("i9-9900k", 4)


def test_what_turns_cost_is_learnt_and_kept_beside_what_else_assay_keeps(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    monkeypatch.setenv("XDG_STATE_HOME", str(tmp_path))
    usual = job("twin:970evoplus")["twins"]
    assert usual["costs"] == str(tmp_path / "assay" / "costs")
    assert not {"turn_ns", "learn"} & set(usual)
    assert job("twin:970evoplus", turn="learn")["twins"]["learn"] is True
    monkeypatch.delenv("XDG_STATE_HOME")
    monkeypatch.delenv("HOME")
    assert "costs" not in job("twin:970evoplus")["twins"]
    with pytest.raises(AssayError):
        job("twin:970evoplus", turn="often")


def test_a_folder_beside_a_twin_is_refused(tmp_path: Path) -> None:
    with pytest.raises(AssayError, match="is no twin"):
        job("twin:p4610", f"log={tmp_path}")


def test_a_tier_names_where_and_how_large(tmp_path: Path) -> None:
    made = job(str(tmp_path), tier=f"{tmp_path}:1MiB")
    assert made["tier"] == {"target": str(tmp_path), "bytes": 1 << 20, "placement": "hot"}
    assert "twins" not in made
    with pytest.raises(AssayError, match="names no size"):
        job(str(tmp_path), tier="pmem")


def test_what_is_for_twins_is_refused_on_folders(tmp_path: Path) -> None:
    with pytest.raises(AssayError, match="are for twins"):
        job(str(tmp_path), turn="2us")


def test_a_tier_that_its_folder_has_no_room_for_is_refused(tmp_path: Path) -> None:
    with pytest.raises(AssayError, match="a tier of 900 TiB was asked for") as refused:
        job(str(tmp_path), tier=f"{tmp_path}:900TiB")
    assert refused.value.code == BAD_JOB


def test_pages_are_striped_over_folders_and_written_at_a_rate(tmp_path: Path) -> None:
    folders = [tmp_path / "a", tmp_path / "b", tmp_path / "log"]
    for folder in folders:
        folder.mkdir()
    made = job(f"{folders[0]}+{folders[1]}", f"log={folders[2]}", path="libaio", write_rate="250MB/s")
    assert (made["target"], made["stripes"]) == (str(folders[0]), [str(folders[1])])
    assert (made["log_target"], made["path"]) == (str(folders[2]), "libaio")
    assert made["write_rate_bytes_per_s"] == 250e6
    with pytest.raises(AssayError, match="no rate of bytes"):
        job(str(tmp_path), write_rate="250/s")


def test_serial_numbers_are_for_devices(tmp_path: Path) -> None:
    with pytest.raises(AssayError, match="belongs to no device"):
        job(str(tmp_path), serials=("S1",))
    with pytest.raises(AssayError, match="not for twins"):
        job("twin:p4610", path="libaio")


def test_what_is_kept_needs_a_folder_and_is_opened_with_its_seed(tmp_path: Path) -> None:
    kept = declared.job(
        {"kind": "engine-ledger", "keep": f"{tmp_path}/kept"}, parse_all([str(tmp_path)], (), False)[0], {}, 7
    )
    assert (kept["keep"], kept["seed"], kept["workload"]) == (
        f"{tmp_path}/kept",
        7,
        {"kind": "ledger", "value_bytes": 120},
    )
    with pytest.raises(AssayError, match="no folder was named"):
        declared.job({"kind": "engine-ledger"}, parse_all([str(tmp_path)], (), False)[0], {}, 7)


def test_words_of_databases_are_of_the_kind_that_their_parameters_are() -> None:
    """A rate of 1e6 was told to the program as text."""

    def asks(rate: float | None = None, warehouses: int = 1, place: Path | None = None) -> None:
        """What a runner asks for."""

    words = {"rate": 1e6, "warehouses": 2, "place": "/tmp"}
    assert declared.options("dbms-tpcc", asks, words) == {"rate": 1e6, "warehouses": 2, "place": Path("/tmp")}
    assert declared.options("dbms-tpcc", asks, {"rate": 100})["rate"] == 100.0


def test_pages_are_placed_for_flash_by_the_units_of_the_drive() -> None:
    assert "collection_unit_bytes" not in job("twin:p4510")
    assert job("twin:p4510", write_placement="flash")["collection_unit_bytes"] == 64 << 20
    assert job("twin:capacity=1GiB:p4510", write_placement="flash")["collection_unit_bytes"] == 1 << 20
    asked = job("twin:capacity=1GiB:p4510", write_placement="flash", collection_unit="2MiB")
    assert asked["collection_unit_bytes"] == 2 << 20
    with pytest.raises(AssayError, match="placed for flash"):
        job("twin:p4510", collection_unit="2MiB")
