"""A folder that answers as a drive: it is a file system, its answers come when they are due, and it goes away."""

from __future__ import annotations

import contextlib
import errno
import mmap
import os
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest
from assay.error import AssayError
from assay.mount import play
from assay.untyped import Json

from mount.mounted import ROOT, job, mounted, require_fuse

_DATA = bytes(range(256)) * 64
_QUICK = "fixed:400,200,500"


def assay(*words: str | Path) -> subprocess.CompletedProcess[str]:
    command = [sys.executable, "-m", "assay", *map(str, words)]
    return subprocess.run(command, cwd=ROOT, capture_output=True, text=True, check=False)


def by_class(state: Json) -> dict[str, Json]:
    return {one["class"]: one for one in state["played"]}


@pytest.mark.parametrize("what", ["pass", _QUICK])
def test_it_is_a_file_system(tmp_path: Path, what: str) -> None:
    with mounted(tmp_path, what) as one:
        at = tmp_path / "mnt"
        (at / "folder").mkdir(mode=0o700)
        (at / "folder" / "file").write_bytes(_DATA)
        (at / "folder" / "file").chmod(0o640)
        os.link(at / "folder" / "file", at / "second")
        (at / "folder" / "file").rename(at / "moved")
        (at / "link").symlink_to("moved")
        assert (at / "link").read_bytes() == _DATA
        assert (at / "moved").stat().st_mode & 0o777 == 0o640
        assert (at / "moved").stat().st_nlink == 2
        assert sorted(path.name for path in at.iterdir()) == ["folder", "link", "moved", "second"]
        with (at / "moved").open("r+b") as file:
            file.truncate(100)
            file.seek(50)
            file.write(b"x" * 10)
            file.flush()
            os.fsync(file.fileno())
            with mmap.mmap(file.fileno(), 100) as there:
                assert there[48:62] == _DATA[48:50] + b"x" * 10 + _DATA[60:62]
        with (at / "open").open("wb+") as file:
            file.write(b"still here")
            (at / "open").unlink()
            file.seek(0)
            assert file.read() == b"still here"
        (at / "folder").rmdir()
        (at / "second").unlink()
        one.end()
    assert (tmp_path / "files" / "moved").read_bytes() == _DATA[:50] + b"x" * 10 + _DATA[60:100]
    assert list((tmp_path / "mnt").iterdir()) == []


def test_direct_io_passes_and_hits_of_the_page_cache_ask_no_drive(tmp_path: Path) -> None:
    with mounted(tmp_path, _QUICK) as one:
        path = tmp_path / "mnt" / "file"
        path.write_bytes(_DATA)
        direct = os.open(path, os.O_RDWR | os.O_DIRECT)
        block = mmap.mmap(-1, 4096)
        try:
            block.write(b"d" * 4096)
            assert os.pwrite(direct, block, 4096) == 4096
            assert os.preadv(direct, [block], 0) == 4096
            assert block[:] == _DATA[:4096]
            with pytest.raises(OSError, match=r".") as failed:
                os.pread(direct, 100, 0)
            assert failed.value.errno == errno.EINVAL
        finally:
            os.close(direct)
        for _ in range(50):
            assert path.read_bytes()[4096:8192] == b"d" * 4096
        state = one.end()
    assert by_class(state)["reads"]["count"] <= 10, "the page cache answers the rest"


def test_each_answer_waits_for_its_moment_and_lateness_is_told(tmp_path: Path) -> None:
    with mounted(tmp_path, "fixed:2000,1000,5000") as one:
        descriptor = os.open(tmp_path / "mnt" / "file", os.O_RDWR | os.O_CREAT)
        begin = time.perf_counter()
        for n in range(20):
            os.pwrite(descriptor, _DATA, n * len(_DATA))
            os.fsync(descriptor)
        took_s = time.perf_counter() - begin
        os.close(descriptor)
        state = one.end()
    told = by_class(state)
    assert told["flushes"]["count"] == 20
    assert took_s >= 20 * 0.0055, "no answer came before it was due"
    assert told["flushes"]["time_p50_ns"] <= 5_000_000
    assert "flushes p50 +" in state["sentence"]
    kept = by_class(play.status(tmp_path / "mnt"))
    assert {name: one["late_p99_ns"] for name, one in kept.items()} == {
        name: one["late_p99_ns"] for name, one in told.items()
    }


