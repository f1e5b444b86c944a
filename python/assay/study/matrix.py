"""The cross product of a study's factors, without what makes no sense."""

from __future__ import annotations

import itertools
from collections.abc import Collection, Iterator, Mapping, Sequence
from typing import Any

from assay.error import AssayError
from assay.study.expression import label_of
from assay.study.model import Choice, Require, Scalar, Settings, Study
from assay.units.parse import number_of

Factors = dict[str, Any]


def combinations(study: Study) -> list[Factors]:
    """Every combination of factor values that no `exclude` names, in the order of the file.

    A value that is a choice is its table, with `name`.
    """
    names = list(study.matrix)
    values = [[_plain(value) for value in study.matrix[name]] for name in names]
    found = (dict(zip(names, row, strict=True)) for row in itertools.product(*values))
    return [factors for factors in found if not any(matches(rule.when, factors) for rule in study.exclude)]


def matches(when: Settings, factors: Mapping[str, Any]) -> bool:
    """Whether the factors have every value (or one of the values) that a rule names."""
    return all(_one_of(wanted, factors[column]) for column, wanted in when.items())


def _one_of(wanted: Scalar | list[Scalar], value: Any) -> bool:
    return label_of(value) in [label_of(item) for item in (wanted if isinstance(wanted, list) else [wanted])]


def unmet(study: Study, factors: Mapping[str, Any], kinds: Collection[str]) -> Require | None:
    """The requirement that a target does not meet which is, or plays, any of these kinds."""
    rules = (rule for rule in study.require if matches(rule.when, factors))
    return next((rule for rule in rules if not set(kinds) & set(rule.targets)), None)


def scenarios(study: Study) -> Iterator[tuple[str, tuple[str, ...]]]:
    """Name and classes of every scenario: `all`, `alone:scan`, `pair:scan+wal`.

    A single class is `all`, and so is work; two classes are their only pair, which is `all`.
    """
    names = tuple(study.classes)
    wanted = study.scenarios
    if len(names) <= 1:
        yield "all", names
        return
    if "alone" in wanted:
        yield from ((f"alone:{name}", (name,)) for name in names)
    if "pairwise" in wanted and not (len(names) == 2 and "all" in wanted):
        yield from ((f"pair:{a}+{b}", (a, b)) for a, b in itertools.combinations(names, 2))
    if "all" in wanted:
        yield "all", names


def typed(study: Study, factors: Factors) -> Factors:
    """Factor values as tables and figures use them: sizes in bytes, durations in seconds, choices by name."""
    return {name: _typed(study.matrix[name], value) for name, value in factors.items()}


def _typed(values: Sequence[Choice | Scalar], value: Any) -> Any:
    if not isinstance(value, str) or not all(_is_quantity(item) for item in values):
        return value["name"] if isinstance(value, Mapping) else value
    return number_of(value)


def _is_quantity(value: Choice | Scalar) -> bool:
    try:
        number_of(value)
    except AssayError:
        return False
    return True


def _plain(value: Choice | Scalar) -> Any:
    return value.model_dump() if isinstance(value, Choice) else value
