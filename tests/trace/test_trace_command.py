"""`assay trace` on running programs: what it saw is what they did; what cannot be recorded is said."""

import contextlib
import json
import os
import subprocess
import sys
import time
import tomllib
from collections.abc import Iterator
from pathlib import Path

import pytest
from assay.error import AssayError
from assay.trace import calls, process, tracefs
from assay.trace.device import devices_of
from assay.untyped import Json

LOAD = Path(__file__).with_name("load.py")


def assay(*words: str, folder: Path) -> subprocess.CompletedProcess[str]:
    command = [sys.executable, "-m", "assay", *words]
    return subprocess.run(command, cwd=folder, capture_output=True, text=True, timeout=120, check=False)


@contextlib.contextmanager
def known_load(file: Path) -> Iterator[subprocess.Popen[str]]:
    command = [sys.executable, str(LOAD), str(file)]
    with subprocess.Popen(command, stdout=subprocess.PIPE, text=True) as load:
        try:
            assert load.stdout is not None
            assert load.stdout.readline() == "begun\n"
            yield load
        finally:
            load.kill()


@pytest.fixture(scope="module")
def file(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("known")
    if not devices_of([folder]):
        pytest.skip(f"{folder} lies on no block device")
    path = folder / "file"
    with path.open("wb") as out:
        for _ in range(20):
            out.write(os.urandom(1 << 20))
        os.fsync(out.fileno())
    try:
        os.close(os.open(path, os.O_RDWR | os.O_DIRECT))
    except OSError as error:
        pytest.skip(f"no direct I/O there: {error}")
    return path


@pytest.fixture(scope="module")
def load(file: Path) -> Iterator[subprocess.Popen[str]]:
    with known_load(file) as running:
        yield running


def by_name(found: Json) -> dict[str, Json]:
    return {one["name"]: one for one in found["classes"]}


def test_requests_of_a_known_load_are_found_and_replayed_by_a_twin(load: subprocess.Popen[str], tmp_path: Path) -> None:
    if reason := tracefs.why_not():
        pytest.skip(reason)
    words = ("--duration", "2s", "--out", "it.toml", "--json")
    done = assay("trace", "--pid", str(load.pid), *words, folder=tmp_path)
    assert done.returncode == 0, done.stderr
    found = json.loads(done.stdout)
    assert found["means"] == "block"
    assert found["facts"]["events_lost"] == 0
    seen = by_name(found)
    reads, log = seen["point-reads"], seen["log"]
    assert reads["operations"] == pytest.approx(4 * log["operations"], rel=0.1, abs=40)
    assert log["flushes_per_s"] == pytest.approx(log["ops_per_s"], rel=0.1, abs=3)
    assert (reads["pattern"], log["pattern"]) == ("random", "sequential")
    assert max(reads["sizes"], key=lambda one: one["weight"])["bytes"] == 8192
    assert max(log["sizes"], key=lambda one: one["weight"])["bytes"] == 16384
    assert reads["in_flight_p99"] == 1
    assert found["facts"]["sync_calls"] == pytest.approx(log["operations"], rel=0.1, abs=10)
    replayed(tmp_path, log["ops_per_s"])


def replayed(folder: Path, log_rate: float) -> None:
    """A twin serves what was recorded, at the rate that was recorded; in a shorter time a burst may not come."""
    words = ("run", "it.toml", "--on", "twin:p5800x", "--out", "out", "--no-report", "--json")
    done = assay(*words, folder=folder)
    assert done.returncode == 0, done.stderr
    record = json.loads(next((folder / "out" / "records").glob("*.json")).read_text())
    log = next(one for one in record["classes"] if one["name"] == "log")
    assert log["ops_rate"]["value"] == pytest.approx(log_rate, rel=0.2)


def test_counters_tell_rates_and_mean_sizes_and_what_they_assume(load: subprocess.Popen[str], tmp_path: Path) -> None:
    words = ("--duration", "1s", "--means", "counters", "--out", "it.toml", "--json")
    done = assay("trace", "--pid", str(load.pid), *words, folder=tmp_path)
    assert done.returncode == 0, done.stderr
    found = json.loads(done.stdout)
    used = found["facts"]["process"]
    assert used["read_bytes"] == pytest.approx(2 * used["written_bytes"], rel=0.1)
    assert set(by_name(found)) == {"reads", "writes"}
    assert any("guessed" in text for text in found["cannot_know"])


def test_calls_are_followed_and_the_program_goes_on(load: subprocess.Popen[str], tmp_path: Path) -> None:
    if reason := calls.why_not():
        pytest.skip(reason)
    words = ("--duration", "1s", "--means", "calls", "--out", "it.toml", "--json")
    done = assay("trace", "--pid", str(load.pid), *words, folder=tmp_path)
    if done.returncode == 4:
        pytest.skip(done.stdout)
    assert load.poll() is None
    assert process.alive(load.pid)
    assert done.returncode == 0, done.stderr
    seen = by_name(json.loads(done.stdout))
    assert seen["point-reads"]["sizes"] == [{"bytes": 8192, "weight": seen["point-reads"]["operations"]}]
    assert seen["log"]["flushes_per_s"] == pytest.approx(seen["log"]["ops_per_s"], rel=0.05)
    assert tomllib.loads((tmp_path / "it.toml").read_text())["parameters"]["sync_path"] == "pread"


def test_a_program_that_ends_leaves_what_was_recorded_until_then(file: Path, tmp_path: Path) -> None:
    words = ("--duration", "100s", "--means", "counters", "--out", "it.toml")
    with known_load(file) as load:
        command = [sys.executable, "-m", "assay", "trace", "--pid", str(load.pid), *words]
        with subprocess.Popen(
            command, cwd=tmp_path, stdout=subprocess.DEVNULL, stderr=subprocess.PIPE, text=True
        ) as it:
            assert it.stderr is not None
            assert it.stderr.readline().startswith("recording")
            time.sleep(1)
            load.kill()
            said = it.stderr.read()
    assert it.returncode == 1, said
    assert f"process {load.pid} ended after" in said
    assert any("ended early" in note.lower() for note in tomllib.loads((tmp_path / "it.toml").read_text())["notes"])


def test_no_operation_at_all_is_said_and_nothing_is_written(tmp_path: Path) -> None:
    with subprocess.Popen(["sleep", "100"]) as sleeper:
        try:
            done = assay("trace", "--pid", str(sleeper.pid), "--duration", "0.5s", "--out", "it.toml", folder=tmp_path)
        finally:
            sleeper.kill()
    assert done.returncode == 1
    assert "made no operation" in done.stderr
    assert not (tmp_path / "it.toml").exists()


def test_a_file_that_is_there_is_kept(tmp_path: Path) -> None:
    (tmp_path / "it.toml").write_text("mine")
    done = assay("trace", "--pid", str(os.getpid()), "--out", "it.toml", folder=tmp_path)
    assert done.returncode == 2
    assert "is there already" in done.stderr
    assert (tmp_path / "it.toml").read_text() == "mine"


def test_a_thread_of_the_kernel_is_no_database() -> None:
    if not process.is_kernel(2):
        pytest.skip("process 2 is no thread of the kernel here")
    with pytest.raises(AssayError, match="thread of the kernel"):
        process.check(2)


def test_another_users_process_is_named_with_its_owner() -> None:
    if os.geteuid() != 0:
        pytest.skip("only root can become somebody else to try it")
    reader, writer = os.pipe()
    child = os.fork()
    if child == 0:
        os.close(reader)
        os.setgid(65534)
        os.setuid(65534)
        try:
            process.check(os.getppid())
            os.write(writer, b"nothing was said")
        except AssayError as error:
            os.write(writer, error.message.encode())
        os._exit(0)
    os.close(writer)
    with os.fdopen(reader) as said:
        assert "belongs to root" in said.read()
    os.waitpid(child, 0)
