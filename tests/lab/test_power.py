"""What is written to while the power is cut, and how it is judged."""

from __future__ import annotations

import json
import random
import signal
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest
from assay_lab import cut
from assay_lab.cut import Found, Outcome
from assay_lab.qemu import MIB, Drive, MachineSpec, command
from assay_lab.rebuild import KEEPS_NOTHING, Cache
from assay_lab.site import Cell, Expect, Site
from assay_lab.suites import power
from jsonschema.validators import validator_for  # type: ignore[import-untyped]

SCHEMA = json.loads((Path(__file__).parents[2] / "schema" / "job.schema.json").read_text())
EVERY = [site for group in power.GROUPS.values() for site in group]


def counted(acknowledged: int = 60, lost: int = 0, corrupt: int = 0, torn: int = 0) -> dict[str, Any]:
    found = acknowledged - lost - corrupt - torn
    counts = {"acknowledged": acknowledged, "found": found, "torn": torn, "lost": lost, "corrupt": corrupt}
    return counts | {"examples": ["offset 0: gone"] if lost or corrupt else []}


@pytest.mark.parametrize("site", [site for site in EVERY if site.measures], ids=lambda site: site.name)
def test_every_sites_job_is_a_job(site: Site) -> None:
    job = site.job("serial", 7)
    validator_for(SCHEMA)(SCHEMA).validate(job)
    assert job["checks"]["journalling"] == "write"
    names = [one["name"] for one in job["datasets"]]
    assert len(names) == len(set(names)) == len(site.cells)
    assert all(name.replace("-", "").replace("_", "").isalnum() for name in names)


@pytest.mark.parametrize("group", power.GROUPS, ids=str)
def test_sites_of_a_group_have_names_of_their_own(group: str) -> None:
    names = [site.name for site in power.GROUPS[group]]
    assert len(names) == len(set(names))


def test_every_means_of_durability_is_there() -> None:
    means = {cell.durability for site in EVERY for cell in site.cells}
    assert means >= {"fdatasync", "fsync", "o_dsync", "rwf_dsync", "msync", "persist", "none"}
    paths = {cell.path.split("+")[0] for site in EVERY for cell in site.cells}
    assert paths >= {"pread", "mmap", "libaio", "io_uring", "nvme_passthrough", "pmem"}


def test_every_group_but_one_catches_a_loss() -> None:
    for name, group in power.GROUPS.items():
        caught = [cell for site in group for cell in site.cells if cell.expect is Expect.LOST]
        assert caught, name


JUDGED = [
    (Expect.KEPT, counted(), ""),
    (Expect.KEPT, counted(torn=3), ""),
    (Expect.KEPT, counted(lost=1), "1 of 60 blocks are lost (offset 0: gone) / none"),
    (Expect.KEPT, counted(corrupt=1), "1 of 60 blocks are corrupt (offset 0: gone) / none"),
    (Expect.KEPT, counted(acknowledged=0), "0 blocks were acknowledged / 5 at least"),
    (Expect.KEPT, None, "the checker says nothing of it"),
    (Expect.LOST, counted(lost=1), ""),
    (Expect.LOST, counted(), "none is seen as lost / some"),
    (Expect.LOST, counted(lost=1, corrupt=1), "corrupt"),
    (Expect.SPARED, counted(), ""),
    (Expect.SPARED, counted(lost=1), "lost"),
    (Expect.SHOWN, counted(), ""),
    (Expect.SHOWN, counted(lost=60), ""),
    (Expect.SHOWN, counted(corrupt=2), ""),
]


@pytest.mark.parametrize(("expect", "seen", "said"), JUDGED, ids=str)
def test_a_cell_is_judged_by_what_is_expected_of_it(expect: Expect, seen: dict[str, Any] | None, said: str) -> None:
    sentence = Cell("pread", "fdatasync", expect).judge(seen)
    assert (said in sentence) if said else sentence == ""


def test_a_site_that_does_not_come_back_or_whose_writers_ended_is_named() -> None:
    site = Site("place", [Cell("pread", "fdatasync"), Cell("mmap", "none", Expect.LOST)])
    good = {"pread-fdatasync": counted(), "mmap-none": counted(lost=3)}
    found = [
        Found("place", 11, {}, good),
        Found("place", 12, {}, {}, "it did not come back: mount failed"),
        Found("place", 13, {}, good | {"mmap-none": counted()}),
    ]
    wrong = power.judge([site], Outcome(1, 2.0, {"other": "making it failed"}, found))
    assert wrong[0] == "other: making it failed"
    assert "mount failed (drives as of seed 12)" in wrong[1]
    assert "none is seen as lost" in wrong[2]
    assert "seed 13" in wrong[2]
    assert len(wrong) == 3


def test_a_cut_leaves_no_call_half_done(tmp_path: Path) -> None:
    # Each call writes eight pages of one letter; a kill in the middle of a call would leave a shorter piece.
    file = tmp_path / "written"
    script = (
        "import os, sys, threading\n"
        "def work(at):\n"
        "    f = os.open(sys.argv[1], os.O_WRONLY | os.O_CREAT)\n"
        "    n = 0\n"
        "    while True:\n"
        "        os.pwrite(f, bytes([65 + n % 26]) * 1048576, at << 20)\n"
        "        n += 1\n"
        "        print(n, flush=True)\n"
        "for at in range(4): threading.Thread(target=work, args=(at,)).start()\n"
    )
    seed = random.randrange(1 << 32)  # noqa: S311
    dice = random.Random(seed)  # noqa: S311
    for _ in range(5):
        process = subprocess.Popen([sys.executable, "-c", script, str(file)], stdout=subprocess.PIPE)
        assert process.stdout is not None
        for _ in range(dice.randrange(10, 60)):
            process.stdout.readline()
        cut.cut(_Standin(process))  # type: ignore[arg-type]
        process.stdout.close()
        assert process.returncode == -signal.SIGKILL
        content = file.read_bytes()
        pieces = [set(content[at << 20 : (at + 1) << 20]) for at in range(len(content) >> 20)]
        assert all(len(piece - {0}) <= 1 for piece in pieces), f"seed {seed}: {pieces}"


