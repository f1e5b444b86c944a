"""The launcher and its set-up, with stand-ins for Python and cargo that note how they were called."""

import os
import shlex
import shutil
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest

PYTHON = """#!/usr/bin/env bash
# An interpreter that makes environments and installs packages by noting that it was asked to.
here=$(dirname "$(readlink -f "$0")")
case "$*" in
-c*realpath*) readlink -f "$0" ;;
-c*) exec {python} "$@" ;;
*"-m venv "*) echo venv >>"$NOTES"; mkdir -p "${{@: -1}}/bin"; cp "$0" "${{@: -1}}/bin/python" ;;
*"-m pip "*)
    echo pip >>"$NOTES"
    sleep "${{PIP_SECONDS:-0}}"
    [[ -z ${{PIP_FAILS-}} ]] || {{ echo no such package; exit 1; }} ;;
"-I -m assay"*) shift 3; printf '%s|' "$PWD" "$@" ;;
*) exit 9 ;;
esac
"""

CARGO = """#!/usr/bin/env bash
[[ $1 == --version ]] && echo "cargo ${CARGO_VERSION:-1.85.0} (stand-in)" && exit
echo cargo >>"$NOTES"
sleep "${CARGO_SECONDS:-0}"
[[ -z ${CARGO_FAILS-} ]] || { echo does not compile; exit 101; }
program=$*
program=${program##*-p }
program=${program%% *}
mkdir -p target/release && cp "$0" "target/release/$program"
"""


class Checkout:
    """A copy of the launcher in a folder with a space in its name, and the machine around it."""

    def __init__(self, source: Path, folder: Path) -> None:
        self.root = folder / "a checkout"
        self.home = folder / "home"
        self.bin = folder / "bin"
        for made in (self.root / "crates", self.home, self.bin):
            made.mkdir(parents=True)
        shutil.copy(source / "assay", self.root)
        shutil.copytree(source / "setup", self.root / "setup")
        for name in ("pyproject.toml", "Cargo.toml", "Cargo.lock"):
            (self.root / name).touch()
        self.program("python3", PYTHON.format(python=shlex.quote(sys.executable)))
        self.program("cargo", CARGO)
        self.notes = folder / "notes"
        self.notes.touch()

    def program(self, name: str, text: str) -> None:
        (self.bin / name).write_text(text)
        (self.bin / name).chmod(0o755)

    def start(
        self, *arguments: str, cwd: Path | None = None, launcher: Path | str | None = None, **extra: str
    ) -> "Call":
        environment = {"PATH": f"{self.bin}:/usr/bin:/bin", "HOME": str(self.home), "NOTES": str(self.notes)} | extra
        return subprocess.Popen(
            [str(launcher or self.root / "assay"), *arguments],
            cwd=cwd or self.root,
            env=environment,
            text=True,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            start_new_session=True,
        )

    def call(
        self, *arguments: str, cwd: Path | None = None, launcher: Path | str | None = None, **extra: str
    ) -> "Done":
        process = self.start(*arguments, cwd=cwd, launcher=launcher, **extra)
        out, err = process.communicate(timeout=60)
        return subprocess.CompletedProcess(arguments, process.returncode, out, err)

    def done(self) -> list[str]:
        """What was set up since the last time it was asked."""
        lines = self.notes.read_text().split()
        self.notes.write_text("")
        return lines


Call = subprocess.Popen[str]
Done = subprocess.CompletedProcess[str]
# Packages are installed while the program is built, so that these come in any order.
FIRST = ["cargo", "pip", "pip", "venv"]


@pytest.fixture
def checkout(root: Path, tmp_path: Path) -> Checkout:
    if shutil.which("cc") is None:
        pytest.skip("cc is not installed")
    return Checkout(root, tmp_path)


def test_first_call_sets_up_and_the_second_does_not(checkout: Checkout) -> None:
    first = checkout.call("list", "--json")
    assert (first.returncode, first.stdout) == (0, f"{checkout.root}|list|--json|"), first.stderr
    assert sorted(checkout.done()) == FIRST
    second = checkout.call("list")
    assert (second.returncode, second.stderr) == (0, "")
    assert checkout.done() == []


