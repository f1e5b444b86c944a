"""Finding and reading study files; errors name the file, the line and the field."""

from __future__ import annotations

import math
import tomllib
from collections.abc import Sequence
from pathlib import Path
from typing import Any, TypeVar

from pydantic import BaseModel, ValidationError

from assay import home
from assay.document import limits
from assay.document.locate import existing, line_of
from assay.error import BAD_JOB, AssayError, did_you_mean
from assay.study.model import Composition, Study
from assay.study.rules import problems

Model = TypeVar("Model", bound=BaseModel)


class StudyError(AssayError):
    """A study file that cannot be used."""

    def __init__(self, message: str, hint: str = "") -> None:
        super().__init__(message, hint=hint, code=BAD_JOB)


def names() -> list[str]:
    """Names of the ready-made studies."""
    return sorted(path.stem for path in home.studies().glob("*.toml"))


def find(name: str) -> Path:
    """The file of a ready-made study, or the file that `name` is."""
    path = Path(name)
    if path.suffix == ".toml" or "/" in name:
        if not path.is_file():
            raise StudyError(f"there is no study file `{name}`", "give the name of a study or the path of a TOML file")
        return path
    found = home.studies() / f"{name}.toml"
    if not found.is_file():
        raise StudyError(f"there is no study `{name}`", f"{did_you_mean(name, names())}; `assay list` shows them")
    return found


def read(name: str) -> Study | Composition:
    """A study by name or path."""
    path = find(name)
    try:
        text = path.read_text(encoding="utf-8")
    except (OSError, UnicodeDecodeError) as error:
        raise StudyError(f"{path} cannot be read: {error}", "name a study file, which is text in UTF-8") from error
    return parse(text, str(path) if path.parent != home.studies() else path.name)


def read_study(name: str) -> Study:
    """A study that is no composition."""
    found = read(name)
    if isinstance(found, Study):
        return found
    raise StudyError(f"`{name}` is a composition and cannot be a part of another", "name its parts instead")


def parse(text: str, file: str) -> Study | Composition:
    """A study from TOML text; `file` names it in errors."""
    try:
        document = limits.toml(text, file)
    except tomllib.TOMLDecodeError as error:
        raise StudyError(f"{file} is not valid TOML: {error}", "mend the line that is named") from error
    _countable(document, file)
    if "parts" in document:
        return _consistent(_validated(Composition, document, text, file), text, file)
    return _consistent(_validated(Study, document, text, file), text, file)


def _countable(document: dict[str, Any], file: str) -> None:
    """Before anything is made of it: so many values would take minutes to look at."""
    matrix, repeats = document.get("matrix"), document.get("repeats", 1)
    values = matrix.values() if isinstance(matrix, dict) else ()
    limits.cells(
        math.prod(len(value) for value in values if isinstance(value, list))
        * (repeats if isinstance(repeats, int) else 1),
        file,
    )


def _validated(model: type[Model], document: dict[str, Any], text: str, file: str) -> Model:
    try:
        return model.model_validate(document)
    except ValidationError as error:
        raise StudyError(*_sentence(error, document, text, file)) from error


def _consistent(found: Study | Composition, text: str, file: str) -> Study | Composition:
    for location, message, hint in problems(found):
        field = ".".join(str(part) for part in location)
        raise StudyError(f"{file} line {line_of(text, location)}, {field}: {message}", hint)
    return found


def _sentence(error: ValidationError, document: Any, text: str, file: str) -> tuple[str, str]:
    found = error.errors(include_url=False)
    first = max(found, key=lambda problem: _depth(problem["loc"], document))
    location = [*existing(first["loc"], document), *([first["ctx"]["key"]] if first["type"] == "unknown_key" else [])]
    if first["type"] == "missing":
        location.append(str(first["loc"][-1]))
    field = ".".join(str(part) for part in location)
    what = first["msg"].removeprefix("Value error, ")
    others = f" ({len(found)} problems in all)" if len({problem["loc"] for problem in found}) > 1 else ""
    hint = "`assay schema study` prints what a study may hold; editors complete it through the `#:schema` line"
    return f"{file} line {line_of(text, location)}, {field or 'the file'}: {what}{others}", hint


def _depth(location: Sequence[str | int], document: Any) -> int:
    return len(existing(location, document))
