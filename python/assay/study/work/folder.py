"""Work records as files: one JSON document each, in the folder `work` of a result folder."""

from __future__ import annotations

import re
from collections.abc import Mapping
from pathlib import Path
from typing import cast

from assay.error import FAILED
from assay.record import WorkRecord
from assay.results.files import ResultError, make_folder, read_json, write_json
from assay.study.work.build import VERSION

FOLDER = "work"


def save(directory: Path, record: Mapping[str, object]) -> Path:
    """Writes a record under a name that says what it is; the records that are there stay."""
    folder = make_folder(directory / FOLDER)
    path = folder / f"{_name(cast('WorkRecord', record))}.json"
    write_json(path, record)
    return path


def _name(record: WorkRecord) -> str:
    words = (record["subject"]["name"], record["workload"]["name"], record["run"]["id"])
    return "-".join(re.sub(r"[^A-Za-z0-9_.]+", "-", str(word)).strip("-") for word in words)


def load(directory: Path) -> list[WorkRecord]:
    """The work records of a result folder, oldest first; none where it has none."""
    paths = sorted((directory / FOLDER).glob("*.json"))
    return sorted((_read(path) for path in paths), key=lambda record: str(record["run"]["started_at"]))


def _read(path: Path) -> WorkRecord:
    document = read_json(path)
    if not isinstance(document, dict) or not {"version", "kind", "run", "verdict"} <= set(document):
        hint = "remove the file, or run the work again"
        raise ResultError(f"{path} holds no work record: it was cut short or changed", hint=hint, code=FAILED)
    if document["version"] != VERSION:
        message = f"{path} has version {document['version']}, and this program reads version {VERSION}"
        raise ResultError(message, hint="read it with the Assay that wrote it", code=FAILED)
    return cast("WorkRecord", document)
