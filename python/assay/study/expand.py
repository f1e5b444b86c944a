"""From a study and its targets to cells with their jobs."""

from __future__ import annotations

import hashlib
import math
from collections.abc import Iterator, Sequence
from typing import TypeVar

from pydantic import BaseModel, ValidationError

from assay.document import limits
from assay.error import NOT_POSSIBLE, AssayError, did_you_mean
from assay.study import job as jobs
from assay.study import matrix
from assay.study.cell import Cell, Refusal
from assay.study.expression import Names, label_of, substitute
from assay.study.model import DatasetTable, Study, WorkTable
from assay.study.settings import ExpandRequest, SettingChange
from assay.study.source import StudyError
from assay.study.work import declared, kind, runners
from assay.target.target import DEVICES, TWIN, Target, available_memory
from assay.untyped import Json

Model = TypeVar("Model", bound=BaseModel)

# How a target of a kind is typed.
_NAMED = {"folder": "/some/folder", "block-device": "/dev/NAME", "dax-device": "/dev/daxN.M", "file": "/some/file"}
IMPLICIT = {"memory": Target("memory", "memory"), "null": Target("null", "null")}


def main_targets(study: Study, targets: Sequence[Target]) -> list[Target]:
    """The targets that a study runs on, in the order of `--on`; memory and null need not be named."""
    fit = [target for target in targets if not target.role and set(target.stands_for) & set(study.targets)]
    if fit:
        return fit
    implicit = next((IMPLICIT[kind] for kind in study.targets if kind in IMPLICIT), None)
    if implicit is not None and not any(target.twin for target in targets):
        return [implicit]
    seen = ", ".join(f"{target.label} is a {target.kind}" for target in targets if not target.role) or "none was given"
    wanted = ", ".join(study.targets)
    raise AssayError(
        f"the study `{study.name}` needs a target of kind {wanted}; {seen}",
        hint=f"name one with --on: {' or '.join(_NAMED.get(kind, kind) for kind in study.targets)}",
        code=NOT_POSSIBLE,
    )


def suits(study: Study, targets: Sequence[Target]) -> bool:
    """Whether any of the targets is of a kind that the study runs on."""
    try:
        return bool(main_targets(study, targets))
    except AssayError:
        return False


def expand(request: ExpandRequest) -> list[Cell]:
    """Every cell of a study, repeats side by side, in the order of the file."""
    study = request.study
    mains = main_targets(study, request.targets)
    shown_on = len(mains) > 1 or any("on" in (figure.x, figure.series, figure.facet) for figure in study.figures)
    cells: list[Cell] = []
    index = 0
    limits.cells(study.repeats * math.prod(len(values) for values in study.matrix.values()), study.name)
    for factors in matrix.combinations(study):
        for target in _worth_listing(study, factors, mains):
            for scenario, classes in matrix.scenarios(study):
                index += 1
                limits.cells(index * study.repeats, study.name)
                cells += _repeats(request, index, factors, target, shown_on, scenario, classes)
    if not cells:
        raise StudyError(f"the study `{study.name}` has no cell left", "its excludes or settings leave nothing to run")
    return cells


def _worth_listing(study: Study, factors: matrix.Factors, mains: Sequence[Target]) -> list[Target]:
    """Targets that meet the requirements; all of them where none does, so that the cell is listed as not measured."""
    met = [target for target in mains if matrix.unmet(study, factors, target.stands_for) is None]
    return met or list(mains[:1])


def _repeats(
    request: ExpandRequest,
    index: int,
    factors: matrix.Factors,
    target: Target,
    shown_on: bool,
    scenario: str,
    classes: tuple[str, ...],
) -> Iterator[Cell]:
    study = request.study
    shown = matrix.typed(study, factors) | ({"on": target.label} if shown_on else {})
    if study.work is not None:
        yield from _work_repeats(request, study.work, index, factors, target, shown)
        return
    resolved = _resolve(study, factors, target)
    for repeat in range(1, study.repeats + 1):
        cell = f"{request.name}-{index:04d}-r{repeat}"
        labels = _labels(request, cell, scenario, repeat, shown)
        job = _job(request, cell, resolved, target, classes) | {"labels": labels}
        job["name"] = _title(request.name, shown, scenario, repeat, study.repeats)
        yield Cell(
            id=cell,
            study=request.name,
            scenario=scenario,
            repeat=repeat,
            factors=shown,
            job=job,
            refusal=_refusal(study, factors, target, job),
            files=_files(job),
        )


