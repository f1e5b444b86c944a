"""What was acknowledged as durable is there after a kill, and a planted defect is caught."""

from __future__ import annotations

import json
import os
import shlex
import subprocess
from collections.abc import Iterator
from pathlib import Path

import pytest
from assay.untyped import Json

from . import program
from .jobs import KIB, MIB, dataset, job, klass, writes

MEANS = [
    ("pread", "fdatasync"),
    ("pread+direct", "rwf_dsync"),
    ("pread+direct", "o_dsync"),
    ("io_uring", "fdatasync"),
    ("io_uring+direct", "rwf_dsync"),
    ("libaio+direct", "fdatasync"),
    ("mmap", "msync"),
]


@pytest.mark.parametrize(("path", "durability"), MEANS, ids=str)
def test_what_was_acknowledged_is_found_after_a_kill(folder: Path, path: str, durability: str) -> None:
    words = ["verify", "--on", str(folder), "--path", path, "--durability", durability, "--kills", "1", "--json"]
    done = program.assay(*words, "--data", "8MiB", cwd=folder)
    assert done.returncode == 0, done.stdout + done.stderr
    found = json.loads(done.stdout)
    assert found["passed"]
    [one] = found["rounds"]
    assert one["acknowledged"] == one["found"] > 0
    assert (one["lost"], one["corrupt"]) == (0, 0)


def test_a_loss_is_exit_code_1(folder: Path, tmp_path: Path) -> None:
    # A stand-in that loses the file before it lets the real program look.
    lossy = tmp_path / "lossy"
    data, assayer = shlex.quote(str(folder / "assay-verify")), shlex.quote(str(program.ASSAYER))
    lossy.write_text(f'#!/bin/sh\n[ "$1" = verify ] && truncate -s 0 {data}/*.data\nexec {assayer} "$@"\n')
    lossy.chmod(0o755)
    words = ["verify", "--on", str(folder), "--kills", "1", "--data", "4MiB"]
    done = program.assay(*words, "--json", cwd=folder, program=lossy)
    assert done.returncode == 1
    document = json.loads(done.stdout)
    assert not document["passed"]
    [one] = document["rounds"]
    assert one["lost"] == one["acknowledged"] > 0
    said = program.assay(*words, cwd=folder, program=lossy)
    assert said.returncode == 1
    assert "LOST" in said.stdout


def test_several_kills_on_pmem_that_is_emulated(tmp_path: Path) -> None:
    if not os.access("/dev/shm", os.W_OK):
        pytest.skip("/dev/shm is not writable")
    words = ["verify", "--on", "/dev/shm", "--path", "pmem", "--durability", "persist", "--kills", "2", "--json"]
    done = program.assay(*words, "--data", "4MiB", "--size", "256", cwd=tmp_path)
    assert done.returncode == 0, done.stdout + done.stderr
    assert [one["lost"] + one["corrupt"] for one in json.loads(done.stdout)["rounds"]] == [0, 0]
    assert not Path("/dev/shm/assay-verify").exists()


@pytest.fixture
def killed(folder: Path, tmp_path: Path) -> Iterator[tuple[Path, Path]]:
    """A killed writer's job, and the file it wrote."""
    journal = tmp_path / "acknowledged"
    wanted = job(
        folder,
        writes(durability={"kind": "fdatasync", "every": 1}, depth=1),
        datasets=[dataset(size=MIB, content="stamped")],
        checks={"acknowledgements": str(journal)},
        measure_s=60,
        keep_scratch=True,
    )
    run = program.start(wanted)
    try:
        assert run.until("interval", at_s=0.4)
    finally:
        run.close()
    document = tmp_path / "job.json"
    document.write_text(json.dumps(wanted))
    try:
        yield document, next(folder.glob("*/*.data"))
    finally:
        program.document("scratch", "clean", str(folder))


def verify(document: Path) -> Json:
    """What the check finds, where something is wrong."""
    found: Json = program.document("verify", str(document), accepted=(1,))
    assert found["examples"]
    return found


def test_a_sound_file_passes(killed: tuple[Path, Path]) -> None:
    found = program.document("verify", str(killed[0]))
    assert found["acknowledged"] == found["found"] > 0


