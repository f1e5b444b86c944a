"""Whoever computes, the answers are the same bytes: this process, others of this machine, workers of a fleet."""

from __future__ import annotations

import contextlib
import json
import os
import signal
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from assay.claim.coverage import counted
from assay.claim.reproduce import document, reproduce
from assay.error import BAD_JOB, AssayError
from assay.executor import dispatch, processes
from assay.executor.dispatch import Dispatcher
from assay.executor.work import SerialExecutor, WorkExecutor
from assay.explore import part
from assay.explore.run import Exploration, run
from assay.fleet.call import connected, pair_of_run
from assay.fleet.executor import executor_of
from assay.price.choose.twinned import curves
from assay.soak import lanes
from assay.soak.rounds import SoakOrder
from assay.untyped import Json
from commands import assay
from fleet.processes import serving, until

pytest.importorskip("distributed")
pytestmark = pytest.mark.usefixtures("assayer")

TWINS = ("990pro", "ddr4-2666-32g")


@pytest.fixture(scope="module")
def others(assayer: Path) -> Iterator[WorkExecutor]:
    """Two processes of this machine."""
    del assayer
    with processes.started(2) as found:
        yield found


@pytest.fixture(scope="module")
def hosts(assayer: Path) -> Iterator[WorkExecutor]:
    """Two workers of a fleet."""
    del assayer
    with contextlib.ExitStack() as running:
        where = running.enter_context(serving("scheduler", "--listen", "tcp://127.0.0.1:0"))
        for name in ("a", "b"):
            running.enter_context(serving("worker", where, "--name", name, "--listen", "127.0.0.1"))
        yield executor_of(running.enter_context(connected(where, pair_of_run(None), "test", ("a", "b"))))


@pytest.fixture(params=["others", "hosts"])
def executor(request: pytest.FixtureRequest) -> WorkExecutor:
    """Each of both."""
    found: WorkExecutor = request.getfixturevalue(request.param)
    assert found.size == 2
    return found


def test_claims_are_the_same_bytes(executor: WorkExecutor) -> None:
    alone, spread = (json.dumps(document(reproduce("scm", executor=by))) for by in (None, executor))
    assert spread == alone


def test_latencies_of_a_choice_are_the_same(executor: WorkExecutor) -> None:
    names = ["gp3", "io2", "i4i-2xlarge"]
    assert curves(names, 4096, Dispatcher(executor)) == curves(names, 4096)


def test_bands_and_points_are_the_same(executor: WorkExecutor) -> None:
    orders: list[Json] = [{"of": "memory"}, {"of": "sizes"}, {"of": "memory"}]
    assert executor.do(counted, orders) == SerialExecutor().do(counted, orders)
    parts = [{"twins": list(TWINS), "count": 40, "number": number, "size": 9} for number in range(5)]
    spread, alone = ([one["parquet"] for one in by.do(part.answered, parts)] for by in (executor, SerialExecutor()))
    assert spread == alone


def test_a_simulated_run_is_the_same_and_no_other_run_is_computed(executor: WorkExecutor) -> None:
    with pytest.raises(AssayError, match="only runs on twins"):
        executor.do(dispatch.ended, [{"targets": [{"id": "main", "kind": "folder", "members": ["/"]}]}])


def test_errors_keep_sentence_and_code(executor: WorkExecutor) -> None:
    with pytest.raises(AssayError, match="nothing") as caught:
        executor.do(part.answered, [{"twins": ["nothing"], "count": 1, "number": 0, "size": 1}])
    assert caught.value.code == BAD_JOB


def test_points_go_to_this_machine_wherever_they_are_computed(hosts: WorkExecutor, tmp_path: Path) -> None:
    found = run(Exploration(40, tmp_path / "out", TWINS), hosts, lambda _: None)
    assert (found["points"], found["workers"]) == (40, 2)
    assert len(list((tmp_path / "out" / "points").iterdir())) == 14
    assert run(Exploration(40, tmp_path / "out", TWINS), hosts, lambda _: None)["points"] == 0


