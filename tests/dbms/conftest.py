"""Folders for servers that run as another user, and studies of TPC-C as its command writes them."""

import contextlib
import os
import shutil
import subprocess
import tempfile
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path

import pytest
from assay.binary import Binary
from assay.cli.runners import written
from assay.dbms.grant import Grant
from assay.dbms.tpcc import runner as tpcc_runner
from assay.dbms.tpch import runner as tpch_runner
from assay.dbms.wtperf import runner as wtperf_runner
from assay.study import folder
from assay.study import run as studies
from assay.study.progress import Silent
from assay.study.request import Prepared, Wish, prepare
from assay.study.run import Summary
from assay.study.work.runners import WorkRunner, register
from assay.target.target import parse
from assay.untyped import Json


@pytest.fixture
def open_target() -> Iterator[Path]:
    """A folder that other users may enter: pytest shuts its own to them, again at the start of every other session."""
    folder = Path(tempfile.mkdtemp(prefix="assay-test-"))
    folder.chmod(0o755)
    try:
        yield folder
        assert list(folder.iterdir()) == []
    finally:
        shutil.rmtree(folder, ignore_errors=True)


MEMORY = Path("/dev/shm")


@pytest.fixture
def quick_disk(open_target: Path) -> Iterator[Path]:
    """A file system on a loop device in memory: a device with counters of its own, and none that others keep busy.

    The folder itself where this user may make none.
    """
    with contextlib.ExitStack() as stack:
        try:
            yield _loop(open_target, stack)
        except (OSError, subprocess.CalledProcessError):
            stack.close()
            yield open_target


def _loop(above: Path, stack: contextlib.ExitStack) -> Path:
    if os.geteuid() != 0 or shutil.disk_usage(MEMORY).free < 6 << 30:
        return above
    image = MEMORY / f"assay-test-{os.getpid()}.img"
    stack.callback(image.unlink, missing_ok=True)
    with image.open("wb") as file:
        file.truncate(2 << 30)
    run("mkfs.ext4", "-q", "-m", "0", str(image))
    device = run("losetup", "--find", "--show", str(image))
    stack.callback(run, "losetup", "--detach", device)
    at = above / "disk"
    at.mkdir()
    stack.callback(at.rmdir)
    run("mount", device, str(at))
    stack.callback(run, "umount", str(at))
    inside = at / "target"
    inside.mkdir()
    at.chmod(0o755)
    inside.chmod(0o755)
    return inside


def run(*command: str) -> str:
    """What a tool prints."""
    return subprocess.run(command, check=True, capture_output=True, text=True).stdout.strip()


def _prepared(
    kind: str, runner: Callable[[], WorkRunner], table: Json, on: Sequence[str], repeats: int, matrix: Json
) -> Prepared:
    register({kind: runner})
    study = written((kind.removeprefix("dbms-"), kind.replace("-", " ")), "?", repeats, {"kind": kind, **table}, matrix)
    return prepare(Wish(study, tuple(map(parse, on)), {}), Binary.find())


@pytest.fixture
def tpcc() -> Callable[..., Summary]:
    """Runs TPC-C as a study: what its `[work]` says, and targets with their roles."""

    def run(table: Json, on: Sequence[str], out: Path, *, repeats: int = 1, grant: Grant | None = None) -> Summary:
        prepared = _prepared(tpcc_runner.KIND, lambda: tpcc_runner.TpccRunner(grant), table, on, repeats, {})
        return studies.start(prepared, out, Binary.find(), Silent(), ["tests"])

    return run


@pytest.fixture
def tpch() -> Callable[..., Summary]:
    """Runs TPC-H as a study, in its protocols."""

    def run(
        table: Json,
        protocols: Sequence[str],
        on: Sequence[str],
        out: Path,
        *,
        repeats: int = 1,
        grant: Grant | None = None,
    ) -> Summary:
        matrix = {"protocol": list(protocols)}
        runner = lambda: tpch_runner.TpchRunner(grant)  # noqa: E731
        prepared = _prepared(tpch_runner.KIND, runner, table, on, repeats, matrix)
        return studies.start(prepared, out, Binary.find(), Silent(), ["tests"])

    return run


@pytest.fixture
def wtperf() -> Callable[..., Summary]:
    """Runs wtperf as a study, in modes of the page cache."""

    def run(
        program: Path | None, table: Json, modes: Sequence[str], on: Sequence[str], out: Path, repeats: int = 1
    ) -> Summary:
        grant = Grant(program=program, command="wtperf")
        matrix = {"page_cache": list(modes)}
        runner = lambda: wtperf_runner.WtperfRunner(grant)  # noqa: E731
        prepared = _prepared(wtperf_runner.KIND, runner, table, on, repeats, matrix)
        return studies.start(prepared, out, Binary.find(), Silent(), ["tests"])

    return run


@pytest.fixture
def begun() -> Callable[..., None]:
    """A result folder of a run of TPC-C that was begun with a grant, and has done nothing yet."""

    def begin(table: Json, on: Path, out: Path, grant: Grant) -> None:
        runner = lambda: tpcc_runner.TpccRunner(grant)  # noqa: E731
        folder.create(out, _prepared(tpcc_runner.KIND, runner, table, [str(on)], 1, {}), ["tests"])

    return begin