def test_an_injected_delay_shows_as_lateness(tmp_path: Path) -> None:
    with mounted(tmp_path, "fixed:1000,1000,1000", injected_ns=200_000) as one:
        descriptor = os.open(tmp_path / "mnt" / "file", os.O_RDWR | os.O_CREAT)
        for _ in range(30):
            os.fsync(descriptor)
        os.close(descriptor)
        state = one.end()
    told = by_class(state)["flushes"]
    assert told["late_p50_ns"] >= 199_000
    assert told["late_share"] >= 0.19
    assert state["reasons"] == ["played-late"]


def test_a_drive_that_is_too_fast_is_refused_with_the_floor_and_played_slowed_down(tmp_path: Path) -> None:
    require_fuse()
    wanted = job(tmp_path / "mnt", tmp_path / "files", "fixed:1,1,1")
    with pytest.raises(AssayError, match=r"way through FUSE alone takes") as refused:
        play.Playing.start(wanted)
    assert refused.value.code == 4
    assert "--slow" in refused.value.hint
    assert not (tmp_path / "mnt").is_mount()
    with mounted(tmp_path, "fixed:1,1,1", slow=1000):
        (tmp_path / "mnt" / "file").write_bytes(_DATA)


def test_files_that_are_open_keep_it_from_nothing(tmp_path: Path) -> None:
    with mounted(tmp_path, _QUICK) as one:
        descriptor = os.open(tmp_path / "mnt" / "file", os.O_RDWR | os.O_CREAT)
        os.write(descriptor, _DATA)
        os.fsync(descriptor)
        state = one.end()
        with contextlib.suppress(OSError):
            os.close(descriptor)
        assert "files were open" in " ".join(state["notes"])
    assert not (tmp_path / "mnt").is_mount()
    assert (tmp_path / "files" / "file").read_bytes() == _DATA


def test_a_folder_is_played_over_itself_and_is_as_before_when_unmounted(tmp_path: Path) -> None:
    require_fuse()
    (tmp_path / "mnt").mkdir()
    (tmp_path / "mnt" / "there").write_bytes(_DATA)
    wanted = job(tmp_path / "mnt", tmp_path / "mnt", _QUICK) | {"over": None}
    one = play.Playing.start(wanted)
    try:
        assert (tmp_path / "mnt" / "there").read_bytes() == _DATA
        (tmp_path / "mnt" / "new").write_bytes(b"new")
    finally:
        one.end()
    assert (tmp_path / "mnt" / "new").read_bytes() == b"new"


def test_a_killed_program_hangs_nobody_and_clean_takes_its_mount_off(tmp_path: Path) -> None:
    at = tmp_path / "mnt"
    with mounted(tmp_path, "fixed:400,200,60000000") as one:
        (at / "synced").write_bytes(_DATA)
        waiting = os.open(at / "waits", os.O_RDWR | os.O_CREAT)
        child = os.fork()
        if child == 0:
            try:
                os.fsync(waiting)
            except OSError:
                os._exit(7)
            os._exit(0)
        os.kill(one.pid, signal.SIGKILL)
        assert os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]) == 7, "whoever waited is told"
        with pytest.raises(OSError, match=r".") as failed:
            os.fsync(waiting)
        assert failed.value.errno in {errno.ENOTCONN, errno.EIO, errno.ECONNABORTED}
        with contextlib.suppress(OSError):
            os.close(waiting)
        assert (tmp_path / "files" / "synced").exists()
        done = assay("clean", at)
        assert done.returncode == 0, done.stderr
        assert "was mounted by a program that was killed" in done.stdout
        assert not at.is_mount()
        assert list(at.iterdir()) == []


def test_a_second_mount_of_a_folder_is_refused_and_a_dead_one_is_taken_off(tmp_path: Path) -> None:
    with mounted(tmp_path, "pass") as one:
        with pytest.raises(AssayError, match=r"plays a drive there already"):
            play.Playing.start(job(tmp_path / "mnt", tmp_path / "files", "pass"))
        os.kill(one.pid, signal.SIGKILL)
        with pytest.raises(AssayError):
            one.wait()
    with mounted(tmp_path, "pass"):
        (tmp_path / "mnt" / "file").write_bytes(_DATA)


