"""Checks, and the suites that hold them."""

from __future__ import annotations

import importlib
import pkgutil
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

from assay.error import BAD_JOB, did_you_mean

from assay_lab import suites
from assay_lab.error import LabError

if TYPE_CHECKING:
    from assay_lab.lab import Lab

CI = "ci"
_ATTRIBUTE = "lab_check"

Body = Callable[["Lab"], None]


class Broken(Exception):  # noqa: N818  What a check found, not an error of the program.
    """What was seen is not what was expected."""


class Skip(Exception):  # noqa: N818
    """The check cannot be made here: why."""


@dataclass(frozen=True)
class Check:
    """One behaviour that is asserted in the guest."""

    suite: str
    name: str
    body: Body
    needs: tuple[str, ...]
    ci: bool

    @property
    def about(self) -> str:
        """One line that says what it asserts."""
        return (self.body.__doc__ or "").strip().splitlines()[0] if self.body.__doc__ else ""


def check(name: str, needs: Iterable[str] = (), ci: bool = True) -> Callable[[Body], Body]:
    """Makes a function a check.

    `needs` are programs of the guest (`mdadm`) and modules of its kernel (`module:f2fs`); without one of them the check
    is skipped. `ci` says whether it belongs to what every change is tested with.
    """

    def mark(body: Body) -> Body:
        registered = getattr(body, _ATTRIBUTE, [])
        setattr(body, _ATTRIBUTE, [*registered, (name, tuple(needs), ci)])
        return body

    return mark


def expect(holds: bool, sentence: str) -> None:
    """Breaks the check with a sentence (what was seen, what was expected) where something does not hold."""
    if not holds:
        raise Broken(sentence)


def names() -> list[str]:
    """The suites."""
    return sorted(module.name for module in pkgutil.iter_modules(suites.__path__))


def of_suite(name: str) -> list[Check]:
    """The checks of one suite, in the order in which they are written."""
    module = importlib.import_module(f"{suites.__name__}.{name}")
    # Functions of another module are that module's; checks made in a loop share one.
    found = [value for value in vars(module).values() if hasattr(value, _ATTRIBUTE)]
    own = [body for body in found if body.__module__ == module.__name__]
    return [Check(name, title, body, needs, ci) for body in own for title, needs, ci in getattr(body, _ATTRIBUTE)]


def choose(wanted: Sequence[str]) -> list[Check]:
    """The checks of suites, or single ones named SUITE/CHECK; `ci`, or nothing, means those of all suites for CI."""
    known = names()
    chosen: dict[tuple[str, str], Check] = {}
    for word in wanted or [CI]:
        suite, _, single = word.partition("/")
        if suite != CI and suite not in known:
            raise LabError(f"there is no suite `{word}`", hint=did_you_mean(suite, [CI, *known]), code=BAD_JOB)
        every = [one for name in known for one in of_suite(name) if one.ci] if suite == CI else of_suite(suite)
        found = [one for one in every if not single or one.name == single]
        if not found:
            hint = did_you_mean(single, [one.name for one in every])
            raise LabError(f"there is no check `{word}`", hint=hint, code=BAD_JOB)
        chosen |= {(one.suite, one.name): one for one in found}
    return list(chosen.values())
