"""A scheduler and a worker that others might reach: who is let in, and what they may have done."""

from __future__ import annotations

import os
import subprocess
from collections.abc import Iterator
from pathlib import Path

import pytest
from assay.error import AssayError
from assay.fleet import keys
from assay.fleet.call import Fleet, connected
from assay.fleet.keys import Pair

from .processes import HERE, Json, can_shift_clocks, command, run, serving

pytest.importorskip("distributed")
pytestmark = pytest.mark.usefixtures("assayer")

AHEAD_S = 1000


@pytest.fixture(scope="module")
def served(tmp_path_factory: pytest.TempPathFactory, assayer: Path) -> Iterator[tuple[str, Path]]:
    """A scheduler with one worker, whose monotonic clock is far ahead where that can be had; its address and keys."""
    place = tmp_path_factory.mktemp("keys")
    keys.make(place, ["a"], 2)
    shift = ["unshare", "--time", "--fork", "--kill-child", "--monotonic", str(AHEAD_S)]
    before = [] if can_shift_clocks() else shift
    with serving("scheduler", "--listen", "tls://127.0.0.1:0", "--keys", place) as address:
        words = ("worker", address, "--name", "a", "--listen", "127.0.0.1", "--keys", place)
        with serving(*words, before=before):
            yield address, place


@pytest.fixture(scope="module")
def fleet(served: tuple[str, Path]) -> Iterator[Fleet]:
    """Connected, as a run is."""
    address, place = served
    with connected(address, Pair.of(place, "run"), "0123456789ab", ["a"]) as found:
        yield found


def test_a_host_with_another_fleets_certificate_is_refused(served: tuple[str, Path], tmp_path: Path) -> None:
    keys.make(tmp_path, ["a"], 2)
    words = ("worker", served[0], "--name", "a", "--listen", "127.0.0.1", "--keys", tmp_path)
    done = subprocess.run(command(*words), capture_output=True, text=True, check=False)
    assert done.returncode == 1
    assert "certificates" in done.stderr
    assert "Traceback" not in done.stderr
    with pytest.raises(AssayError, match="certificates"), connected(served[0], Pair.of(tmp_path, "run"), "r", []):
        pass


def test_code_of_strangers_is_not_run(fleet: Fleet) -> None:
    future = fleet.client.submit(lambda: 1, pure=False)
    assert "deserialization" in str(future.exception(timeout=30))
    with pytest.raises(ValueError, match="disallowed"):
        fleet.client.run_on_scheduler(os.getpid)


def test_a_clock_that_is_far_ahead_is_measured_and_the_start_goes_by_it(
    served: tuple[str, Path], fleet: Fleet, tmp_path: Path
) -> None:
    if reason := can_shift_clocks():
        pytest.skip(f"clocks of processes cannot be shifted: {reason}")
    offset = fleet.offsets()["a"]
    assert abs(offset.ahead_ns - AHEAD_S * 10**9) <= offset.error_ns
    words = ("--scheduler", served[0], "--keys", served[1], "--lead", "1", "--out", tmp_path / "out")
    code, document = run(HERE / "rate.toml", *words)
    (host,) = document["totals"][0]["hosts"]
    assert code == 0, document
    assert document["clocks"]["a"]["ahead_ns"] == pytest.approx(AHEAD_S * 10**9, rel=1e-3)
    assert -host["clock_error_s"] <= host["opened_s"] < 30


def test_a_cell_that_writes_and_is_sent_again_is_refused(fleet: Fleet, tmp_path: Path) -> None:
    asked: Json = {
        "study": "w",
        "text": (HERE / "writes.toml").read_text(),
        "settings": [],
        "profile": None,
        "repeats": 1,
    }
    asked |= {"seed": 1, "run": fleet.run, "command": [], "host": "a", "on": [str(tmp_path)]}
    (cell,) = fleet.ask("plan", {"a": asked})["a"]["plan"]["cells"]
    start = {"run": fleet.run, "host": "a", "cell": cell["id"], "attempt": 1}
    order = {"start": start, "job": cell["job"] | {"window": {"measure_s": 0.2, "interval_ms": 100}}}
    assert fleet.ask("run", {"a": order})["a"]["state"] == "finished"
    written = {path: path.stat().st_mtime_ns for path in tmp_path.rglob("*") if path.is_file()}
    with pytest.raises(AssayError, match="not begun twice"):
        fleet.ask("run", {"a": order})
    assert written == {path: path.stat().st_mtime_ns for path in tmp_path.rglob("*") if path.is_file()}
    fleet.ask("finish", {"a": {"starts": [start], "folders": [str(tmp_path)]}})
    assert not list(tmp_path.iterdir()), "something was left behind"
