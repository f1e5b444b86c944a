"""What goes wrong around a guest: a sentence, a limit in time, nothing left. Stand-ins play QEMU and apt-get."""

from __future__ import annotations

import errno
import os
import shutil
import signal
import subprocess
import sys
import time
from collections import namedtuple
from pathlib import Path

import pytest
from assay.results.files import ResultError
from assay_lab import apt, command, emulator, guest, machine, workspace
from assay_lab.cache import Cache
from assay_lab.error import GuestError, LabError
from assay_lab.guest import Guest
from assay_lab.qemu import MachineSpec
from assay_lab.workspace import Workspace

ROOT = Path(__file__).resolve().parent.parent.parent
# A machine as the host sees it: the console's file, and the agent's port.
# The second line is both shell and Python: the interpreter's path may hold a space, which no `#!` survives.
PLAYER = """#!/bin/sh
"exec" "{python}" "$0" "$@"
import os, re, sys, time
LONG_S = 600
words = " ".join(sys.argv)
console = re.search(r"id=console,path=(\\S+)", words)[1]
port = int(re.search(r"id=agent,fd=(\\d+)", words)[1])
{body}
"""


def player(folder: Path, body: str) -> MachineSpec:
    """A machine that a script plays."""
    program = folder / "qemu"
    program.write_text(PLAYER.format(python=sys.executable, body=body))
    program.chmod(0o755)
    return MachineSpec(Path("/k"), Path("/i"), program=str(program))


@pytest.fixture
def share(tmp_path: Path) -> Path:
    (tmp_path / "share").mkdir()
    return tmp_path / "share"


def children() -> list[str]:
    found = subprocess.run(
        ["ps", "--ppid", str(os.getpid()), "-o", "args="], capture_output=True, text=True, check=False
    )
    return [line for line in found.stdout.splitlines() if "qemu" in line]


def test_a_guest_that_hangs_at_boot_is_ended_after_its_limit(tmp_path: Path, share: Path) -> None:
    spec = player(tmp_path, "open(console, 'w').write('stuck here\\n')\ntime.sleep(LONG_S)")
    with pytest.raises(GuestError, match="did not come up within 2 s") as caught:
        Guest.boot(spec, share, timeout_s=2)
    assert "stuck here" in caught.value.hint
    assert not children()


def test_a_guest_that_panics_says_so_with_its_console(tmp_path: Path, share: Path) -> None:
    spec = player(tmp_path, "open(console, 'w').write('Kernel panic - not syncing: no init\\n')")
    with pytest.raises(GuestError, match="kernel panicked") as caught:
        Guest.boot(spec, share, timeout_s=60)
    assert "no init" in caught.value.hint


def test_what_qemu_complains_of_is_told(tmp_path: Path, share: Path) -> None:
    spec = player(tmp_path, "sys.exit('cannot set up guest memory')")
    with pytest.raises(GuestError, match="cannot set up guest memory"):
        Guest.boot(spec, share, timeout_s=60)


def test_a_machine_that_a_signal_ends_is_not_said_to_have_switched_itself_off(tmp_path: Path, share: Path) -> None:
    spec = player(tmp_path, "os.kill(os.getpid(), 11)")
    with pytest.raises(GuestError, match="QEMU was ended by SIGSEGV: it said nothing") as caught:
        Guest.boot(spec, share, timeout_s=60)
    assert caught.value.code == 4


def test_a_command_that_hangs_is_ended_after_its_limit(tmp_path: Path, share: Path) -> None:
    spec = player(tmp_path, "os.write(port, b'ready 6.1\\n')\ntime.sleep(LONG_S)")
    with Guest.boot(spec, share, timeout_s=60) as running:
        assert running.kernel == "6.1"
        with pytest.raises(GuestError, match="`sleep 9` did not end within 1 s"):
            running.run(["sleep", "9"], timeout_s=1)
        running.cut()
    assert not children()


def test_a_machine_that_dies_under_a_command_is_told(tmp_path: Path, share: Path) -> None:
    spec = player(tmp_path, "os.write(port, b'ready 6.1\\n')\nos.read(port, 99)")
    with Guest.boot(spec, share, timeout_s=60) as running, pytest.raises(GuestError, match="switched itself off"):
        running.run("true")


