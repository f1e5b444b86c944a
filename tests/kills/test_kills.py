"""Some kills by a seed; `./assay test kills` makes 300."""

from __future__ import annotations

import time

import pytest

from .cases import CASES, possible
from .killing import HOWS, Kill, drawn, run

#: Seconds after which no further kill is made; 20 take some 40.
_BUDGET_S = 45.0
_SEED = 7


def test_kills_are_drawn_of_every_command_and_every_signal() -> None:
    kills = drawn(300, _SEED)
    assert len(kills) == 300
    assert {kill.case for kill in kills} <= set(CASES)
    assert {kill.how for kill in kills} == set(HOWS)
    assert kills == drawn(300, _SEED)


@pytest.mark.usefixtures("assayer")
def test_what_was_killed_has_lost_nothing_and_leaves_nothing() -> None:
    until, wrong = time.monotonic() + _BUDGET_S, []
    for kill in drawn(20, _SEED):
        if time.monotonic() > until:
            break
        if complaint := run(kill).wrong:
            wrong.append(f"{kill} (seed {_SEED}): {complaint}")
    assert not wrong, "\n".join(wrong)


@pytest.mark.usefixtures("assayer")
@pytest.mark.parametrize(
    ("case", "how", "word"),
    [
        # What initdb has started writes on when initdb alone is ended.
        ("dbms tpcc postgres", "TERM", "--boot"),
        ("dbms tpcc postgres", "INT INT", "checkpointer"),
        ("dbms tpch postgres", "TERM", "walwriter"),
    ],
)
def test_a_server_ends_before_its_folder_is_removed(case: str, how: str, word: str) -> None:
    if not possible(CASES[case]):
        pytest.skip("PostgreSQL is not installed")
    seen = run(Kill(case, how, 0.0, word))
    assert seen.alive, "it was to be killed while it ran"
    assert not seen.wrong, seen.wrong


@pytest.mark.usefixtures("assayer")
@pytest.mark.parametrize(
    ("case", "word"),
    [
        ("dbms tpcc postgres", "--boot"),
        ("dbms tpcc postgres", "checkpointer"),
        # What plays a drive ends, and unmounts, with the command that waits for it.
        ("mount", "assayer-mount"),
    ],
)
def test_what_was_killed_outright_leaves_no_shared_memory_and_no_mount(case: str, word: str) -> None:
    if not possible(CASES[case]):
        pytest.skip("PostgreSQL is not installed, or nothing can be mounted")
    seen = run(Kill(case, "KILL", 0.0, word))
    assert seen.alive, "it was to be killed while it ran"
    assert not seen.wrong, seen.wrong


@pytest.mark.usefixtures("assayer")
def test_an_interrupt_of_the_interpreter_that_starts_is_a_sentence() -> None:
    for step in range(8):
        seen = run(Kill("verify", "INT", step / 200))
        assert not seen.wrong, seen.wrong
