"""What `./assay test` runs, what it says of it, and what it leaves behind, with stand-ins for Python and cargo."""

import os
import shlex
import shutil
import signal
import sys
import time
from pathlib import Path

import pytest
from launcher.test_launcher import PYTHON, Checkout

# Each step of Python calls a module, or the reader of the documentation; `STEP_FAILS` names the one that fails,
# `STEP_WAITS` the one that hangs.
STEP = """*"-m pytest"*|*"-m ruff"*|*"-m mypy"*|*"tools/prose.py"*)
    echo "$$" >>"$NOTES"
    [[ -z ${{STEP_WAITS-}} || "$*" != *$STEP_WAITS* ]] || sleep 300
    [[ -z ${{STEP_FAILS-}} || "$*" != *$STEP_FAILS* ]] || {{ echo what is wrong; exit 1; }}
    echo "closing line of $*" ;;
*) exit 9 ;;"""

CARGO = """#!/usr/bin/env bash
[[ $1 == --version ]] && echo "cargo 1.85.0 (stand-in)" && exit
[[ $2 == --version ]] && exit
echo "$$" >>"$NOTES"
[[ $1 != build ]] || { mkdir -p target/release && cp "$0" target/release/assayer && cp "$0" target/release/assayer-db &&
    cp "$0" target/release/assayer-mount; }
[[ -z ${CARGO_WAITS-} || $1 != "$CARGO_WAITS" ]] || sleep 300
[[ -z ${CARGO_FAILS-} || $1 != "$CARGO_FAILS" ]] || { echo what is wrong; exit 101; }
echo "closing line of cargo $1"
"""
ALL = ["rust format", "python format", "python lint", "python types", "python tests", "rust tests", "e2e tests"]
BESIDE = ["rust build", "rust lint", "lab tests"]


@pytest.fixture
def checkout(root: Path, tmp_path: Path) -> Checkout:
    if shutil.which("cc") is None:
        pytest.skip("cc is not installed")
    made = Checkout(root, tmp_path)
    made.program("python3", PYTHON.replace("*) exit 9 ;;", STEP).format(python=shlex.quote(sys.executable)))
    made.program("cargo", CARGO)
    (made.root / "tests" / "e2e").mkdir(parents=True)
    return made


def verdicts(out: str) -> dict[str, str]:
    """The verdict of each step, in the order of the closing table."""
    table = out.rstrip().rpartition("\n\n")[2].splitlines()
    return {" ".join(line.split()[1:-2]): line.split()[0] for line in table}


def test_every_step_is_run_and_told_of_once(checkout: Checkout) -> None:
    done = checkout.call("test")
    assert done.returncode == 0, done.stdout + done.stderr
    assert verdicts(done.stdout) == dict.fromkeys(ALL + BESIDE, "passed")
    assert [line[3:] for line in done.stdout.splitlines() if line.startswith("== ")] == ALL + BESIDE


@pytest.mark.parametrize(
    ("fails", "steps"),
    [
        ({"STEP_FAILS": "mypy"}, ["python types"]),
        ({"CARGO_FAILS": "test"}, ["rust tests", "rust build"]),
        ({"STEP_FAILS": "lab"}, ["lab tests"]),
    ],
)
def test_a_step_that_fails_is_shown_whole_and_the_others_go_on(
    checkout: Checkout, fails: dict[str, str], steps: list[str]
) -> None:
    done = checkout.call("test", cwd=None, launcher=None, **fails)
    assert done.returncode == 1
    assert verdicts(done.stdout) == dict.fromkeys(ALL + BESIDE, "passed") | dict.fromkeys(steps, "FAILED")
    assert all(f"== {step}\nwhat is wrong" in done.stdout for step in steps)


@pytest.mark.parametrize("waits", [{"STEP_WAITS": "mypy"}, {"CARGO_WAITS": "test"}])
def test_what_is_ended_from_outside_leaves_no_process(checkout: Checkout, waits: dict[str, str]) -> None:
    call = checkout.start("test", cwd=None, launcher=None, **waits)
    limit = time.monotonic() + 30
    while len(checkout.notes.read_text().split()) < len(["venv", "pip", "pip", "build", "ruff", "test"]):
        assert time.monotonic() < limit, checkout.notes.read_text()
        time.sleep(0.05)
    time.sleep(0.5)
    os.killpg(call.pid, signal.SIGINT)
    call.communicate(timeout=30)
    while left := running(checkout):
        assert time.monotonic() < limit + 30, f"left behind: {left}"
        time.sleep(0.05)


def running(checkout: Checkout) -> list[str]:
    """Command lines of processes that the checkout's stand-ins have noted and that still run."""
    numbers = [word for word in checkout.notes.read_text().split() if word.isdigit()]
    lines = [Path("/proc", number, "cmdline") for number in numbers]
    return [line.read_text() for line in lines if line.exists() and str(checkout.root.parent) in line.read_text()]