def test_without_qemu_the_package_is_named(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setenv("PATH", str(tmp_path))
    with pytest.raises(LabError, match="is not installed") as caught:
        emulator.find(Cache(tmp_path / "cache"))
    assert "qemu-system-x86" in caught.value.hint
    assert caught.value.code == 4
    with pytest.raises(LabError, match="cannot be started"):
        guest.start(MachineSpec(Path("/k"), Path("/i"), program="no-such-qemu"), subprocess.DEVNULL)


def fake_apt(folder: Path, monkeypatch: pytest.MonkeyPatch, script: str) -> None:
    (folder / "bin").mkdir()
    program = folder / "bin" / "apt-get"
    program.write_text(f"#!/bin/sh\n{script}\n")
    program.chmod(0o755)
    monkeypatch.setenv("PATH", f"{folder / 'bin'}{os.pathsep}{os.environ['PATH']}")


DEB = apt.Deb("kmod", "kmod_1_amd64.deb", 6, "sha256", "0" * 64)


@pytest.mark.parametrize(
    ("script", "said"),
    [
        ("echo 'E: Unable to locate package kmod' >&2; exit 100", "Unable to locate package kmod"),
        ("true", "kmod_1_amd64.deb is not there"),
        ("echo hell >kmod_1_amd64.deb", "has 5 bytes, the archive says 6"),
        ("echo hello >kmod_1_amd64.deb", "another sha256 checksum"),
        ("sleep 600", "gave no answer in 1 s"),
    ],
    ids=["unknown", "nothing", "short", "other", "hangs"],
)
def test_a_package_that_cannot_be_had_leaves_no_half_entry(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, script: str, said: str
) -> None:
    fake_apt(tmp_path, monkeypatch, script)
    monkeypatch.setattr(apt, "_DOWNLOAD_S", 1)
    cache = Cache(tmp_path / "cache")
    with pytest.raises(LabError) as caught:
        cache.entry("tools", "key", lambda folder: apt.fetch([DEB], folder))
    assert said in caught.value.message
    assert caught.value.code == 4
    assert [path.name for path in (tmp_path / "cache" / "tools").iterdir()] == [".lock"]


def test_a_disk_that_is_full_while_packages_are_unpacked_is_named(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    deb = apt.Deb("tool", "tool.deb", 0, "sha256", "")
    (tmp_path / deb.file).touch()
    full = f"dpkg-deb: error: ./usr/bin/tool: {os.strerror(errno.ENOSPC)}"

    def run(command: list[str], *_: object) -> subprocess.CompletedProcess[str]:
        unpacks = command[0] == "dpkg-deb"
        return subprocess.CompletedProcess(command, int(unpacks), "", full if unpacks else "")

    monkeypatch.setattr(apt, "_run", run)
    monkeypatch.setattr(apt, "_verified", lambda deb, folder: folder / deb.file)
    with pytest.raises(LabError, match="No space left") as raised:
        apt.fetch([deb], tmp_path)
    assert "XDG_CACHE_HOME" in raised.value.hint


def test_a_folder_for_results_that_cannot_be_made_is_refused_before_anything_is_assembled(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    monkeypatch.setattr(machine, "assemble", lambda *_: pytest.fail("the guest was assembled"))
    (tmp_path / "file").touch()
    with pytest.raises(ResultError, match="cannot be made"):
        command.run(["boot"], command.Options(), tmp_path / "file" / "out", keep=False, as_json=False)


def test_what_a_killed_download_left_is_removed(tmp_path: Path) -> None:
    cache = Cache(tmp_path)
    (tmp_path / "tools" / ".half-gone").mkdir(parents=True)
    entry = cache.entry("tools", "key", lambda folder: (folder / "f").touch())
    assert sorted(path.name for path in (tmp_path / "tools").iterdir()) == [".lock", "key"]
    assert cache.newest("tools") == entry


def test_too_little_memory_or_disk_is_refused_before_anything_starts(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(workspace, "_available_bytes", lambda: 1 << 30)
    with pytest.raises(LabError, match="needs 2048 MiB of memory, 1024 MiB are available") as caught:
        workspace.require_memory(2 << 30)
    assert "--memory" in caught.value.hint
    usage = namedtuple("usage", "total used free")  # noqa: PYI024
    monkeypatch.setattr(shutil, "disk_usage", lambda _: usage(1 << 30, 0, 1 << 20))
    with pytest.raises(LabError, match="has 1 MiB") as caught:
        Workspace(1 << 30)
    assert "TMPDIR" in caught.value.hint
    with pytest.raises(LabError, match="256 MiB of memory does not come up"):
        machine.assemble(machine.Wanted(memory_bytes=256 << 20), (Path("/bin/true"),), print)


def test_the_folder_goes_away_even_when_its_owner_is_killed() -> None:
    lines = ("from assay_lab.workspace import Workspace", "print(Workspace(0).folder, flush=True)")
    script = "\n".join([*lines, "input()"])
    environment = os.environ | {"PYTHONPATH": str(ROOT / "python")}
    owner = subprocess.Popen(
        [sys.executable, "-c", script], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True, env=environment
    )
    assert owner.stdin is not None
    assert owner.stdout is not None
    folder = Path(owner.stdout.readline().strip())
    assert folder.is_dir()
    owner.send_signal(signal.SIGKILL)
    owner.wait()
    owner.stdout.close()
    owner.stdin.close()
    limit = time.monotonic() + 60
    while folder.exists() and time.monotonic() < limit:
        time.sleep(0.05)
    assert not folder.exists()


def test_a_report_of_lab_records_is_refused(tmp_path: Path) -> None:
    from assay.results import folder

    (tmp_path / "lab.json").write_text("{}")
    with pytest.raises(Exception, match="behaviour, not speed"):
        folder.read(tmp_path)