@pytest.mark.parametrize(
    "words",
    [
        ["quick", "--on", "gone"],
        ["quick", "--on=gone"],
        ["run", "dana-log", "--on", ".", "--on", "log=gone"],
        ["run", "raw-path", "--on", "./+gone"],
        ["engine", "tpcc", "--on", "./gone"],
    ],
)
def test_a_missing_target_is_refused_before_anything_is_built(checkout: Checkout, words: list[str]) -> None:
    done = checkout.call(*words)
    assert (done.returncode, done.stdout) == (2, "")
    assert "gone` does not exist" in done.stderr
    assert "hint: make it first" in done.stderr
    assert checkout.done() == []


@pytest.mark.parametrize(
    "target", ["twin:p4610*4", "memory", "null", "with a space", "log=with a space", "assay+setup", "fleet"]
)
def test_targets_that_are_there_or_are_no_files_are_left_to_python(checkout: Checkout, target: str) -> None:
    (checkout.root / "with a space").mkdir()
    command = "fleet" if target == "fleet" else "run"
    done = checkout.call(command, "--on", "nowhere/at/all" if target == "fleet" else target)
    assert done.returncode == 0, done.stderr
    assert sorted(checkout.done()) == FIRST


def test_the_version_is_told_without_a_set_up(checkout: Checkout, root: Path) -> None:
    (checkout.root / "python" / "assay").mkdir(parents=True)
    shutil.copy(root / "python" / "assay" / "version.py", checkout.root / "python" / "assay")
    seen = checkout.call("--version")
    assert (seen.returncode, seen.stderr) == (0, "")
    assert seen.stdout.startswith("assay 0."), seen.stdout
    assert checkout.done() == []


def test_a_checkout_of_another_user_is_refused_with_one_sentence(checkout: Checkout) -> None:
    if os.geteuid() != 0:
        pytest.skip("only root can act as another user")
    for folder in (checkout.root, *checkout.root.parents):
        if folder.is_relative_to("/tmp/") and folder.stat().st_uid == 0:
            folder.chmod(0o755)
    (checkout.root / ".venv" / "bin").mkdir(parents=True)
    environment = {"PATH": f"{checkout.bin}:/usr/bin:/bin", "HOME": "/nonexistent", "NOTES": "/dev/null"}
    done = subprocess.run(
        [str(checkout.root / "assay"), "list"],
        user=65534, group=65534, extra_groups=[], cwd="/", env=environment, capture_output=True, text=True, check=False,
    )  # fmt: skip
    assert done.returncode == 1
    assert done.stdout == ""
    assert len(done.stderr.splitlines()) == 1, done.stderr
    assert "belongs to root" in done.stderr
    assert "another set-up" not in done.stderr
    assert (checkout.root / ".venv").is_dir()
    assert checkout.done() == []


def test_second_program_is_built_when_it_is_first_needed_and_again_when_its_sources_change(checkout: Checkout) -> None:
    checkout.call("list")
    assert sorted(checkout.done()) == FIRST
    assert not (checkout.root / "target" / "release" / "assayer-db").exists()
    second = checkout.root / "setup" / "second.sh"
    first = checkout.call(launcher=second)
    assert (first.returncode, first.stdout) == (0, "")
    assert "indexes, engine and databases" in first.stderr
    assert checkout.done() == ["cargo"]
    assert checkout.call(launcher=second).stderr == ""
    assert checkout.done() == []
    newer(checkout.root / "crates" / "new.rs")
    assert "sources changed" in checkout.call(launcher=second).stderr
    assert checkout.done() == ["cargo"]


def test_a_part_is_installed_when_it_is_first_needed_and_again_when_its_lock_file_changes(checkout: Checkout) -> None:
    checkout.call("list")
    assert sorted(checkout.done()) == FIRST
    script = checkout.root / "setup" / "packages.sh"
    first = checkout.call("report", launcher=script)
    assert (first.returncode, first.stdout) == (0, "")
    assert "the part report" in first.stderr
    assert checkout.done() == ["pip"]
    assert checkout.call("report", launcher=script).stderr == ""
    assert checkout.done() == []
    newer(checkout.root / "setup" / "requirements-report.lock")
    checkout.call("report", launcher=script)
    assert checkout.done() == ["pip"]
    failed = checkout.call("query", launcher=script, PIP_FAILS="1")
    assert failed.returncode == 1
    assert "no such package" in failed.stderr
    checkout.call("query", launcher=script)
    assert checkout.done().count("pip") == 2, "what failed is not taken for done"


UV = """#!/usr/bin/env bash
echo "uv-$1" >>"$NOTES"
[[ $1 == venv ]] && mkdir -p "${@: -1}/bin" && cp "$3" "${@: -1}/bin/python"
exit 0
"""