def test_stores_share_the_kills_and_leave_nothing(executor: WorkExecutor, tmp_path: Path) -> None:
    order = SoakOrder("ssd-hash", {"place": str(tmp_path)}, "fdatasync", None, 1, 64, 3, 1)
    if not executor.here:
        order = SoakOrder("ssd-hash", {"place": str(tmp_path)}, "fdatasync", None, 1, 64, 1, 1)
    found = lanes.soak(order, executor, lambda _: None)
    assert found.whole
    assert (found.kills, found.stores) == (order.kills, min(2, order.kills))
    assert found.finding["turns"] > 0


def test_one_loss_among_stores_is_a_loss(tmp_path: Path) -> None:
    made = [tmp_path / "a", tmp_path / "b"]

    class Losing(SerialExecutor):
        size = 2

        def do(self, work: Any, orders: Any, heard: Any = None) -> list[Any]:
            del work, heard
            one: Json = {"name": "n", "acknowledged": 5, "found": 5, "torn": 0, "lost": 0, "corrupt": 0}
            counts = [one | {"examples": []}, one | {"found": 4, "lost": 1, "examples": ["key 3"]}]
            assert [order["kills"] for order in orders] == [2, 1]
            assert orders[0]["seed"] != orders[1]["seed"]
            return [
                {"whole": not count["lost"], "error": None, "kills": 1, "kept": [str(place)] if count["lost"] else []}
                | {"finding": {"datasets": [count], "turns": 7, "structure": "sound"}}
                for count, place in zip(counts, made, strict=True)
            ]

    by = Losing()
    by.here = False
    order = SoakOrder("ssd-hash", {"place": str(tmp_path)}, "fdatasync", None, 1, 64, 3, 1)
    found = lanes.soak(order, by, lambda _: None)
    assert not found.whole
    assert found.finding["datasets"][0]["lost"] == 1
    assert found.finding["turns"] == 14
    assert found.kept == [str(made[1])]


def test_a_document_goes_in_parts_with_what_each_needs() -> None:
    questions = [{"target": place % 3, "host": 1, "streams": [place]} for place in range(7)]
    whole: Json = {"version": 1, "targets": ["x", "y", "z"], "hosts": ["h", "i"], "questions": questions}
    parts = list(dispatch.split(whole, 4))
    assert [len(one["questions"]) for one in parts] == [2, 2, 2, 1]
    seen = [
        (one["targets"][asked["target"]], one["hosts"][asked["host"]], asked["streams"])
        for one in parts
        for asked in one["questions"]
    ]
    assert seen == [("xyz"[place % 3], "i", [place]) for place in range(7)]
    assert parts[3]["targets"] == ["x"]


def test_processes_end_with_whoever_was_killed(tmp_path: Path) -> None:
    words = ("explore", "--points", "1e6", "--workers", "2", "--out", str(tmp_path / "out"))
    process = subprocess.Popen([sys.executable, "-I", "-m", "assay", *words], stderr=subprocess.DEVNULL)
    until(lambda: len(_below(process.pid)) >= 2)
    below = _below(process.pid)
    process.send_signal(signal.SIGKILL)
    process.wait()
    until(lambda: not [one for one in below if Path(f"/proc/{one}/cmdline").exists()])


def _below(number: int) -> list[int]:
    """Children that a spawn has made ready to compute."""
    found = []
    for path in Path("/proc").glob("[0-9]*"):
        with contextlib.suppress(OSError):
            parent = int((path / "stat").read_text().rpartition(")")[2].split()[1])
            if parent == number and b"spawn_main" in (path / "cmdline").read_bytes():
                found.append(int(path.name))
    return found


@pytest.mark.parametrize(
    ("words", "said"),
    [
        (("--workers", "2", "--scheduler", "tcp://127.0.0.1:9"), "--workers are processes of this machine"),
        (("--certificates", "keys"), "--certificates belong to --scheduler"),
    ],
)
def test_who_computes_is_said_once(words: tuple[str, ...], said: str) -> None:
    done = assay("reproduce", "scm", *words)
    assert done.returncode == BAD_JOB
    assert said in done.stderr


def test_a_command_has_the_same_output_by_workers(tmp_path: Path) -> None:
    alone, spread = (
        subprocess.run(
            [sys.executable, "-I", "-m", "assay", "reproduce", "drop-in", "--json", *words],
            capture_output=True,
            check=True,
            cwd=tmp_path,
            env=dict(os.environ),
        ).stdout
        for words in ((), ("--workers", "2"))
    )
    assert alone
    assert spread == alone
