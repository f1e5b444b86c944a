"""The runner of mutants: what it changes, which tests it takes, and that it tells a test that notices from others."""

from __future__ import annotations

import subprocess
import sys
import tomllib
from pathlib import Path

import pytest

from . import rust, watch, whole
from .mutate import mutants, mutated
from .rooms import ROOMS, ROOT, Room
from .watch import Ran, module_of

SOURCE = '''
LEVEL = 0.05


@decorated
def judge(p: float = 1) -> str:
    """Words 1 < 2 stay."""
    if p < LEVEL and not p == 0:
        raise ValueError(p + 1)
    return min(p, -2) + [p][0]
'''


def test_every_slip_of_the_hand_is_made_once() -> None:
    made = {(one.was, one.now) for one in mutants(SOURCE, "x.py")}
    assert made == {
        ("LEVEL = 0.05", "LEVEL = 0.1"),
        ("1", "2"),
        ("p < LEVEL", "p <= LEVEL"),
        ("p < LEVEL", "p >= LEVEL"),
        ("p < LEVEL and (not p == 0)", "p < LEVEL or not p == 0"),
        ("not p == 0", "not not p == 0"),
        ("p == 0", "p != 0"),
        ("p == 0", "p == 1"),
        ("min(p, -2)", "max(p, -2)"),
        ("-2", "+2"),
        ("-2", "-3"),
        ("min(p, -2) + [p][0]", "min(p, -2) - [p][0]"),
        ("[p][0]", "[p][1]"),
    }


def test_a_mutant_knows_its_function_and_can_be_compiled() -> None:
    found = mutants(SOURCE, "x.py")
    assert {(one.function, one.begins) for one in found} == {("", 0), ("judge", 0), ("judge", 5)}
    for one in found:
        assert mutated(SOURCE, one.number, "x.py").co_filename == "x.py"
    codes = {mutated(SOURCE, one.number, "x.py") for one in found}
    assert len(codes) == len(found), "each is another program"


def test_those_tests_are_run_that_run_the_line() -> None:
    inside = next(one for one in mutants(SOURCE, "x.py") if one.begins)
    outside = next(one for one in mutants(SOURCE, "x.py") if not one.begins)
    ran = {
        "slow": Ran(2.0, {"x.py": {inside.line}}),
        "quick": Ran(1.0, {"x.py": {inside.line}}),
        "other": Ran(0.1, {"x.py": {1}}),
        "elsewhere": Ran(0.1, {"y.py": {inside.line}}),
        "other::refused": Ran(0.2, {}),
    }
    assert watch.tests_of(inside, ran) == ["quick", "slow"]
    assert watch.tests_of(outside, ran) == ["other", "other::refused", "quick", "slow"]
    assert module_of("python/assay/stats/__init__.py") == "assay.stats"


#: Of the level of Welch's test it knows only that it is there, and of the rest nothing.
_HALF_A_TEST = """
from assay.stats.welch import LEVEL, Unpaired

def test_a_level():
    assert LEVEL == 0.05
    assert Unpaired(0.01, 0.9, 1.1).differs
    assert not Unpaired(0.5, 0.9, 1.1).differs
"""
_PROGRAM = """
import sys
import pytest
from mutants.mutate import mutants
from mutants.rooms import ROOT
from mutants.session import Session

file = "python/assay/stats/welch.py"
every = mutants((ROOT / file).read_text(), file)
wanted = [one for one in every if one.function == "Unpaired.differs" or one.was == "LEVEL = 0.05"]
wanted.append(next(one for one in every if one.function == "unpaired"))
session = Session(wanted, [file], 600.0)
pytest.main(["-q", "-q", "-s", "-c", str(ROOT / "pyproject.toml"), sys.argv[1]], plugins=[session])
for one in wanted:
    print(f"{one.function}: {one.now}: {session.seen[one]}")
"""


def test_a_test_that_notices_kills_and_one_that_does_not_lets_live(tmp_path: Path) -> None:
    """In a process of its own: a session inside of a session would share its plugins."""
    (tmp_path / "test_some.py").write_text(_HALF_A_TEST)
    words = [sys.executable, "-c", _PROGRAM, str(tmp_path)]
    done = subprocess.run(words, cwd=ROOT / "tests", capture_output=True, text=True, timeout=300, check=False)
    assert done.returncode == 0, done.stdout + done.stderr
    assert done.stdout.splitlines()[-4:] == [
        ": LEVEL = 0.1: killed",
        "Unpaired.differs: self.p <= LEVEL: survived",
        "Unpaired.differs: self.p >= LEVEL: killed",
        "unpaired: min(len(first), len(other)) <= LEAST: run by no test",
    ]


def test_the_page_keeps_what_it_says_of_rooms_that_were_not_run() -> None:
    survivor = whole.Survivor("a.py f: 1 -> 2", "survived", "it is the same")
    first = whole.Result("units", "Python", 10, 5, 4, (survivor,))
    once = whole.page(f"head {whole.BEGIN} old {whole.END} tail", "Said.", [first])
    second = whole.Result("prices", "Python", 8, 8, 8)
    twice = whole.page(once, "Said again.", [second])
    assert whole.row(first) in twice
    assert "- units: `a.py f: 1 -> 2`: it is the same." in twice
    assert "| advice | not run |" in twice
    assert twice.startswith("head ")
    assert twice.endswith(" tail")
    assert "Said. " not in twice


@pytest.mark.parametrize("room", ROOMS, ids=lambda room: room.name)
def test_a_room_has_files_and_tests(room: Room) -> None:
    assert room.files()
    assert all((ROOT / "tests" / name).exists() for name in room.tests)


def test_what_is_argued_is_still_there() -> None:
    argued = tomllib.loads((Path(__file__).parent / "argued.toml").read_text(encoding="utf-8"))["survivors"]
    files = [name for room in ROOMS for name in room.files()]
    known = [one.key for name in files for one in mutants((ROOT / name).read_text(encoding="utf-8"), name)]
    python = [begin for begin in argued if begin.startswith("python/")]
    stale = [begin for begin in python if not any(key.startswith(begin) for key in known)]
    assert not stale, f"these mutants cannot be made any more: {stale}"
    assert all(why and not why.endswith(".") for why in argued.values())


def test_a_mutant_of_rust_is_named_without_its_line() -> None:
    name = "crates/load/src/tally.rs:41:5: replace index_of -> usize with 0"
    assert rust.key(name) == "crates/load/src/tally.rs: replace index_of -> usize with 0"
