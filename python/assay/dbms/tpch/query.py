"""The 22 queries: templates, parameters and dialects make statements."""

from __future__ import annotations

import functools
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import jinja2

from assay.dbms.tpch import parameters
from assay.dbms.tpch.dialect import Dialect
from assay.error import BAD_JOB, AssayError

NUMBERS = tuple(range(1, 23))

# What each answer is ordered by: column and whether it falls (clause 2.4). Where no order is asked, none is checked.
ORDER: dict[int, tuple[tuple[int, bool], ...]] = {
    1: ((0, False), (1, False)),
    2: ((0, True), (2, False), (1, False), (3, False)),
    3: ((1, True), (2, False)),
    4: ((0, False),),
    5: ((1, True),),
    7: ((0, False), (1, False), (2, False)),
    8: ((0, False),),
    9: ((0, False), (1, True)),
    10: ((2, True),),
    11: ((1, True),),
    12: ((0, False),),
    13: ((1, True), (0, True)),
    15: ((0, False),),
    16: ((3, True), (0, False), (1, False), (2, False)),
    18: ((4, True), (3, False)),
    20: ((0, False),),
    21: ((1, True), (0, False)),
    22: ((0, False),),
}


@dataclass(frozen=True)
class Query:
    """One query as one engine runs it."""

    number: int
    sql: str

    @property
    def name(self) -> str:
        """Its name in records."""
        return name(self.number)


def name(number: int) -> str:
    """A query's name in records: `q03`."""
    return f"q{number:02}"


def render(number: int, values: Mapping[str, Any], dialect: Dialect) -> Query:
    """A query with its parameters in the engine's own SQL."""
    template = _templates().get_template(f"{name(number)}.sql.j2")
    text = template.render(
        values,
        date=dialect.date,
        year=dialect.year,
        part=dialect.part,
        top=dialect.top,
        limit=dialect.limit,
    )
    return Query(number, "\n".join(line.rstrip() for line in text.splitlines() if line.strip()))


def queries(dialect: Dialect, scale: float, wanted: Sequence[int] = NUMBERS, seed: int | None = None) -> list[Query]:
    """The wanted queries, with the validation parameters, or with drawn ones where there is a seed."""
    values = parameters.validation(scale) if seed is None else parameters.drawn(scale, seed)
    return [render(number, values[number], dialect) for number in wanted]


def chosen(text: str) -> list[int]:
    """`1,6,9-12` as numbers, in the order given.

    Raises:
        AssayError: where a word is no query.
    """
    found: list[int] = []
    for word in text.replace(" ", "").split(","):
        first, _, last = word.lower().removeprefix("q").partition("-")
        if not first.isdigit() or (last and not last.isdigit()):
            raise _no_query(word)
        numbers = range(int(first), int(last or first) + 1)
        if not numbers or numbers[0] < 1 or numbers[-1] > len(NUMBERS):
            raise _no_query(word)
        found += [number for number in numbers if number not in found]
    return found


def _no_query(word: str) -> AssayError:
    return AssayError(
        f"`{word}` is no query of TPC-H", hint="write numbers from 1 to 22, such as 1,6,9-12", code=BAD_JOB
    )


@functools.cache
def _templates() -> jinja2.Environment:
    loader = jinja2.PackageLoader("assay.dbms.tpch", "templates")
    # SQL for a terminal or a server, not for a browser: nothing is escaped, and nothing comes from outside.
    return jinja2.Environment(loader=loader, undefined=jinja2.StrictUndefined, autoescape=False)  # noqa: S701
