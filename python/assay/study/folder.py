"""The result folder: what stands in it before the first cell runs."""

from __future__ import annotations

import contextlib
import itertools
from collections.abc import Sequence
from datetime import UTC, datetime
from pathlib import Path

from assay.error import BAD_JOB
from assay.results.files import ResultError, make_folder, write_json
from assay.study.expression import label_of
from assay.study.model import Choice
from assay.study.plan import Plan
from assay.study.request import Prepared
from assay.study.settings import ExpandRequest
from assay.untyped import Json

VERSION = 1
DEFAULT_ROOT = Path("assay-results")


def default(name: str) -> Path:
    """`assay-results/<study>-<UTC time>`, with a number behind it where a run of that second has that name."""
    path = DEFAULT_ROOT / f"{name}-{datetime.now(UTC):%Y%m%dT%H%M%SZ}"
    others = (path.with_name(f"{path.name}-{number}") for number in itertools.count(2))
    return next(one for one in itertools.chain([path], others) if not one.exists())


def claimed(name: str) -> Path:
    """The same, made at once: no other run takes it, however many begin in one second."""
    make_folder(DEFAULT_ROOT)
    while True:
        with contextlib.suppress(FileExistsError):
            path = default(name)
            path.mkdir()
            return path


def create(directory: Path, prepared: Prepared, command: Sequence[str]) -> None:
    """Makes a result folder with plan.json and study.json. One that holds a run already is refused."""
    if (directory / "plan.json").exists():
        hint = f"continue it with --resume {directory}, or choose another folder with --out"
        raise ResultError(f"{directory} holds a run already", hint=hint, code=BAD_JOB)
    make_folder(directory)
    write_json(directory / "study.json", study_document(prepared.requests, prepared.plan, command))
    write_json(directory / "plan.json", prepared.plan.document())


def study_document(requests: Sequence[ExpandRequest], plan: Plan, command: Sequence[str]) -> Json:
    """What study.json says: the studies as they were declared, and what settings changed."""
    return {
        "version": VERSION,
        "command": list(command),
        "created_at": plan.created_at,
        "studies": [_study(request) for request in requests],
    }


def _study(request: ExpandRequest) -> Json:
    study = request.study
    return {
        "name": request.name,
        "declared_as": study.name,
        "title": request.title,
        "question": study.question,
        "source": study.source,
        "notes": study.notes,
        "figures": [figure.model_dump(by_alias=True) for figure in study.figures],
        "parameters": dict(study.parameters),
        "matrix": {key: [_value(value) for value in values] for key, values in study.matrix.items()},
        "scenarios": list(study.scenarios),
        "repeats": study.repeats,
        "targets": [target.label for target in request.targets],
        "scaled": {key: change.document() for key, change in request.changes.items()},
    }


def _value(value: object) -> object:
    return label_of(value.model_dump()) if isinstance(value, Choice) else value


def newest(root: Path = DEFAULT_ROOT) -> Path:
    """The result folder of the newest run beneath a folder."""
    found = [path.parent for path in root.glob("*/plan.json")]
    if not found:
        hint = "run a study first (assay quick), or name a folder with --in"
        raise ResultError(f"there are no results under {root}", hint=hint, code=BAD_JOB)
    return max(found, key=lambda path: (path / "plan.json").stat().st_mtime_ns)
