"""What a study's parts say of each other: rules, classes, figures and parameters must name what exists."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any

from assay.error import did_you_mean
from assay.study.expression import is_template, label_of
from assay.study.model import Choice, Composition, Study

# Where a problem is, what it is, and what to do.
Problem = tuple[tuple[str | int, ...], str, str]

_OWN_COLUMNS = ("on", "class", "scenario", "repeat", "at_s")
_RESERVED = ("on", "class", "scenario", "repeat", "repeats", "cache", "scenarios", "window", "study", "cell")


def problems(document: Study | Composition) -> Iterator[Problem]:
    """Every name that names nothing."""
    if isinstance(document, Composition):
        yield from _parts(document)
        return
    yield from _columns(document)
    yield from _names(document)
    yield from _datasets(document)
    yield from _figures(document)
    yield from _fit(document)


def _columns(study: Study) -> Iterator[Problem]:
    """A filter that names no column of the matrix would never match, or match by accident."""
    rules: list[tuple[str, Sequence[Any]]] = [("exclude", study.exclude), ("require", study.require)]
    for table, entries in rules:
        for index, entry in enumerate(entries):
            for column, wanted in entry.when.items():
                where = (table, index, "when", column)
                if column not in study.matrix:
                    yield where, f"`{column}` is no column of the matrix", did_you_mean(column, study.matrix)
                else:
                    yield from _values(study, where, column, wanted if isinstance(wanted, list) else [wanted])


def _values(study: Study, where: tuple[str | int, ...], column: str, wanted: Sequence[Any]) -> Iterator[Problem]:
    known = [label_of(_plain(value)) for value in study.matrix[column]]
    for value in wanted:
        if label_of(value) not in known:
            yield (
                where,
                f"the column `{column}` never has the value `{label_of(value)}`",
                did_you_mean(str(value), known),
            )


def _plain(value: Any) -> Any:
    return value.model_dump() if isinstance(value, Choice) else value


def _names(study: Study) -> Iterator[Problem]:
    for table, keys in (("parameters", study.parameters), ("matrix", study.matrix)):
        for key in keys:
            if key in _RESERVED or not key.isidentifier():
                hint = f"choose a name of letters, digits and `_` that is none of {', '.join(_RESERVED)}"
                yield (table, key), f"`{key}` cannot be a name here", hint
    for key in study.matrix:
        if key in study.parameters:
            yield ("parameters", key), f"`{key}` is a factor of the matrix too", "give one of them another name"


def _datasets(study: Study) -> Iterator[Problem]:
    for name, table in study.classes.items():
        if not is_template(table.dataset) and table.dataset not in study.datasets:
            hint = did_you_mean(table.dataset, study.datasets)
            yield ("classes", name, "dataset"), f"there is no data set `{table.dataset}`", hint


def _figures(study: Study) -> Iterator[Problem]:
    seen: set[str] = set()
    for index, figure in enumerate(study.figures):
        if figure.id in seen:
            yield ("figures", index, "id"), f"the figure `{figure.id}` stands here twice", "give it another id"
        seen.add(figure.id)
        if figure.class_ is not None and figure.class_ not in study.classes:
            hint = did_you_mean(figure.class_, study.classes)
            yield ("figures", index, "class"), f"there is no class `{figure.class_}`", hint
        for key, value in (("x", figure.x), ("series", figure.series), ("facet", figure.facet)):
            if value is not None and value not in _dimensions(study):
                hint = did_you_mean(value, _dimensions(study))
                yield ("figures", index, key), f"`{value}` is no factor and no metric", hint
        if figure.y is not None and figure.y not in METRICS:
            yield ("figures", index, "y"), f"`{figure.y}` is no metric", did_you_mean(figure.y, METRICS)


def _dimensions(study: Study) -> set[str]:
    return {*study.matrix, *_OWN_COLUMNS, *METRICS}


def _fit(study: Study) -> Iterator[Problem]:
    for index, name in enumerate(study.fit.parameters if study.fit else ()):
        if name not in study.parameters:
            yield ("fit", "parameters", index), f"there is no parameter `{name}`", did_you_mean(name, study.parameters)


def _parts(document: Composition) -> Iterator[Problem]:
    seen: set[str] = set()
    for index, part in enumerate(document.parts):
        name = part.as_ or part.study
        if name in seen:
            yield ("parts", index, "study"), f"`{name}` stands here twice", 'give the second a name: as = "..."'
        seen.add(name)


_LATENCIES = ("service", "response", "read_service", "write_service", "flush", "lateness")
_SUMMARIES = ("min_ns", "mean_ns", "p50_ns", "p90_ns", "p99_ns", "p999_ns", "p9999_ns", "max_ns")
METRICS = (
    *("bandwidth_bytes_per_s", "ops_per_s", "achieved_depth", "asked_rate_ops_per_s"),
    *(f"{latency}_{summary}" for latency in _LATENCIES for summary in _SUMMARIES),
    *("user_s", "kernel_s", "helper_s", "wait_s", "cycles_per_op", "cycles_per_byte", "instructions_per_op"),
    *("tlb_misses_per_op", "context_switches_per_op", "system_calls_per_op", "page_faults_per_op"),
    *("device_read_bytes", "device_written_bytes", "generator_share"),
)
"""Metric columns of the classes table that a figure may draw."""
