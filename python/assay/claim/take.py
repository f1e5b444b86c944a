"""What a claim takes from its runs: arithmetic over `RUN.STREAM.METRIC`, with bands.

A run that sweeps a parameter is a list; `peak(...)` takes its largest, `least(...)` its smallest, `at(..., i)` one.
Sums, products and quotients of two lists go element by element.
"""

from __future__ import annotations

import re
from collections.abc import Callable
from typing import Any

from assay.claim.value import ClaimValue
from assay.error import FAILED, AssayError

Leaf = Callable[[str], "ClaimValue | list[ClaimValue]"]
Operand = ClaimValue | list[ClaimValue]

_TOKEN = re.compile(r"\s*(?:(?P<number>\d+(?:\.\d+)?)(?![\w.-])|(?P<name>[A-Za-z][\w.-]*)|(?P<sign>>=|<=|[-+*/(),<>]))")
_PRECEDENCE: dict[str, int] = {"+": 1, "-": 1, "*": 2, "/": 2}
_COMPARISONS: dict[str, Callable[[float, float], bool]] = {
    ">": lambda a, b: a > b,
    "<": lambda a, b: a < b,
    ">=": lambda a, b: a >= b,
    "<=": lambda a, b: a <= b,
}


class TakeError(AssayError):
    """An expression of the catalog that cannot be computed."""

    def __init__(self, text: str, problem: str) -> None:
        super().__init__(f"the claim's expression `{text}` {problem}", hint="correct catalog/claims", code=FAILED)


def evaluate(text: str, leaf: Leaf) -> ClaimValue:
    """The value of an arithmetic expression.

    Raises:
        TakeError: where it cannot be read, or is a list.
    """
    reader = _Reader(text, leaf)
    found = reader.sum()
    reader.end()
    return reader.single(found)


def compare(text: str, leaf: Leaf) -> tuple[bool, ClaimValue, ClaimValue]:
    """Whether a comparison `A > B` holds, and both sides."""
    reader = _Reader(text, leaf)
    left = reader.single(reader.sum())
    sign = reader.take(*_COMPARISONS)
    right = reader.single(reader.sum())
    reader.end()
    return _COMPARISONS[sign](left.number, right.number), left, right


def names(text: str) -> list[str]:
    """Every `RUN.STREAM.METRIC` in an expression."""
    return [token for kind, token in _tokens(text) if kind == "name" and "." in token]


def _tokens(text: str) -> list[tuple[str, str]]:
    found, at = [], 0
    while at < len(text.rstrip()):
        match = _TOKEN.match(text, at)
        if match is None or match.lastgroup is None:
            raise TakeError(text, f"cannot be read at `{text[at:]}`")
        # A name may hold `-`; subtraction is written with spaces around it.
        found.append((match.lastgroup, match[match.lastgroup]))
        at = match.end()
    return found


class _Reader:
    """Reads by recursive descent."""

    def __init__(self, text: str, leaf: Leaf) -> None:
        self._text, self._leaf = text, leaf
        self._tokens, self._at = _tokens(text), 0

    def single(self, operand: Operand) -> ClaimValue:
        if isinstance(operand, list):
            raise TakeError(self._text, "is a list; take its peak(...), least(...) or at(..., i)")
        return operand

    def end(self) -> None:
        if self._at < len(self._tokens):
            raise TakeError(self._text, f"goes on where it should end, at `{self._tokens[self._at][1]}`")

    def take(self, *wanted: str) -> str:
        token = self._peek()
        if token not in wanted:
            raise TakeError(self._text, f"has `{token}` where one of {' '.join(wanted)} should stand")
        self._at += 1
        return token

    def sum(self, least: int = 1) -> Operand:
        """Precedence climbing: a sum of products."""
        left = self._operand()
        while _PRECEDENCE.get(self._peek(), 0) >= least:
            sign = self._tokens[self._at][1]
            self._at += 1
            right = self.sum(_PRECEDENCE[sign] + 1)
            left = self._apply(sign, left, right)
        return left

    def _peek(self) -> str:
        return self._tokens[self._at][1] if self._at < len(self._tokens) else ""

    def _operand(self) -> Operand:
        if self._at >= len(self._tokens):
            raise TakeError(self._text, "ends too early")
        kind, word = self._tokens[self._at]
        self._at += 1
        if kind == "number":
            return ClaimValue(float(word))
        if word == "(":
            found = self.sum()
            self.take(")")
            return found
        if kind == "name" and self._peek() == "(":
            return self._call(word)
        if kind == "name":
            return self._leaf(word)
        raise TakeError(self._text, f"has `{word}` where a value should stand")

    def _call(self, name: str) -> Operand:
        self.take("(")
        operand = self.sum()
        values = operand if isinstance(operand, list) else [operand]
        if name == "at":
            self.take(",")
            index = int(self.single(self._operand()).number)
            if index >= len(values):
                raise TakeError(self._text, f"asks for element {index} of {len(values)}")
            found: Operand = values[index]
        elif name in ("peak", "least"):
            found = (max if name == "peak" else min)(values, key=lambda value: value.number)
        else:
            raise TakeError(self._text, f"calls `{name}`; known are peak, least and at")
        self.take(")")
        return found

    def _apply(self, sign: str, left: Operand, right: Operand) -> Operand:
        if isinstance(left, list) or isinstance(right, list):
            lefts, rights = _alike(left, right)
            if len(lefts) != len(rights):
                raise TakeError(self._text, f"joins lists of {len(lefts)} and {len(rights)}")
            return [self._two(sign, a, b) for a, b in zip(lefts, rights, strict=True)]
        return self._two(sign, left, right)

    def _two(self, sign: str, left: ClaimValue, right: ClaimValue) -> ClaimValue:
        operations: dict[str, Callable[[Any, Any], ClaimValue]] = {
            "+": ClaimValue.__add__,
            "-": ClaimValue.__sub__,
            "*": ClaimValue.__mul__,
            "/": ClaimValue.__truediv__,
        }
        try:
            return operations[sign](left, right)
        except ZeroDivisionError as error:
            raise TakeError(self._text, "divides by zero") from error


def _alike(left: Operand, right: Operand) -> tuple[list[ClaimValue], list[ClaimValue]]:
    longest = max(len(side) for side in (left, right) if isinstance(side, list))
    return _repeated(left, longest), _repeated(right, longest)


def _repeated(side: Operand, times: int) -> list[ClaimValue]:
    return side if isinstance(side, list) else [side] * times
