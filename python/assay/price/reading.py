"""TOML files of prices, workloads and hardware: errors name the file, the line and the field."""

from __future__ import annotations

import tomllib
from decimal import Decimal
from pathlib import Path
from typing import Any, TypeVar

from pydantic import BaseModel, ValidationError

from assay.document import limits
from assay.document.locate import existing, line_of
from assay.price.error import PriceError

Model = TypeVar("Model", bound=BaseModel)


def read(path: Path, model: type[Model], what: str) -> Model:
    """A file as `model`; numbers with a point are kept exactly as they were written."""
    try:
        text = path.read_text(encoding="utf-8")
    except (OSError, UnicodeDecodeError) as error:
        raise PriceError(
            f"{path} cannot be read: {error}",
            f"name a file of {what}; {_PAGES.get(model.__name__, 'docs/prices.md')} shows one",
        ) from error
    return parse(text, str(path), model)


# Where each file is described; prices and parts elsewhere.
_PAGES = {"Order": "docs/cost-system.md", "Workload": "docs/choose.md", "Hardware": "docs/choose.md"}


def parse(text: str, file: str, model: type[Model]) -> Model:
    """TOML text as `model`; `file` names it in errors."""
    return build(document_of(text, file), text, file, model)


def document_of(text: str, file: str) -> dict[str, Any]:
    """TOML text as tables."""
    try:
        return limits.toml(text, file, Decimal)
    except tomllib.TOMLDecodeError as error:
        raise PriceError(f"{file} is not valid TOML: {error}", "mend the line that is named") from error


def merged(under: dict[str, Any], over: dict[str, Any]) -> dict[str, Any]:
    """Two documents as one, table by table; where both have a value, that of `over` counts."""
    found = dict(under)
    for key, value in over.items():
        below = found.get(key)
        found[key] = merged(below, value) if isinstance(below, dict) and isinstance(value, dict) else value
    return found


def build(document: dict[str, Any], text: str, file: str, model: type[Model]) -> Model:
    """Tables as `model`; `text` is where errors look for lines."""
    try:
        return model.model_validate(document)
    except ValidationError as error:
        first = error.errors(include_url=False)[0]
        location = existing(first["loc"], document)
        missing = [str(first["loc"][-1])] if first["type"] == "missing" else []
        unknown = [first["ctx"]["key"]] if first["type"] == "unknown_key" else []
        field = ".".join(str(part) for part in [*location, *missing, *unknown]) or "the file"
        reason = f"{first['msg'].removeprefix('Value error, ')}, seen was `{_shown(first['input'])}`"
        what = f"{field} is missing" if missing else f"{field}: {reason}"
        where = line_of(text, [*location, *unknown])
        raise PriceError(
            f"{file} line {where}, {what}", _PAGES.get(model.__name__, "docs/prices.md") + " shows what may stand there"
        ) from error


def _shown(value: Any) -> str:
    text = str(value)
    return text if len(text) <= 60 else text[:57] + "..."
