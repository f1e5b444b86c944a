"""Kinds of value in a study file: quantities, whole numbers, words, paths. Each lets a `${...}` pass.

Each is a mark for `Annotated` that checks the value and describes it in the JSON Schema for editors.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Annotated, Any

from pydantic import GetCoreSchemaHandler, GetJsonSchemaHandler, StrictFloat, StrictInt, StrictStr
from pydantic_core import CoreSchema, core_schema

from assay.error import AssayError, did_you_mean
from assay.results import paths
from assay.study.expression import is_template
from assay.units.parse import parse_bytes, parse_rate, parse_seconds

PATH_KINDS = tuple(paths.KINDS)
PATH_OPTIONS = (
    *("direct", "fixed", "iopoll", "sqpoll", "fenced", "nt", "clwb", "clflushopt", "nopersist"),
    *("random", "sequential", "will_need", "huge_page", "vfio", "no_iommu", "uio"),
)
_TEMPLATE = {"type": "string", "pattern": r"\$\{[^{}]*\}"}


class _Kind:
    """A check with its description."""

    def check(self, value: Any) -> Any:
        """The value, or a `ValueError` that says what is wrong with it."""
        raise NotImplementedError

    def described(self) -> dict[str, Any]:
        """What an editor is told."""
        raise NotImplementedError

    def _checked(self, value: Any) -> Any:
        return value if is_template(value) else self.check(value)

    def __get_pydantic_core_schema__(self, source: Any, handler: GetCoreSchemaHandler) -> CoreSchema:
        return core_schema.no_info_after_validator_function(self._checked, handler(source))

    def __get_pydantic_json_schema__(self, schema: CoreSchema, handler: GetJsonSchemaHandler) -> dict[str, Any]:
        return {"anyOf": [self.described(), _TEMPLATE]}


class Quantity(_Kind):
    """A number with a unit."""

    def __init__(self, parse: Callable[[Any], Any], units: str) -> None:
        self._parse = parse
        self._units = units

    def check(self, value: Any) -> Any:
        try:
            self._parse(value)
        except AssayError as error:
            raise ValueError(f"{error.message}; {error.hint}") from error
        return value

    def described(self) -> dict[str, Any]:
        text = {"type": "string", "pattern": rf"^\s*[0-9.]+\s*{self._units}\s*$"}
        return {"anyOf": [{"type": "number", "minimum": 0}, text]}


class Whole(_Kind):
    """A whole number of at least `minimum`."""

    def __init__(self, minimum: int) -> None:
        self._minimum = minimum

    def check(self, value: Any) -> Any:
        if isinstance(value, str) or value != int(value) or value < self._minimum:
            raise ValueError(f"`{value}` is not a whole number of at least {self._minimum}")
        return int(value)

    def described(self) -> dict[str, Any]:
        return {"type": "integer", "minimum": self._minimum}


class Word(_Kind):
    """One of several words."""

    def __init__(self, *words: str) -> None:
        self._words = words

    def check(self, value: Any) -> Any:
        if value not in self._words:
            raise ValueError(f"`{value}` is not known; {did_you_mean(value, self._words)}")
        return value

    def described(self) -> dict[str, Any]:
        return {"enum": list(self._words)}


class PathWord(_Kind):
    """A path and its options joined by `+`."""

    def check(self, value: Any) -> Any:
        kind, *options = value.split("+")
        if kind not in PATH_KINDS:
            raise ValueError(f"`{kind}` is not a path; {did_you_mean(kind, PATH_KINDS)}")
        unknown = next((option for option in options if option not in PATH_OPTIONS), None)
        if unknown is not None:
            raise ValueError(f"`{unknown}` is not an option of a path; {did_you_mean(unknown, PATH_OPTIONS)}")
        return value

    def described(self) -> dict[str, Any]:
        return {"type": "string", "pattern": rf"^({'|'.join(PATH_KINDS)})(\+({'|'.join(PATH_OPTIONS)}))*$"}


Number = StrictInt | StrictFloat | StrictStr

Size = Annotated[Number, Quantity(parse_bytes, "([kKMGT]i?B|B)?")]
Duration = Annotated[Number, Quantity(parse_seconds, "(ns|us|ms|s|min|h)?")]
RateText = Annotated[Number, Quantity(parse_rate, "([kKMGT]i?B|B|ops)?(/s)?")]
Count = Annotated[Number, Whole(1)]
CountOrZero = Annotated[Number, Whole(0)]
PathText = Annotated[str, PathWord()]
Advice = Annotated[str, Word("normal", "random", "sequential", "will_need", "huge_page")]
Operation = Annotated[str, Word("read", "write", "mix", "trim")]
PatternWord = Annotated[str, Word("sequential", "uniform", "shuffled")]
Arrivals = Annotated[str, Word("closed", "fixed", "poisson", "burst")]
RateScope = Annotated[str, Word("total", "thread")]
DurabilityWord = Annotated[str, Word("none", "fdatasync", "fsync", "o_dsync", "rwf_dsync", "msync", "persist")]
Metric = Annotated[str, Word("mean_ns", "p50_ns", "p99_ns", "p999_ns", "bandwidth_bytes_per_s", "ops_per_s")]
Layout = Annotated[str, Word("written", "grow", "preallocated", "as-found")]
Placement = Annotated[str, Word("interleave", "bound")]
Content = Annotated[str, Word("random", "zero", "stamped")]
Cache = Annotated[str, Word("as-found", "warm", "cold", "bypassed")]
Counting = Annotated[str, Word("auto", "in-window", "own-window", "accounts")]
