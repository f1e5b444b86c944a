"""Classes as a study file: what `assay run` replays on any target or twin."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from assay.document.text import table_text, value_text
from assay.trace.classes import TracedClass
from assay.trace.pattern import powers_of_two

_MIB = 1 << 20
_LEAST_BYTES = 16 * _MIB
_LONGEST_S = 60.0
_SETS = {"log": "log", "stream-writes": "log", "metadata": "metadata"}


@dataclass(frozen=True)
class ScenarioFacts:
    """What stands around the classes: a name, a sentence on where they come from, and notes."""

    name: str
    title: str
    source: str
    notes: Sequence[str]
    seconds: float
    buffered: bool = False


def text(facts: ScenarioFacts, classes: Sequence[TracedClass]) -> str:
    """The file. Its rates are open loop: whatever the target does, operations come when the database asked for them."""
    head = {
        "version": 1,
        "name": facts.name,
        "title": facts.title,
        "question": "Does a target keep up with what this database asked for, and how long do requests take there?",
        "source": facts.source,
        "notes": list(facts.notes),
        "targets": ["folder", "block-device"],
    }
    parts = [table_text("", head)]
    parts.append(table_text("parameters", _parameters(facts, classes)))
    for name in dict.fromkeys(_set_of(one) for one in classes):
        table: dict[str, Any] = {"bytes": f"${{{_size_of(name)}}}"}
        parts.append(table_text(f"datasets.{name}", table | ({"target": "log"} if name == "log" else {})))
    parts += [table_text(f"classes.{one.name}", _class(one, facts.buffered)) for one in classes]
    parts.append(table_text("window", {"warmup": "500ms", "measure": "${measure}"}))
    parts += [_figure(*one) for one in _FIGURES]
    return "\n".join(part for part in parts if part)


_FIGURES = (
    ("trace-rate", "Operations a second that the target did", "ops_per_s"),
    ("trace-response", "Response time, 99 of 100 below", "response_p99_ns"),
)


def _figure(id_: str, title: str, metric: str) -> str:
    table = {"id": id_, "title": title, "kind": "bar", "x": "class", "y": metric, "series": "on"}
    return "[[figures]]\n" + "".join(f"{key} = {value_text(value)}\n" for key, value in table.items())


def _set_of(one: TracedClass) -> str:
    return _SETS.get(one.name, "data")


def _size_of(name: str) -> str:
    return {"data": "data", "log": "log_data", "metadata": "metadata_data"}[name]


def _parameters(facts: ScenarioFacts, classes: Sequence[TracedClass]) -> dict[str, Any]:
    found: dict[str, Any] = {"load": 1}
    for name in dict.fromkeys(_set_of(one) for one in classes):
        members = [one for one in classes if _set_of(one) == name]
        room = max(_LEAST_BYTES, *(one.footprint_bytes for one in members), *(8 * one.sizes[-1][0] for one in members))
        found[_size_of(name)] = f"{-(-room // _MIB)}MiB"
    path = "pread" if facts.buffered else "io_uring+direct"
    if any(_blocking(one) for one in classes):
        found["sync_path"] = "pread" if facts.buffered else "pread+direct"
    if any(not _blocking(one) for one in classes):
        found["path"] = path
    found["measure"] = f"{max(1.0, min(_LONGEST_S, round(facts.seconds, 1)))}s"
    return found


def _blocking(one: TracedClass) -> bool:
    """Somebody waits for each of its writes: threads, not a queue."""
    return one.flush_every > 0


def _class(one: TracedClass, buffered: bool) -> dict[str, Any]:
    blocking = _blocking(one)
    mix = powers_of_two(one.sizes)
    sizes: Any = mix[0][0]
    if len(mix) > 1:
        sizes = [{"bytes": size, "weight": weight} for size, weight in mix]
    table: dict[str, Any] = {
        "dataset": _set_of(one),
        "path": "${sync_path}" if blocking else "${path}",
        "operation": one.operation,
        "pattern": _pattern(one),
        "size": sizes,
    }
    if blocking or buffered:
        table["threads"] = one.depth
    else:
        table["depth"] = one.depth
    table |= {"arrivals": one.arrivals, "rate": f"${{{_rate(one.rate_per_s)} * load}}/s", "rate_scope": "total"}
    if one.arrivals == "burst":
        table["burst"] = one.burst
    if blocking:
        table["durability"] = {"kind": "fdatasync", "every": one.flush_every}
    return table


def _pattern(one: TracedClass) -> Any:
    if one.sequential:
        return "sequential"
    if one.hot is not None:
        return {"kind": "hot-spot", "operations_percent": one.hot[0], "pages_percent": one.hot[1]}
    return "uniform"


def _rate(value: float) -> str:
    return f"{value:.4f}".rstrip("0").rstrip(".") if value < 1000 else f"{value:.1f}"


def name_of(text_: str) -> str:
    """A name that a study may have."""
    found = re.sub(r"[^A-Za-z0-9_-]+", "-", text_).strip("-")
    return f"trace-{found or 'load'}"