class _Standin:
    """As much of a guest as a cut needs."""

    def __init__(self, process: subprocess.Popen[bytes]) -> None:
        self._process = process
        self.pid = process.pid

    def cut(self) -> None:
        self._process.kill()
        self._process.wait()


def test_a_drive_with_forced_unit_access_is_a_scsi_drive(tmp_path: Path) -> None:
    drives = [
        Drive("a", tmp_path / "a", MIB, tmp_path / "a.log", bus="scsi"),
        Drive("b", tmp_path / "b", MIB, tmp_path / "b.log"),
    ]
    words = command(MachineSpec(Path("/k"), Path("/i"), drives=drives))
    assert "virtio-scsi-pci,id=scsi" in words
    scsi = next(word for word in words if word.startswith("scsi-hd,"))
    nvme = next(word for word in words if word.startswith("nvme,"))
    assert "serial=assay-a" in scsi
    assert "dpofua=on" in scsi
    assert "drive=log-b" in nvme
    # Linux sends write zeroes commands to neither of them.
    assert "discard_granularity=0" in scsi
    assert "use-intel-id=on" in nvme


def test_drives_without_a_log_are_what_they_were() -> None:
    words = command(MachineSpec(Path("/k"), Path("/i"), drives=[Drive("b", Path("/d/b"), MIB)]))
    assert not any("scsi" in word or "use-intel-id" in word for word in words)


def test_a_guest_on_a_busy_host_does_not_panic_over_its_timer() -> None:
    words = command(MachineSpec(Path("/k"), Path("/i")))
    assert "no_timer_check" in words[words.index("-append") + 1].split()


def test_a_bare_drive_that_must_lose_data_is_not_a_lucky_one(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    # With a cache that kept every write, nothing was lost, and the check said that the control had failed.
    asked: dict[str, float] = {}

    def rebuilt(_log: Any, drive: Path, *_: Any, survive_at_most: float, base: Path | None) -> None:
        assert base is None
        asked[drive.name] = survive_at_most

    class Bench:
        def names(self, site: Site) -> list[str]:
            return [site.name]

        def log(self, name: str) -> Path:
            return tmp_path / name

        file = log

    monkeypatch.setattr(cut, "rebuild", rebuilt)
    for site in power.DRIVES:
        (tmp_path / site.name).touch()
        cut._rebuilt(Bench(), site, 1)  # type: ignore[arg-type]
    assert asked["nvme-none"] == asked["scsi-none"] == asked["nvme-passthrough-none"] == 0.5
    assert asked["nvme-flushed"] == 1.0


def test_a_place_that_is_only_shown_breaks_nothing_when_it_does_not_come_back() -> None:
    """The write hole of a RAID 5 without a log may take the file system along."""
    sites = {site.name: site for site in power.DEGRADED}
    gone = [Found(name, 1, {}, {}, "it did not come back: mount failed") for name in sites]
    wrong = power.judge(power.DEGRADED, Outcome(1, 1.0, {}, gone))
    assert [name for name in sites if any(one.startswith(f"{name}:") for one in wrong)] == [
        "raid10-degraded",
        "raid5-ppl-degraded",
    ]


def test_a_degraded_array_comes_back_without_its_last_member() -> None:
    site = next(site for site in power.DEGRADED if site.name == "raid10-degraded")
    script = cut._back(site, ["/dev/a", "/dev/b", "/dev/c", "/dev/d"])
    assert "set -- /dev/a /dev/b /dev/c\n" in script


def test_every_file_system_that_is_cut_has_its_structure_looked_at() -> None:
    assert all(site.audit for site in (*power.JOURNALLED, *power.COPIED, *power.RECOVERY))


def test_caches_of_all_kinds_are_drawn() -> None:
    drawn = {Cache.drawn(random.Random(seed)) for seed in range(300)}  # noqa: S311
    assert KEEPS_NOTHING in drawn
    assert {cache.survive for cache in drawn} >= {0.0, 1.0}
    assert len(drawn) > 5
    unlucky = {Cache.drawn(random.Random(seed), 0.5).survive for seed in range(99)}  # noqa: S311
    assert max(unlucky) == 0.5


def test_every_state_is_made_from_the_log_up_to_the_first_cut(tmp_path: Path) -> None:
    # The boot in which places come back wrote over that log, and the second state began from nothing.
    class Lab:
        folder = share = tmp_path

    bench = cut._Bench(Lab(), [Site("place", [Cell("pread", "fdatasync")])], print)  # type: ignore[arg-type]
    bench.drives(bench.log)
    bench.log("cut0").write_text("what was written before the cut")
    [drive] = bench.drives(bench.second_log)
    assert drive.log == bench.second_log("cut0")
    bench.drives()
    assert bench.log("cut0").read_text() == "what was written before the cut"
    bench.clear()
    assert not list(tmp_path.glob("power-*"))