def fill(descriptor: int) -> None:
    """More than there is room for."""
    for n in range(200):
        os.pwrite(descriptor, _DATA, n * len(_DATA))
        os.fsync(descriptor)


def test_a_full_disk_below_is_a_full_disk_above(tmp_path: Path) -> None:
    require_fuse()
    files = tmp_path / "files"
    files.mkdir()
    done = subprocess.run(
        ["mount", "-t", "tmpfs", "-o", "size=1m", "none", str(files)], capture_output=True, check=False
    )
    if done.returncode:
        pytest.skip("no small file system can be mounted here (root is needed)")
    try:
        with mounted(tmp_path, _QUICK):
            descriptor = os.open(tmp_path / "mnt" / "file", os.O_RDWR | os.O_CREAT)
            with pytest.raises(OSError, match=r".") as failed:
                fill(descriptor)
            os.close(descriptor)
            assert failed.value.errno == errno.ENOSPC
    finally:
        subprocess.run(["umount", "--lazy", str(files)], capture_output=True, check=False)


def test_a_folder_of_another_user_is_refused(tmp_path: Path) -> None:
    require_fuse()
    if os.geteuid() != 0:
        pytest.skip("only root can give a folder away")
    wanted = job(tmp_path / "mnt", tmp_path / "files", "pass")
    os.chown(tmp_path / "mnt", 65534, 65534)
    with pytest.raises(AssayError, match=r"belongs to"):
        play.Playing.start(wanted)


def unmount(at: Path) -> None:
    """By hand; the program itself may be asking something there just then."""
    for _ in range(100):
        if subprocess.run(["umount", str(at)], capture_output=True, check=False).returncode == 0:
            return
        time.sleep(0.02)
    pytest.fail(f"{at} stays busy")


def test_the_command_says_what_it_has_played(tmp_path: Path) -> None:
    require_fuse()
    for name in ("mnt", "files"):
        (tmp_path / name).mkdir()
    command = [sys.executable, "-m", "assay", "mount", _QUICK, str(tmp_path / "mnt"), "--over", str(tmp_path / "files")]
    process = subprocess.Popen(command, cwd=ROOT, stdout=subprocess.PIPE, text=True)
    try:
        assert process.stdout is not None
        assert f"answers as {_QUICK}" in process.stdout.readline()
        (tmp_path / "mnt" / "file").write_bytes(_DATA)
        unmount(tmp_path / "mnt")
        said = process.stdout.read()
        assert process.wait() == 0
    finally:
        process.kill()
        process.communicate()
        subprocess.run(["umount", "--lazy", str(tmp_path / "mnt")], capture_output=True, check=False)
    assert said.startswith("played: ")
    assert "writes p50 +" in assay("mount", "--status", tmp_path / "mnt").stdout


def test_a_twin_of_the_catalog_is_played(tmp_path: Path) -> None:
    with mounted(tmp_path, "twin:gp3") as one:
        path = tmp_path / "mnt" / "file"
        path.write_bytes(_DATA * 8)
        direct = os.open(path, os.O_RDONLY | os.O_DIRECT)
        block = mmap.mmap(-1, 4096)
        for n in range(20):
            assert os.preadv(direct, [block], n * 4096) == 4096
        os.close(direct)
        told = by_class(one.end())["reads"]
    assert told["count"] == 20
    assert 300_000 <= told["time_p50_ns"] <= 3_000_000, "what the twin takes, whatever this machine does"


@pytest.mark.parametrize("name", ["twin:pmem100-128g", "twin:no-such-drive", "twin:p4610*4"])
def test_what_is_no_drive_is_refused_with_a_sentence(tmp_path: Path, name: str) -> None:
    require_fuse()
    with pytest.raises(AssayError) as refused:
        play.Playing.start(job(tmp_path / "mnt", tmp_path / "files", name))
    assert refused.value.hint
    assert refused.value.code == 2
