"""`assay soak`: what an index or the engine acknowledged is there after its process was killed."""

from __future__ import annotations

import json
import shutil
import tempfile
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from e2e.program import assay

pytestmark = pytest.mark.e2e

IN_PMEM = ("fptree", "bztree", "dash-eh", "dash-lh")


@pytest.fixture
def memory() -> Iterator[Path]:
    """A folder in memory, which stands in for persistent memory."""
    if not Path("/dev/shm").is_dir():
        pytest.skip("there is no /dev/shm")
    with tempfile.TemporaryDirectory(dir="/dev/shm", prefix="assay-test-") as folder:
        yield Path(folder)


@pytest.mark.parametrize("store", IN_PMEM)
def test_nothing_in_persistent_memory_is_lost_to_a_kill(store: str, memory: Path) -> None:
    loses_nothing(store, memory)


@pytest.mark.parametrize("store", ["ssd-btree", "ssd-hash", "engine"])
def test_nothing_on_a_drive_is_lost_to_a_kill(store: str, tmp_path: Path) -> None:
    loses_nothing(store, tmp_path)


def test_an_engine_with_several_logs_loses_nothing_to_a_kill(tmp_path: Path) -> None:
    found = loses_nothing("engine", tmp_path, "--logs", "2")
    assert found["logs"] == 2


def loses_nothing(store: str, tmp_path: Path, *more: str) -> dict[str, Any]:
    usual = ("--on", str(tmp_path), "--kills", "3", "--keys", "128", "--json")
    done = assay("soak", store, *usual, *more, cwd=tmp_path)
    found = json.loads(done.stdout)
    assert (done.returncode, found["passed"], found["kills"]) == (0, True, 3), found
    assert found["turns"] > 0
    assert not list(tmp_path.iterdir()), "its files are removed"
    return dict(found)


def test_an_engine_without_a_log_is_caught_losing(tmp_path: Path) -> None:
    done = assay("soak", "engine", "--on", str(tmp_path), "--kills", "8", "--durability", "none", cwd=tmp_path)
    assert done.returncode == 1, done.stdout
    assert "LOST" in done.stdout
    [kept] = tmp_path.iterdir()
    assert str(kept) in done.stdout
    shutil.rmtree(kept)


@pytest.mark.parametrize(
    ("flags", "said"),
    [
        (["--logs", "2", "--durability", "none"], "a durability that has any"),
        (["--keys", "3"], "3 keys were asked for"),
        (["--durability", "pmem"], "no place for it was given"),
        (["--on", "nowhere"], "nowhere is no folder"),
    ],
)
def test_bad_input_is_a_sentence_and_leaves_nothing(flags: list[str], said: str, tmp_path: Path) -> None:
    done = assay("soak", "engine", "--on", str(tmp_path), *flags, cwd=tmp_path)
    assert done.returncode == 2
    assert said in done.stderr
    assert not list(tmp_path.iterdir())


def test_a_store_that_is_not_there_is_a_sentence(tmp_path: Path) -> None:
    done = assay("soak", "ssd-btre", "--on", str(tmp_path), cwd=tmp_path)
    assert done.returncode == 2
    assert "did you mean `ssd-btree`?" in done.stderr
    assert not list(tmp_path.iterdir())


def test_a_soak_that_is_interrupted_after_its_first_kill_keeps_no_folder(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    from assay import own
    from assay.soak import lanes
    from assay.soak.rounds import Rounds, SoakOrder

    def interrupted(rounds: Any) -> bool:
        rounds.kills = 5
        raise KeyboardInterrupt

    kept: list[Path] = []
    monkeypatch.setattr(own, "make", lambda place, _prefix: place)
    monkeypatch.setattr(own, "keep", kept.append)
    monkeypatch.setattr(Rounds, "go", interrupted)
    order = SoakOrder("engine", {"place": str(tmp_path)}, "fdatasync", None, 1, 64, 9, 1)
    with pytest.raises(KeyboardInterrupt):
        lanes.soak(order, None, lambda _: None)
    assert not kept