def test_uv_makes_the_environment_where_it_is_there(checkout: Checkout) -> None:
    checkout.program("uv", UV)
    done = checkout.call("list")
    assert (done.returncode, done.stdout) == (0, f"{checkout.root}|list|"), done.stderr
    assert sorted(checkout.done()) == ["cargo", "uv-pip", "uv-pip", "uv-venv"]
    newer(checkout.root / "setup" / "requirements.lock")
    checkout.call("list")
    assert checkout.done() == ["uv-pip", "uv-pip"]


def test_current_folder_stays_the_users_through_a_symbolic_link(checkout: Checkout, tmp_path: Path) -> None:
    elsewhere = tmp_path / "some where"
    elsewhere.mkdir()
    link = tmp_path / "linked"
    link.symlink_to(checkout.root / "assay")
    seen = checkout.call("a b", "*", cwd=elsewhere, launcher=link)
    assert seen.stdout == f"{elsewhere}|a b|*|"
    assert sorted(checkout.done()) == FIRST


def test_relative_call_and_a_call_through_path(checkout: Checkout, tmp_path: Path) -> None:
    checkout.call()
    assert checkout.call("x", launcher="./assay").stdout == f"{checkout.root}|x|"
    linked = checkout.bin / "assay"
    linked.symlink_to(checkout.root / "assay")
    assert checkout.call("x", cwd=tmp_path, launcher="assay").stdout == f"{tmp_path}|x|"


def newer(path: Path) -> None:
    """Gives a file a time that lies after every stamp."""
    path.touch()
    os.utime(path, (time.time() + 2, time.time() + 2))


def test_only_what_changed_is_done_again(checkout: Checkout) -> None:
    checkout.call()
    checkout.done()
    newer(checkout.root / "crates" / "new.rs")
    assert "sources changed" in checkout.call().stderr
    assert checkout.done() == ["cargo"]
    (checkout.root / "crates" / "new.rs").unlink()
    os.utime(checkout.root / "crates")
    newer(checkout.root / "setup" / "requirements.lock")
    checkout.call()
    assert "pip" in checkout.done()


def test_checkout_that_moved_is_set_up_anew(checkout: Checkout, tmp_path: Path) -> None:
    checkout.call()
    checkout.done()
    moved = tmp_path / "moved"
    checkout.root.rename(moved)
    checkout.root = moved
    assert checkout.call().returncode == 0
    assert "venv" in checkout.done()


def test_two_first_calls_at_once_set_up_once(checkout: Checkout) -> None:
    calls = [checkout.start("one", PIP_SECONDS="0.3"), checkout.start("two", PIP_SECONDS="0.3")]
    results = [call.communicate(timeout=60) for call in calls]
    assert [call.returncode for call in calls] == [0, 0], results
    assert sorted(out.split("|")[1] for out, _ in results) == ["one", "two"]
    assert sorted(checkout.done()) == FIRST


def test_interrupted_set_up_starts_again(checkout: Checkout) -> None:
    call = checkout.start(PIP_SECONDS="30")
    deadline = time.monotonic() + 30
    while "pip" not in checkout.notes.read_text() and time.monotonic() < deadline:
        time.sleep(0.02)
    os.killpg(call.pid, signal.SIGKILL)
    call.communicate(timeout=30)
    checkout.done()
    assert checkout.call().returncode == 0
    # What was built beside it was done.
    assert sorted(checkout.done()) == [step for step in FIRST if step != "cargo"]


def lives(marked: str) -> list[int]:
    """Processes with this in their environment."""
    found = []
    for process in Path("/proc").glob("[0-9]*"):
        try:
            if marked.encode() in (process / "environ").read_bytes().split(b"\0"):
                found.append(int(process.name))
        except OSError:
            continue
    return found


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM])
def test_interrupt_ends_the_build_that_runs_beside(checkout: Checkout, number: signal.Signals) -> None:
    mark = f"MARK={checkout.root}"
    call = checkout.start(PIP_SECONDS="30", CARGO_SECONDS="31", MARK=str(checkout.root))
    deadline = time.monotonic() + 30
    while not {"pip", "cargo"} <= set(checkout.notes.read_text().split()) and time.monotonic() < deadline:
        time.sleep(0.02)
    # As a terminal does it: all of the group that is in front.
    os.killpg(call.pid, number)
    call.communicate(timeout=20)
    while lives(mark) and time.monotonic() < deadline:
        time.sleep(0.02)
    assert lives(mark) == []
    checkout.done()
    assert checkout.call().returncode == 0
    assert sorted(checkout.done()) == FIRST


