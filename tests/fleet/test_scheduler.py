"""A scheduler and a worker that others might reach: who is let in, and what they may have done."""

from __future__ import annotations

import base64
import contextlib
import http.client
import os
import re
import socket
import subprocess
import urllib.request
from collections.abc import Iterator
from pathlib import Path

import pytest
from assay.error import AssayError
from assay.fleet import keys
from assay.fleet.call import Fleet, connected
from assay.fleet.keys import Pair
from assay.untyped import Json

from .processes import HERE, can_shift_clocks, command, run, serving

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


def test_dasks_live_pages_are_shown_on_this_machine_where_they_are_asked_for(tmp_path: Path) -> None:
    pytest.importorskip("bokeh")
    keys.make(tmp_path, ["a"], 2)
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        port = free.getsockname()[1]
    words = ("scheduler", "--listen", "tls://127.0.0.1:0", "--keys", tmp_path, "--pages", str(port))
    with serving(*words) as address:
        with urllib.request.urlopen(f"http://127.0.0.1:{port}/status") as page:
            text = page.read().decode()
        assert "Dask" in text
        # Another page of a browser there may not read along.
        token = next(iter(re.findall(r'"token":"([^"]+)"', text)))
        assert _socket_of_the_pages(port, f"http://127.0.0.1:{port}", token) == 101
        assert _socket_of_the_pages(port, "http://elsewhere.example", token) == 403
        done = subprocess.run(command(*words), capture_output=True, text=True, check=False)
        assert done.returncode == 2
        assert f"port {port} of 127.0.0.1" in done.stderr
        with serving("worker", address, "--name", "a", "--listen", "127.0.0.1", "--keys", tmp_path):
            with connected(address, Pair.of(tmp_path, "run"), "0123456789ab", ["a"]) as fleet:
                assert fleet.pages() == port
            done = subprocess.run(
                command("run", HERE / "rate.toml", "--scheduler", address, "--keys", tmp_path, "--out", tmp_path / "o"),
                capture_output=True, text=True, check=False,
            )  # fmt: skip
    assert done.returncode == 0, done.stderr
    assert f"live: http://127.0.0.1:{port}/status" in done.stdout + done.stderr


def _socket_of_the_pages(port: int, origin: str, token: str) -> int:
    """The answer to the request for a page's web socket, by a page of `origin`."""
    asked = http.client.HTTPConnection("127.0.0.1", port, timeout=30)
    key = base64.b64encode(os.urandom(16)).decode()
    asked.request(
        "GET",
        "/status/ws",
        headers={
            "Connection": "Upgrade",
            "Upgrade": "websocket",
            "Origin": origin,
            "Sec-WebSocket-Version": "13",
            "Sec-WebSocket-Key": key,
            "Sec-WebSocket-Protocol": f"bokeh, {token}",
        },
    )
    with contextlib.closing(asked):
        return asked.getresponse().status


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
