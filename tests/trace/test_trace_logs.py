"""Scenarios out of files that fio and blktrace wrote."""

import contextlib
import shutil
import struct
import subprocess
import tempfile
from pathlib import Path

import pytest
from assay.trace import logs
from assay.trace.error import TraceError
from hypothesis import given
from hypothesis import strategies as st

_READ, _WRITE, _FLUSH, _SYNC, _NOTIFY = 1 << 16, 1 << 17, 1 << 18, 1 << 19, 1 << 26
_QUEUE, _ISSUE, _COMPLETE = 1, 7, 8


def event(time_ns: int, sector: int, size: int, action: int, order: str = "<", after: bytes = b"") -> bytes:
    head = (0x65617407, 1, time_ns, sector, size, action, 77, (259 << 20) | 1, 0, 0, len(after))
    return struct.pack(f"{order}IIQQIIIIIHH", *head) + after


def recording(order: str = "<", begins: int = _ISSUE) -> bytes:
    """A read each ms that takes 100 us; every fourth ms a write of 16 KiB in order, flushed."""
    found = event(0, 0, 0, _NOTIFY, order, b"postgres")
    for turn in range(400):
        at, sector = turn * 1_000_000, (turn * 7919 % 100_000) * 1024
        found += event(at, sector, 8192, begins | _READ, order)
        found += event(at + 100_000, sector, 8192, _COMPLETE | _READ, order)
        if turn % 4 == 0:
            sector = 500_000_000 + turn * 8
            found += event(at + 200_000, sector, 16_384, begins | _WRITE | _SYNC, order)
            found += event(at + 400_000, sector, 16_384, _COMPLETE | _WRITE | _SYNC, order)
            found += event(at + 500_000, 0, 0, begins | _WRITE | _FLUSH | _SYNC, order)
    return found


@pytest.mark.parametrize(("order", "begins"), [("<", _ISSUE), (">", _ISSUE), ("<", _QUEUE)])
def test_events_of_blktrace_are_classes_with_their_latencies(tmp_path: Path, order: str, begins: int) -> None:
    file = tmp_path / "bin"
    file.write_bytes(recording(order, begins))
    found = logs.read(file)
    classes = {one.name: one for one in found.classes}
    assert set(classes) == {"point-reads", "log"}
    reads, log = classes["point-reads"], classes["log"]
    assert reads.rate_per_s == pytest.approx(1000, rel=0.01)
    assert log.rate_per_s == pytest.approx(250, rel=0.02)
    assert (log.flush_every, log.sizes) == (1, ((16_384, 100),))
    assert reads.latency_s == pytest.approx((100e-6, 100e-6))
    assert log.latency_s == pytest.approx((200e-6, 200e-6))


def test_an_event_that_was_cut_off_ends_the_file_and_a_wrong_one_is_named(tmp_path: Path) -> None:
    file = tmp_path / "bin"
    whole = recording()
    file.write_bytes(whole[:-7])
    assert logs.read(file).classes
    file.write_bytes(whole + b"x" * 48)
    with pytest.raises(TraceError, match=f"byte {len(whole)}: no event"):
        logs.read(file)


def test_a_log_of_fio_says_what_fio_did(tmp_path: Path) -> None:
    if shutil.which("fio") is None:
        pytest.skip("fio is not installed")
    log, data = tmp_path / "log", tmp_path / "data"
    job = ("--name=a", f"--filename={data}", "--size=256m", "--rw=randrw", "--rwmixread=70", "--bs=8k")
    pace = ("--rate_iops=210,90", "--runtime=2", "--time_based", "--ioengine=null", "--norandommap")
    subprocess.run(["fio", *job, *pace, f"--write_iolog={log}", "--output=/dev/null"], check=True, timeout=60)
    if b"version 3" not in log.read_bytes()[:32]:
        pytest.skip("this fio writes a log without times")
    classes = {one.name: one for one in logs.read(log).classes}
    reads = sum(one.rate_per_s for one in classes.values() if one.operation == "read")
    writes = sum(one.rate_per_s for one in classes.values() if one.operation == "write")
    assert reads + writes == pytest.approx(300, rel=0.1)
    assert reads / (reads + writes) == pytest.approx(0.7, abs=0.07)
    assert {one.sizes[0][0] for one in classes.values()} == {8192}


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("", "neither"),
        ("hello\n", "neither"),
        ("fio version 2 iolog\n/f add\n", "does not say when"),
        ("fio version 3 iolog\n", "no reads and no writes"),
        ("fio version 3 iolog\n1 /f read 0 4096\n", "record for longer"),
        ("fio version 3 iolog\n1 /f read 0\n", "line 2"),
        ("fio version 3 iolog\n1 /f add\n1 /f read 0 -4\n", "line 3"),
        ("fio version 3 iolog\n1 /f read 0 999999999999999999999\n", "line 2"),
        ("fio version 3 iolog\n1 /f read 0 1099511627776\n", "256 MiB"),
        ("fio version 3 iolog\n1 /f frob 0 4096\n", "line 2"),
    ],
)
def test_what_is_no_log_is_said(tmp_path: Path, text: str, words: str) -> None:
    file = tmp_path / "log"
    file.write_text(text)
    with pytest.raises(TraceError) as caught:
        logs.read(file)
    assert words in f"{caught.value.message} {caught.value.hint}"


_STARTS = st.sampled_from([b"", b"fio version 3 iolog\n", recording()[:600]])


@given(_STARTS, st.binary(max_size=300), st.integers(0, 900))
def test_no_bytes_end_in_anything_but_a_sentence(start: bytes, middle: bytes, cut: int) -> None:
    with tempfile.NamedTemporaryFile() as file:
        path = Path(file.name)
        path.write_bytes((start + middle + recording())[: cut + 48])
        with contextlib.suppress(TraceError):
            logs.read(path)