def test_packages_that_fail_end_the_build_and_a_build_that_fails_is_shown(checkout: Checkout) -> None:
    mark = f"MARK={checkout.root}"
    failed = checkout.call(PIP_FAILS="1", CARGO_SECONDS="31", MARK=str(checkout.root))
    assert (failed.returncode, lives(mark)) == (1, []), failed.stderr
    failed = checkout.call(CARGO_FAILS="1")
    assert (failed.returncode, failed.stdout) == (1, "")
    assert "does not compile" in failed.stderr
    assert ".assay/setup-beside.log" in failed.stderr
    assert checkout.call().returncode == 0


def test_failed_step_shows_the_end_of_its_log(checkout: Checkout) -> None:
    failed = checkout.call(PIP_FAILS="1")
    assert failed.returncode == 1
    assert failed.stdout == ""
    assert "no such package" in failed.stderr
    assert ".assay/setup.log" in failed.stderr
    assert checkout.call().returncode == 0


def test_old_rust_is_named_with_what_to_do(checkout: Checkout) -> None:
    checkout.program("apt-get", "#!/bin/sh\nexit 1\n")
    checkout.program("apt-cache", "#!/bin/sh\n")
    checkout.program("sudo", "#!/bin/sh\nexit 1\n")
    refused = checkout.call(CARGO_VERSION="1.63.0")
    assert refused.returncode == 4
    assert "cargo 1.63.0" in refused.stderr
    assert "Rust 1.85 or newer" in refused.stderr
    assert "pip" not in checkout.done()


# What a bare system has; the linker, Python and Rust are not among it.
BARE = (
    *("bash", "sh", "env", "find", "mkdir", "readlink", "dirname", "sed", "tail", "mv", "rm", "cp", "mktemp"),
    *("sort", "cut", "cat", "flock", "sleep", "chmod", "grep"),
)
APT_GET = """#!/bin/sh
case "$*" in
*update*) echo update >>"$NOTES" ;;
*install*gcc*)
    echo gcc >>"$NOTES"
    printf '%s\\n' '#!/bin/sh' 'PATH=/usr/bin:/bin exec cc "$@"' >{bin}/cc
    chmod +x {bin}/cc ;;
esac
"""


@pytest.fixture
def bare(checkout: Checkout) -> Checkout:
    """A machine without a linker whose programs all lie in one folder."""
    for name in BARE:
        found = shutil.which(name)
        if found is None:
            pytest.skip(f"{name} is not installed")
        (checkout.bin / name).symlink_to(found)
    return checkout


def test_what_is_missing_is_installed_where_that_is_allowed(bare: Checkout) -> None:
    bare.program("apt-get", APT_GET.format(bin=bare.bin))
    bare.program("sudo", '#!/bin/sh\nshift\nexec "$@"\n')
    done = bare.call("x", PATH=str(bare.bin))
    assert done.returncode == 0, done.stderr
    steps = bare.done()
    assert steps[:2] == ["update", "gcc"]
    assert sorted(steps[2:]) == FIRST


def test_all_that_is_missing_is_named_at_once(bare: Checkout) -> None:
    for name in ("python3", "cargo"):
        (bare.bin / name).unlink()
    refused = bare.call("x", PATH=str(bare.bin))
    assert refused.returncode == 4
    assert refused.stdout == ""
    for words in ("gcc libc6-dev", "Python 3.11 or newer", "Rust 1.85 or newer"):
        assert words in refused.stderr
    assert bare.done() == []


def test_sudo_that_asks_installs_nothing(bare: Checkout) -> None:
    if os.geteuid() == 0:
        pytest.skip("root needs no sudo")
    bare.program("apt-get", APT_GET.format(bin=bare.bin))
    bare.program("sudo", "#!/bin/sh\nexit 1\n")
    refused = bare.call("x", PATH=str(bare.bin))
    assert refused.returncode == 4
    assert "sudo apt-get install -y gcc libc6-dev" in refused.stderr
    assert bare.done() == []


def test_home_may_be_unset(checkout: Checkout) -> None:
    environment = {"PATH": f"{checkout.bin}:/usr/bin:/bin", "NOTES": str(checkout.notes)}
    command = [
        "env",
        "-i",
        *(f"{key}={value}" for key, value in environment.items()),
        str(checkout.root / "assay"),
        "x",
    ]
    done = subprocess.run(command, cwd=checkout.root, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
