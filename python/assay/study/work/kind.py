"""Kinds of work that are driven from Python, as a study's `[work]` names them, and a cell its program."""

from __future__ import annotations

from collections.abc import Sequence

DRIVEN = ("contest", "dbms-tpcc", "dbms-tpch", "dbms-wtperf")


def driven(program: Sequence[str]) -> bool:
    """Whether a cell's program is no command of the measuring program, but a kind that is driven from here."""
    return bool(program) and program[0] in DRIVEN