def test_a_planted_change_is_caught(killed: tuple[Path, Path]) -> None:
    document, path = killed
    with path.open("r+b") as file:
        for block in range(0, MIB, 4 * KIB):
            file.seek(block + 2000)
            file.write(b"\x00\x01\x02")
    found = verify(document)
    # A block that was being written at the kill may be torn by that write: one thread has at most one of them.
    assert found["torn"] <= 1
    assert found["corrupt"] == found["acknowledged"] - found["torn"] > 0


def test_an_earlier_version_of_the_file_is_caught_as_lost(killed: tuple[Path, Path]) -> None:
    # As if no write had ever reached the disk: the blocks are sound, and older than what was acknowledged.
    document, path = killed
    kept = path.read_bytes()
    job_document = json.loads(document.read_text())
    fresh = job(path.parent.parent, klass(), datasets=job_document["datasets"], scratch="fresh", measure_s=30)
    fresh["checks"] = {"data": True}
    run = program.start(fresh)
    try:
        assert run.until("interval")
        other = next(path.parent.parent.glob("fresh/*.data")).read_bytes()
    finally:
        run.close()
    assert len(other) == len(kept)
    path.write_bytes(other)
    found = verify(document)
    assert found["lost"] == found["acknowledged"] > 0


def test_a_truncated_file_is_caught_as_lost(killed: tuple[Path, Path]) -> None:
    document, path = killed
    os.truncate(path, 0)
    found = verify(document)
    assert found["lost"] == found["acknowledged"] > 0


def test_a_missing_journal_is_a_failure_with_a_sentence(folder: Path, tmp_path: Path) -> None:
    document = tmp_path / "job.json"
    document.write_text(
        json.dumps(
            job(folder, checks={"acknowledgements": str(tmp_path / "nothing")}, datasets=[dataset(content="stamped")])
        )
    )
    done = subprocess.run([str(program.ASSAYER), "verify", str(document)], capture_output=True, text=True, check=False)
    assert done.returncode == 1
    assert "nothing cannot be used" in done.stderr


PATHS = [
    ("pread", 1),
    ("pread+direct", 1),
    ("mmap", 1),
    ("libaio", 8),
    ("libaio+direct", 8),
    ("io_uring", 8),
    ("io_uring+direct", 8),
    ("io_uring+direct+fixed", 8),
]


@pytest.mark.parametrize(("path", "depth"), PATHS, ids=str)
def test_a_mixed_load_reads_what_it_wrote(folder: Path, path: str, depth: int) -> None:
    # Sizes differ and pages are few, so that every block is written and read often.
    both = klass(
        path=path,
        depth=depth,
        operation={"kind": "mix", "write_percent": 50},
        size=[{"bytes": 4 * KIB, "weight": 3}, {"bytes": 16 * KIB, "weight": 1}],
    )
    data = [dataset(size=2 * MIB, content="stamped")]
    outcome = program.run(job(folder, both, datasets=data, checks={"data": True}, measure_s=0.4))
    assert outcome.code == 0
    check = outcome.result()["check"]
    assert check["wrong"] == 0, check["examples"]
    assert check["blocks"] > 100
    assert outcome.result()["writes"] > 0


def test_a_mixed_load_on_emulated_pmem_reads_what_it_wrote() -> None:
    memory = Path("/dev/shm")
    if not os.access(memory, os.W_OK):
        pytest.skip(f"{memory} is not writable")
    both = klass(path="pmem", size=256, operation={"kind": "mix", "write_percent": 50})
    data = [dataset(size=2 * MIB, content="stamped")]
    wanted = job(memory, both, datasets=data, checks={"data": True}, measure_s=0.4, scratch=f"e2e-{os.getpid()}")
    check = program.run(wanted).result()["check"]
    assert check["wrong"] == 0, check["examples"]
    assert check["blocks"] > 100


def test_data_over_several_members_is_right(tmp_path: Path) -> None:
    members = [tmp_path / name for name in "abc"]
    for member in members:
        member.mkdir()
    target = {"id": "main", "kind": "folder", "members": [str(member) for member in members]}
    both = klass(
        path="io_uring+direct", depth=8, threads=2, operation={"kind": "mix", "write_percent": 30}, size=8 * KIB
    )
    data = [dataset(size=6 * MIB, content="stamped", stripe_bytes=16 * KIB)]
    outcome = program.run(job(target, both, datasets=data, checks={"data": True}, measure_s=0.4))
    assert outcome.code == 0
    assert outcome.result()["check"]["wrong"] == 0
    assert not [path for member in members for path in member.iterdir()]
