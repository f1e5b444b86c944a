"""A passport file: written, read, checked against its schema and its signature, and taken as a result folder."""

from __future__ import annotations

import json
import math
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, cast

from pydantic import ValidationError

from assay.document import limits
from assay.error import BAD_JOB, AssayError
from assay.passport import figures, seal
from assay.passport.document import SUFFIX, Passport, PassportFigure, Sealed
from assay.record import Record
from assay.results import row
from assay.results.files import write_json
from assay.results.folder import Cell, Folder
from assay.untyped import Json

LARGEST_BYTES = 32 << 20
_NEAR = 1e-9


class PassportError(AssayError):
    """A file that is no passport."""

    def __init__(self, message: str) -> None:
        hint = "name a file that `assay passport` wrote; `assay schema passport` prints what one holds"
        super().__init__(message, hint=hint, code=BAD_JOB)


@dataclass(frozen=True)
class Checked:
    """A passport with what was found: whether its signature holds, and what does not follow from its runs."""

    path: Path
    sealed: Sealed
    signed: bool
    problems: tuple[str, ...]

    @property
    def passport(self) -> Passport:
        """What is signed."""
        return self.sealed.passport

    @property
    def good(self) -> bool:
        """Whether nothing is wrong with it."""
        return self.signed and not self.problems

    @property
    def fingerprint(self) -> str:
        """Of the key that signed it."""
        return seal.fingerprint(self.sealed.key)


def write(path: Path, document: Json) -> None:
    """Writes a signed passport, as a whole or not at all."""
    write_json(path, document)


def is_passport(path: Path) -> bool:
    """Whether a path is meant as a passport."""
    return path.suffix == SUFFIX and path.is_file()


def read(path: Path) -> Checked:
    """A passport with what is to be said of it.

    Raises:
        PassportError: where the file is none.
    """
    document = _document(path)
    try:
        sealed = Sealed.model_validate(document)
    except ValidationError as error:
        first = error.errors(include_url=False)[0]
        place = ".".join(str(part) for part in first["loc"]) or "the file"
        raise PassportError(f"{path}, {place}: {first['msg'].removeprefix('Value error, ')}") from error
    signed = seal.holds(document["passport"], sealed.key, sealed.signature)
    return Checked(path, sealed, signed, tuple(_problems(sealed.passport, path)))


def _document(path: Path) -> Json:
    try:
        if path.stat().st_size > LARGEST_BYTES:
            raise PassportError(f"{path} is larger than {LARGEST_BYTES >> 20} MiB, which no passport is")
        text = path.read_text(encoding="utf-8")
        found = json.loads(text, object_pairs_hook=_once, parse_constant=_no_number)
    except OSError as error:
        raise PassportError(f"{path} cannot be read: {error.strerror}") from error
    except RecursionError as error:
        raise PassportError(f"{path} is nested too deep") from error
    except ValueError as error:
        raise PassportError(f"{path} is no JSON: {error}") from error
    limits.check(found, str(path))
    if not isinstance(found, dict):
        raise PassportError(f"{path} is no JSON object")
    return found


def _once(pairs: Sequence[tuple[str, Any]]) -> Json:
    """A key that stands there twice could show one value and sign another."""
    found = dict(pairs)
    if len(found) < len(pairs):
        raise ValueError("a key stands there twice")
    return found


def _no_number(word: str) -> Any:
    raise ValueError(f"{word} is no number")


def _problems(found: Passport, path: Path) -> list[str]:
    """Figures that do not follow from the runs that the passport holds."""
    try:
        again = {one.id: one for one in figures.of(row.rows(as_folder(found, path).cells))}
    except (ArithmeticError, AttributeError, LookupError, TypeError, ValueError) as error:
        return [f"its runs are no records: {type(error).__name__}"]
    told = {one.id: one for one in found.figures}
    problems = [f"`{name}` is in the passport and not in its runs" for name in sorted(set(told) - set(again))]
    problems += [f"`{name}` is in the runs and not in the passport" for name in sorted(set(again) - set(told))]
    problems += [
        f"`{name}` is {told[name].value:g}, and its runs give {again[name].value:g}"
        for name in sorted(set(told) & set(again))
        if not _same(told[name], again[name])
    ]
    return [*problems, *_counts(found)]


def _same(one: PassportFigure, other: PassportFigure) -> bool:
    plain = {"value", "low", "high"}
    if one.model_dump(exclude=plain) != other.model_dump(exclude=plain):
        return False
    pairs = ((getattr(one, name), getattr(other, name)) for name in plain)
    return all(a == b or (a is not None and b is not None and math.isclose(a, b, rel_tol=_NEAR)) for a, b in pairs)


def _counts(found: Passport) -> list[str]:
    statuses = [str((one.record.get("verdict") or {}).get("status")) for one in found.runs]
    return [
        f"it counts {getattr(found.verdicts, word)} {word} runs, and holds {statuses.count(word)}"
        for word in ("valid", "suspect", "invalid")
        if getattr(found.verdicts, word) != statuses.count(word)
    ]


def as_folder(found: Passport, path: Path) -> Folder:
    """The runs of a passport as a result folder, for all that reads those."""
    cells = [
        Cell(
            id=one.id,
            study=one.study,
            scenario=one.scenario,
            repeat=one.repeat,
            factors=dict(one.factors),
            state="finished",
            reason="",
            fix="",
            record=cast("Record", {**one.record, "environment": found.environment, "devices": [], "not_measured": []}),
        )
        for one in found.runs
    ]
    return Folder(path, (), tuple(cells), (), found.made.at, ())
