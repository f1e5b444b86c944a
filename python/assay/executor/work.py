"""A piece of computing: a function of this program that takes a JSON document and answers with another one."""

from __future__ import annotations

import json
from collections.abc import Callable, Sequence
from typing import Any, Protocol

from assay.error import FAILED, AssayError
from assay.untyped import Json

Work = Callable[[Json], Any]
Heard = Callable[[int, Any], None]
"""Hears the place of an order and its answer as soon as that is there, in whatever order they come."""


class WorkExecutor(Protocol):
    """Who does work."""

    @property
    def size(self) -> int:
        """How many orders are under way at a time."""

    @property
    def here(self) -> bool:
        """Whether it works on this machine's files."""

    def do(self, work: Work, orders: Sequence[Json], heard: Heard | None = None) -> list[Any]:
        """Every order once; answers in the order of the orders, so that it makes no difference who gave them.

        Raises:
            AssayError: what the work raises.
        """


class SerialExecutor:
    """This process, one after the other."""

    size = 1
    here = True

    def do(self, work: Work, orders: Sequence[Json], heard: Heard | None = None) -> list[Any]:
        """As above."""
        found = []
        for place, order in enumerate(orders):
            found.append(work(order))
            if heard is not None:
                heard(place, found[-1])
        return found


def performed(work: Work, order: str) -> str:
    """Does an order for another process; an error is an answer too, so that its sentence and its exit code arrive."""
    try:
        return json.dumps({"answer": work(json.loads(order))})
    except AssayError as error:
        return json.dumps(error.document())


def answer(said: str) -> Any:
    """What `performed` has said.

    Raises:
        AssayError: the one that was raised there.
    """
    found = json.loads(said)
    if problem := found.get("error"):
        code = int(problem.get("exit_code", FAILED))
        raise AssayError(str(problem["message"]), hint=str(problem["hint"]), code=code)
    return found["answer"]
