"""A result folder in memory, whose figures are round numbers: without a series a ratio has the band of single runs."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any, cast

from assay.advise.advice import RuleFinding
from assay.advise.facts import RuleFacts
from assay.advise.rules import RULES
from assay.record import Record, WorkRecord
from assay.results.folder import Cell, Folder
from assay.results.work import Work
from assay.untyped import Json
from report.synthetic.drive import KINDS
from report.synthetic.record import asked, figure

from advise.folders import work

PATHS = KINDS | {"pmem": {"kind": "pmem", "direct": False}, "null": {"kind": "null", "direct": False}}
_LATENCIES = ("mean", "p50", "p99")
_CPU = ("user_s", "kernel_s", "helper_s", "wait_s", "cycles_per_byte")
FLOOR, CEILING = 1 / 1.5, 1.5
"""What a single run may be off by, either way."""


class Shelf:
    """Records in the making; `found` is what a rule finds in them."""

    def __init__(self) -> None:
        self.cells: list[Cell] = []
        self.works: list[Work] = []

    def add(self, path: str, figures: Mapping[str, float], about: Json | None = None, **wanted: Any) -> str:
        """A record of one class. `about` changes the record, and `wanted` what was asked of the class."""
        about = about or {}
        asks = asked("raw", path=PATHS[path], **{name: _table(name, value) for name, value in wanted.items()})
        name = f"r{len(self.cells)}"
        record = _record(asks, figures, about)
        factors = about.get("factors", {})
        cell = Cell(name, about.get("study", "s"), "all", 1, factors, "done", "", "", cast("Record", record))
        self.cells.append(cell)
        return name

    def work(self, kind: str, subject: str, rate: float, medium: str = "drive", **more: Any) -> str:
        """A record of an index or a database; `change` goes into the record itself."""
        changes = more.pop("change", {})
        made = work(kind, subject, more.pop("workload", "tpcc"), rate, medium, **more) | changes
        self.works.append(Work(f"w{len(self.works)}", cast("WorkRecord", made)))
        return self.works[-1].anchor

    def facts(self) -> RuleFacts:
        """What rules look at."""
        return RuleFacts(Folder(Path(), (), tuple(self.cells), (), "", (), tuple(self.works)))

    def found(self, rule: str) -> RuleFinding | None:
        """What a rule finds."""
        return next(one for one in RULES if one.id == rule).find(self.facts())

    def finding(self, rule: str) -> RuleFinding:
        """What a rule finds, which is something."""
        found = self.found(rule)
        assert found is not None
        return found

    def texts(self, rule: str) -> list[str]:
        """The evidence in words, with plain spaces."""
        return [one.text.replace("\u00a0", " ") for one in self.finding(rule).evidence]

    def ratio(self, rule: str) -> tuple[float, float, float]:
        """A gain with its band."""
        gain = self.finding(rule).gain
        assert gain is not None
        return gain.ratio, gain.low, gain.high


def _table(name: str, value: Any) -> Any:
    """`operation="write"` for `operation={"kind": "write"}`, and so on."""
    kinds = ("operation", "pattern", "arrivals", "durability")
    return {"kind": value} if name in kinds and isinstance(value, str) else value


def _record(asks: Json, figures: Mapping[str, float], about: Json) -> Json:
    origin = about.get("provenance", "measured")
    cpu = {name: figure(figures[name], "s") for name in _CPU if name in figures}
    service = {f"{name}_ns": figures[name] for name in _LATENCIES if name in figures}
    rest = {name: value for name, value in figures.items() if name not in (*_LATENCIES, *_CPU)}
    plain = {name: figure(value, "1/s", "loop", origin) for name, value in rest.items()}
    result = {"name": "raw", "provenance": origin, "service": service, "cpu": cpu, **plain}
    others = about.get("beside", [])
    return {
        "job": {
            "targets": about.get("targets", [{"kind": "folder", "members": ["/srv"]}]),
            "datasets": [{"name": "data", "layout": about.get("layout", "written")}],
            "classes": [asks, *others],
            "cache": about.get("cache", "as-found"),
            "labels": {"on": about.get("on", "here")},
        },
        "environment": {"targets": about.get("systems", [])},
        "window": about.get("window", {"measured_s": 10.0}),
        "classes": [result, *({"name": one["name"]} for one in others)],
        "verdict": {"status": about.get("status", "valid"), "reasons": []},
    }