def _work_repeats(
    request: ExpandRequest, table: WorkTable, index: int, factors: matrix.Factors, target: Target, shown: Json
) -> Iterator[Cell]:
    study = request.study
    names = Names(factors, study.parameters, target.facts())
    resolved = substitute(table.model_dump(by_alias=True), names)
    roles = {one.role: one for one in request.targets if one.role}
    rule = matrix.unmet(study, factors, target.stands_for)
    refusal = None if rule is None else Refusal(rule.reason, rule.fix)
    for repeat in range(1, study.repeats + 1):
        cell = f"{request.name}-{index:04d}-r{repeat}"
        try:
            seed = request.seed if declared.kept(resolved) else _seed(request.seed, cell)
            job = declared.job(resolved, target, roles, seed)
        except declared.NotHereError as error:
            if not study.matrix:
                raise
            job, refusal = {}, Refusal(f"{error.message}.", f"{error.hint}.")
        yield Cell(
            id=cell,
            study=request.name,
            scenario="all",
            repeat=repeat,
            factors=shown,
            job=job | {"name": _title(request.name, shown, "all", repeat, study.repeats)},
            refusal=refusal,
            program=declared.COMMANDS[table.kind],
            files=runners.runner(table.kind).cost(job).files if table.kind in kind.DRIVEN and refusal is None else {},
        )


def _title(name: str, factors: Json, scenario: str, repeat: int, repeats: int) -> str:
    words = [name, *(f"{key}={label_of(value)}" for key, value in factors.items())]
    words += [scenario] if scenario != "all" else []
    return " ".join(words + ([f"#{repeat}"] if repeats > 1 else []))


def _labels(request: ExpandRequest, cell: str, scenario: str, repeat: int, factors: Json) -> dict[str, str]:
    labels = {"study": request.name, "cell": cell, "repeat": str(repeat), "scenario": scenario}
    labels |= {f"factor.{key}": label_of(value) for key, value in factors.items()}
    parameters = request.study.parameters
    scaled = {key: change for key, change in request.changes.items() if key in parameters}
    return labels | {f"scaled.{key}": _scaled(change) for key, change in scaled.items()} | dict(request.extra_labels)


def _scaled(change: SettingChange) -> str:
    return f"{label_of(change.used)} instead of {label_of(change.declared)}"


def _resolve(study: Study, factors: matrix.Factors, target: Target) -> Study:
    """The study with one combination of factors put in."""
    names = Names(factors, study.parameters, target.facts())
    where = ", ".join(f"{key}={label_of(value)}" for key, value in factors.items())
    put = {name: substitute(getattr(study, name), names) for name in ("cache", "cache_limit", "cool_down", "counting")}
    put["window"] = _put(names, study.window, "window", study, where)
    for table in ("classes", "datasets"):
        entries = getattr(study, table).items()
        put[table] = {name: _put(names, entry, f"{table}.{name}", study, where) for name, entry in entries}
    return study.model_copy(update=put)


def _put(names: Names, table: Model, field_name: str, study: Study, where: str) -> Model:
    """The table with every `${...}` put in, checked again."""
    values = substitute(table.model_dump(exclude_unset=True, by_alias=True), names)
    try:
        return type(table).model_validate(values, context={"resolved": True})
    except ValidationError as error:
        problem = error.errors(include_url=False)[0]
        inner = ".".join(str(part) for part in problem["loc"])
        message = problem["msg"].removeprefix("Value error, ")
        raise StudyError(f"{study.name}, {field_name}.{inner} with {where or 'no factors'}: {message}") from error


