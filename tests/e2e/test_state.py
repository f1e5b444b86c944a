"""States of cache and drive that a job asks for: a page cache of a size, rest, a trim."""

from __future__ import annotations

import os
from pathlib import Path

import pytest
from assay.untyped import Json

from . import places, program
from .jobs import KIB, MIB, dataset, fixed, job, klass, writes
from .places import Loop

MEMORY = {"id": "main", "kind": "memory"}


def groups_left() -> list[Path]:
    """Control groups of runs of this machine that are gone."""
    found = Path("/sys/fs/cgroup").rglob("assay-room-*")
    return [path for path in found if not Path("/proc", path.name.rpartition("-")[2]).exists()]


def test_a_page_cache_of_a_size_serves_no_more_than_that(folder: Path) -> None:
    # An eighth of the data fits: without the limit all of it would be in memory after one round.
    reads = klass(path="pread", size=64 * KIB)
    wanted = job(folder, reads, datasets=[dataset(size=128 * MIB)], cache_bytes=16 * MIB, window={"warmup_s": 0.5})
    outcome = program.run(wanted)
    if outcome.code == 4:
        pytest.skip(f"control groups cannot be made here: {outcome.refusal}")
    result, limits = outcome.result(), outcome.record["environment"]["limits"]
    assert result["device_read_bytes"]["value"] > 0.5 * result["bytes"]
    own = [one for one in limits if "assay-room-" in one["group"]]
    assert own, limits
    assert 16 * MIB <= own[0]["value"] < 128 * MIB
    assert outcome.record["job"]["cache_bytes"] == 16 * MIB
    assert not groups_left()


def test_a_run_that_fails_leaves_no_control_group(folder: Path) -> None:
    program.run(job(folder, datasets=[dataset(size=1 << 60)], cache_bytes=16 * MIB))
    assert not groups_left()


def test_the_page_cache_of_what_has_none_is_refused(folder: Path) -> None:
    assert "no page cache" in program.run(job(MEMORY, klass(path="pmem"), cache_bytes=16 * MIB)).refusal
    assert "bypassed" in program.run(job(folder, cache="bypassed", cache_bytes=16 * MIB)).refusal
    assert "8 MiB" in program.run(job(folder, cache_bytes=4096)).refusal
    assert "cool_down_s" in program.run(job(folder, cool_down_s=-1)).refusal


def test_who_may_not_make_control_groups_is_told(folder: Path) -> None:
    if os.geteuid() != 0:
        pytest.skip("only root can become nobody")
    others = ("setpriv", "--reuid", "65534", "--regid", "65534", "--clear-groups")
    found = Path("/proc/self/cgroup").read_text()
    if not found.strip():
        pytest.skip("the kernel has no control groups")
    folder.chmod(0o777)
    outcome = program.run(job(Path("/var/tmp"), cache_bytes=16 * MIB), others)
    assert outcome.code == 4
    assert "page cache cannot be bounded" in outcome.refusal


def test_a_rest_before_the_load_is_told_and_in_no_figure(folder: Path) -> None:
    outcome = program.run(job(folder, klass(), cool_down_s=0.3, measure_s=0.2))
    rested = [event for event in outcome.events if event.get("stage") == "cooling down"]
    assert rested
    assert outcome.record["run"]["wall_s"] >= 0.5
    assert outcome.record["window"]["measured_s"] < 0.4


def test_a_trim_gives_own_files_back_and_writes_them_anew(own_disk: tuple[Loop, Path]) -> None:
    keeps = {"scratch": "trimmed", "keep_scratch": True}
    place = own_disk[1]
    try:
        program.run(job(place, writes(), **keeps, measure_s=0.2))
        before = next(place.glob("trimmed/*.data")).stat().st_ino
        program.run(job(place, writes(), **keeps, measure_s=0.2))
        assert next(place.glob("trimmed/*.data")).stat().st_ino == before, "without a trim the file is used again"
        trimmed = program.run(job(place, writes(), **keeps, trim=True, measure_s=0.2))
        prepared = [event for event in trimmed.events if event.get("stage") == "preparing data"]
        assert prepared, "the file was written anew"
    finally:
        program.run(job(place, writes(), scratch="trimmed", measure_s=0.2))
    assert not list(place.glob("trimmed"))


def test_what_is_somebody_elses_is_not_trimmed(tmp_path: Path) -> None:
    mine = tmp_path / "table"
    mine.write_bytes(os.urandom(MIB))
    found = dataset(size=MIB, layout="as-found")
    target = {"id": "main", "kind": "file", "members": [str(mine)]}
    assert "trim" in program.run(job(target, klass(), datasets=[found], trim=True)).refusal
    assert mine.stat().st_size == MIB


def all_of(device: Loop) -> Json:
    """A device whose content may be destroyed, as target."""
    found = {"id": "main", "kind": "block-device", "members": [str(device.device)]}
    return found | {"serials": [device.serial], "yes_destroy": True}


def test_a_trimmed_device_is_written_anew(tmp_path: Path) -> None:
    with places.loop(tmp_path / "image", 64 * MIB) as device:
        outcome = program.run(job(all_of(device), writes(), trim=True, measure_s=0.2))
        assert outcome.record["job"]["trim"] is True
        assert outcome.result()["writes"] > 0


def test_a_class_that_trims_gives_the_ranges_of_its_data_back_and_moves_nothing(tmp_path: Path) -> None:
    with places.loop(tmp_path / "image", 96 * MIB) as device:
        trims = klass("trims", "pread", operation={"kind": "trim"}, size=64 * KIB, pattern={"kind": "sequential"})
        outcome = program.run(job(all_of(device), trims, measure_s=0.5))
        result = outcome.result()
        assert result["operations"] > 10
        assert result["bytes"] == result["operations"] * 64 * KIB
        assert (result["reads"], result["writes"]) == (0, 0)
        assert result.get("device_written_bytes", {"value": 0})["value"] < MIB
        # 32 MiB were written, and more than 100 * 64 KiB of them given back.
        assert device.image.stat().st_blocks * 512 < 28 * MIB
        assert "compressible-data" not in outcome.codes()


def test_trims_of_files_by_other_paths_and_on_twins_are_refused(folder: Path) -> None:
    trims = klass("trims", "pread", operation={"kind": "trim"})
    assert "no block device" in program.run(job(folder, trims)).refusal
    device = {"id": "main", "kind": "block-device", "members": ["/dev/null"]}
    assert "use pread" in program.run(job(device, klass("t", "libaio+direct", operation={"kind": "trim"}))).refusal
    assert "data of their own" in program.run(job(device, trims, klass())).refusal
    durable = trims | {"durability": {"kind": "fdatasync", "every": 1}}
    assert "leave durability out" in program.run(job(device, durable)).refusal


@pytest.mark.parametrize("more", [{"depth": 4, "path": {"kind": "libaio"}}, {"arrivals": fixed(10)}])
def test_a_pause_is_of_a_closed_loop_with_one_in_flight(folder: Path, more: Json) -> None:
    assert "think" in program.run(job(folder, klass(think={"pause_s": 0.01}) | more)).refusal
    assert "pause_s" in program.run(job(folder, klass(think={"pause_s": -1}))).refusal
