"""Writes a result folder: study.json, plan.json, journal.ndjson and records."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterable
from dataclasses import dataclass, field
from itertools import product
from pathlib import Path
from typing import Any

from assay.untyped import Json
from report.synthetic.record import Shape, Window, record

# Factors and scenario in; shapes out, or a sentence that says why the cell is refused.
Model = Callable[[Json, str], list[Shape] | tuple[str, str]]
Reasons = Callable[[Json, str, int], list[Json]]


def _no_reasons(_factors: Json, _scenario: str, _repeat: int) -> list[Json]:
    return []


@dataclass
class Synthetic:
    """A study with its model."""

    name: str
    title: str
    question: str
    source: str
    matrix: dict[str, list[Any]]
    model: Model
    figures: list[Json]
    scenarios: list[str] = field(default_factory=lambda: ["all"])
    repeats: int = 1
    reasons: Reasons = _no_reasons
    window: Window = field(default_factory=Window)
    cache: str = "bypassed"
    counters: bool = False
    parameters: Json = field(default_factory=lambda: {"data_bytes": 8 << 30})

    def head(self) -> Json:
        names = ("name", "title", "question", "source", "figures", "parameters", "matrix")
        return {name: getattr(self, name) for name in names}

    def cells(self) -> Iterable[tuple[str, Json, str, int]]:
        for index, values in enumerate(product(*self.matrix.values())):
            for scenario, repeat in product(self.scenarios, range(self.repeats)):
                tag = scenario.replace(":", "-").replace("+", "-")
                cell = f"{self.name}-{index:03}-{tag}-{repeat}"
                yield cell, dict(zip(self.matrix, values, strict=True)), scenario, repeat


def write(directory: Path, studies: list[Synthetic], *, stop_after: int | None = None, seed: int = 7) -> Path:
    """Writes a folder; after `stop_after` cells as if the run had been killed."""
    (directory / "records").mkdir(parents=True, exist_ok=True)
    command = ["assay", "quick", "--on", "/srv/db", "--out", "results/2026-03-14"]
    heads = [study.head() for study in studies]
    _json(
        directory / "study.json",
        {"version": 1, "command": command, "created_at": "2026-03-14T10:20:58Z", "studies": heads},
    )
    plan, journal = [], []
    for study in studies:
        for cell, factors, scenario, repeat in study.cells():
            plan.append({"id": cell, "study": study.name, "scenario": scenario, "repeat": repeat, "factors": factors})
            if stop_after is None or len(plan) <= stop_after:
                journal += _run(directory, study, cell, factors, scenario, repeat, seed + len(plan))
            elif len(plan) == stop_after + 1:
                journal.append({"cell": cell, "state": "started", "at": "2026-03-14T10:25:00Z"})
    _json(directory / "plan.json", {"version": 1, "cells": plan})
    (directory / "journal.ndjson").write_text("".join(json.dumps(line) + "\n" for line in journal))
    return directory


def _run(
    directory: Path, study: Synthetic, cell: str, factors: Json, scenario: str, repeat: int, seed: int
) -> list[Json]:
    at = "2026-03-14T10:21:07Z"
    lines: list[Json] = [{"cell": cell, "state": "started", "at": at}]
    shapes = study.model(factors, scenario)
    if isinstance(shapes, tuple):
        reason, fix = shapes
        return [*lines, {"cell": cell, "state": "refused", "at": at, "reason": reason, "fix": fix, "exit_code": 4}]
    labels = {"study": study.name, "cell": cell, "repeat": str(repeat), "scenario": scenario}
    labels |= {f"factor.{name}": str(value) for name, value in factors.items()}
    reasons = study.reasons(factors, scenario, repeat)
    made = record(
        cell,
        shapes,
        labels,
        reasons=reasons,
        seed=seed,
        window=study.window,
        cache=str(factors.get("cache", study.cache)),
        counters=study.counters,
    )
    _json(directory / "records" / f"{cell}.json", made)
    return [*lines, {"cell": cell, "state": "finished", "at": at, "exit_code": 0}]


def _json(path: Path, document: Json) -> None:
    path.write_text(json.dumps(document))
