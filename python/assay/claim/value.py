"""A number with a band: what a twin says, and what follows from it by arithmetic."""

from __future__ import annotations

import math
from dataclasses import dataclass


@dataclass(frozen=True)
class ClaimValue:
    """A number and its relative half-width: it lies between `number / (1 + width)` and `number * (1 + width)`.

    `extrapolated` names what lies outside the calibrated box of the twins that it came from.
    """

    number: float
    width: float = 0.0
    extrapolated: tuple[str, ...] = ()

    @property
    def low(self) -> float:
        """Lower end."""
        return self.number / (1 + self.width)

    @property
    def high(self) -> float:
        """Upper end."""
        return self.number * (1 + self.width)

    def scaled(self, factor: float) -> ClaimValue:
        """The same in another unit."""
        return ClaimValue(self.number * factor, self.width, self.extrapolated)

    def __add__(self, other: ClaimValue) -> ClaimValue:
        """Sum: the errors of both are taken to be independent."""
        number = self.number + other.number
        return self._joined(other, number, _share(math.hypot(self._spread, other._spread), number))

    def __sub__(self, other: ClaimValue) -> ClaimValue:
        """Difference, likewise."""
        number = self.number - other.number
        return self._joined(other, number, _share(math.hypot(self._spread, other._spread), number))

    def __mul__(self, other: ClaimValue) -> ClaimValue:
        """Product: relative errors add in squares."""
        return self._joined(other, self.number * other.number, math.hypot(self.width, other.width))

    def __truediv__(self, other: ClaimValue) -> ClaimValue:
        """Quotient, likewise."""
        return self._joined(other, self.number / other.number, math.hypot(self.width, other.width))

    @property
    def _spread(self) -> float:
        return abs(self.number) * self.width

    def _joined(self, other: ClaimValue, number: float, width: float) -> ClaimValue:
        seen = dict.fromkeys((*self.extrapolated, *other.extrapolated))
        return ClaimValue(number, width, tuple(seen))


def _share(spread: float, number: float) -> float:
    if spread == 0:
        return 0.0
    return spread / abs(number) if number else math.inf