def _job(request: ExpandRequest, cell: str, resolved: Study, target: Target, classes: tuple[str, ...]) -> Json:
    used = {resolved.classes[name].dataset for name in classes}
    if missing := used - set(resolved.datasets):
        hint = did_you_mean(min(missing), resolved.datasets)
        raise StudyError(f"{request.study.name}: there is no data set `{min(missing)}`", hint)
    datasets = [_dataset(name, table, resolved, target) for name, table in resolved.datasets.items() if name in used]
    return {
        "version": jobs.FORMAT_VERSION,
        "name": cell,
        "seed": _seed(request.seed, cell),
        "targets": _targets(request, datasets, target),
        "datasets": datasets,
        "classes": [jobs.class_job(name, resolved.classes[name]) for name in classes],
        "window": jobs.window_job(resolved.window),
        "cache": resolved.cache,
        "checks": {"data": resolved.checks.data},
        **({"counting": resolved.counting} if resolved.counting != "auto" else {}),
        **jobs.state_job(resolved.cache_limit, resolved.cool_down, resolved.trim),
        "scratch": request.scratch,
        "keep_scratch": True,
    }


def _dataset(name: str, table: DatasetTable, resolved: Study, target: Target) -> Json:
    users = [user for user in resolved.classes.values() if user.dataset == name]
    found = jobs.dataset_job(name, table, users)
    if target.kind == "file" and table.target == "main":
        unit = max(size for user in users for size, _ in jobs.sizes_of(user))
        size = min(found["bytes"] * found["files"], target.total_bytes())
        found |= {"layout": "as-found", "files": 1, "bytes": max(unit, size - size % unit)}
    return found


def _targets(request: ExpandRequest, datasets: Sequence[Json], main: Target) -> list[Json]:
    """The targets that the data sets name; one without a target of its own lies on the main one."""
    roles = {target.role: target for target in request.targets if target.role}
    found: dict[str, Json] = {}
    for dataset in datasets:
        role = dataset["target"]
        dataset["target"] = role if role in roles else "main"
        found[dataset["target"]] = roles.get(role, main).job(dataset["target"])
    return list(found.values())


def _seed(seed: int, cell: str) -> int:
    """A seed per cell, below 2^53 so that every JSON reader keeps it."""
    digest = hashlib.sha256(f"{seed}:{cell}".encode()).digest()
    return int.from_bytes(digest[:8], "big") >> 11


def _files(job: Json) -> dict[tuple[str, str, int], int]:
    """Bytes of data by (place, data set, file); memory and null hold no files."""
    places = {t["id"]: "+".join(t["members"]) for t in job["targets"] if t["kind"] in ("folder", *DEVICES)}
    return {
        (places[dataset["target"]], dataset["name"], index): dataset["bytes"]
        for dataset in job["datasets"]
        if dataset["target"] in places and dataset["layout"] != "as-found"
        for index in range(dataset["files"])
    }


def _refusal(study: Study, factors: matrix.Factors, target: Target, job: Json) -> Refusal | None:
    rule = matrix.unmet(study, factors, target.stands_for)
    if rule is not None:
        return Refusal(rule.reason, rule.fix)
    return _file_refusal(job) or _device_refusal(job) or _memory_refusal(job)


def _file_refusal(job: Json) -> Refusal | None:
    files = {target["id"] for target in job["targets"] if target["kind"] == "file"}
    datasets = {dataset["name"] for dataset in job["datasets"] if dataset["target"] in files}
    writes = any(entry["operation"]["kind"] != "read" and entry["dataset"] in datasets for entry in job["classes"])
    if not writes:
        return None
    return Refusal("The target is a file, which is only read, and the cell writes.", "Name a folder with --on.")


def _device_refusal(job: Json) -> Refusal | None:
    kinds = {target["id"]: target["kind"] for target in job["targets"]}
    for dataset in job["datasets"]:
        kind = kinds[dataset["target"]]
        if dataset["layout"] in ("grow", "preallocated") and kind not in ("folder", "null", TWIN):
            reason = (
                f"The data set `{dataset['name']}` is a file that is {dataset['layout']}, and a {kind} has no files."
            )
            return Refusal(reason, "Name a folder with --on.")
    return None


def _memory_refusal(job: Json) -> Refusal | None:
    needed, there = jobs.memory_bytes(job), available_memory()
    virtual = any(target["kind"] == TWIN for target in job["targets"])
    if virtual or needed <= there * 0.9:
        return None
    reason = f"It needs {needed / 2**30:.1f} GiB of memory, and {there / 2**30:.1f} GiB are available."
    return Refusal(reason, "Make its buffers or its data smaller with --set.")
