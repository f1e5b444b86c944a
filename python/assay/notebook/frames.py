"""Results of one folder as data frames, charts, Arrow tables and HTML."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping
from functools import cached_property
from html import escape
from pathlib import Path
from typing import Any, cast

import altair as alt
import pandas as pd

from assay.charts import export
from assay.charts.model import Figure
from assay.charts.palette import Palette
from assay.error import BAD_JOB, AssayError, did_you_mean
from assay.record import WorkPart
from assay.report import page
from assay.report.answer import Answer
from assay.report.answer import of as answers_of
from assay.results import folder
from assay.results.folder import Folder
from assay.results.work import Work


class Frames:
    """The results of one folder. Frames are read when they are first asked for; columns stand in docs/results.md."""

    def __init__(self, directory: Path) -> None:
        self.directory = directory
        self._folder = folder.read(directory)

    def __repr__(self) -> str:
        """What a notebook shows."""
        return f"{self.directory}: {len(self._folder.measured)} records, {len(self._folder.works)} of work"

    def _repr_html_(self) -> str:
        """What a notebook shows: the answers, and how many records may be believed."""
        counts = Counter(self.runs["status"]) if self._folder.measured else Counter[str]()
        verdicts = ", ".join(
            f"{counts[status]} {status}" for status in ("valid", "suspect", "invalid") if counts[status]
        )
        answers = "".join(f"<dt><b>{escape(one.question)}</b></dt><dd>{escape(one.plain)}</dd>" for one in self.answers)
        return f"<p>{escape(repr(self))}; {verdicts or 'no verdicts'}</p><dl>{answers}</dl>"

    @property
    def folder(self) -> Folder:
        """The folder as the report reads it."""
        return self._folder

    @cached_property
    def runs(self) -> pd.DataFrame:
        """One row per record."""
        return self._table("runs")

    @cached_property
    def classes(self) -> pd.DataFrame:
        """One row per class of a record."""
        return self._table("classes")

    @cached_property
    def intervals(self) -> pd.DataFrame:
        """One row per class and interval: the series."""
        return self._table("intervals")

    @cached_property
    def cells(self) -> pd.DataFrame:
        """One row per class of a cell, repeats taken together."""
        return self._table("cells")

    @cached_property
    def interference(self) -> pd.DataFrame:
        """One row per class beside others."""
        return self._table("interference")

    @cached_property
    def not_measured(self) -> pd.DataFrame:
        """What could not be measured, and why."""
        return self._table("not_measured")

    @cached_property
    def reasons(self) -> pd.DataFrame:
        """One row per reason that stands against a record."""
        return self._table("verdicts")

    @cached_property
    def works(self) -> pd.DataFrame:
        """One row per record of an index, an engine or a database; figures are columns."""
        return pd.DataFrame([_work_row(one) for one in self._folder.works])

    @cached_property
    def parts(self) -> pd.DataFrame:
        """One row per part of such a record: an operation, a transaction, a query."""
        rows = [
            _identity(one) | _part_row(part)
            for one in self._folder.works
            for part in one.record["parts"]
            if isinstance(part, dict)
        ]
        return pd.DataFrame(rows)

    @property
    def answers(self) -> list[Answer]:
        """The first screen of the report, in words."""
        return answers_of(self._folder)

    @cached_property
    def _figures(self) -> Mapping[str, Figure]:
        return {figure.id: figure for figure in page.gather(self._folder, Palette()).figures}

    @property
    def charts(self) -> list[str]:
        """Names of the figures that `chart` draws."""
        return list(self._figures)

    def chart(self, name: str) -> alt.TopLevelMixin:
        """A figure of the report as an Altair chart.

        Raises:
            AssayError: where there is no such figure.
        """
        figure = self._figures.get(name)
        if figure is None:
            raise AssayError(f"there is no figure `{name}`", hint=did_you_mean(name, self._figures), code=BAD_JOB)
        # The report writes whole Vega-Lite documents: they are shown as they are.
        document = export.whole(figure)
        kind = alt.ConcatChart if "concat" in document else alt.LayerChart
        chart: alt.TopLevelMixin = kind.from_dict(document)
        return chart

    def sql(self, query: str) -> pd.DataFrame:
        """A query over the tables (DuckDB), as `assay query` runs it."""
        from assay.results.store.query import run

        columns, rows = run([self.directory], query)
        return pd.DataFrame(rows, columns=list(columns))

    def arrow(self, query: str) -> Any:
        """A query over the tables, or a table by its name, as an Arrow table (`pyarrow.Table`)."""
        from assay.results.store import query as store

        text = f"select * from {query}" if query.isidentifier() else query  # noqa: S608  A name of ours.
        return store.arrow([self.directory], text)

    def _table(self, name: str) -> pd.DataFrame:
        if not self._folder.measured:
            return pd.DataFrame()
        return self.sql(f"select * from {name}")  # noqa: S608  A name of ours.


def load(directory: str | Path) -> Frames:
    """The results in a folder as data frames and charts.

    Raises:
        AssayError: where the folder holds nothing that could be read.
    """
    return Frames(Path(directory))


def _identity(one: Work) -> dict[str, Any]:
    return {
        "work": one.id,
        "kind": one.kind,
        "subject": one.subject,
        "workload": one.workload,
        "on": one.on,
        "durability": one.durability,
        "status": one.status,
        "provenance": one.provenance,
    }


def _work_row(one: Work) -> dict[str, Any]:
    parameters = {f"parameter_{name}": value for name, value in one.parameters.items()}
    settings = {f"setting_{name}": value for name, value in one.settings.items()}
    figures = {name: one.figure(name) for name in one.record["figures"]}
    return _identity(one) | {"measured_s": one.record.get("measured_s")} | parameters | settings | figures


def _part_row(part: WorkPart) -> dict[str, Any]:
    figures = {
        name: found.get("value") for name, found in (part.get("figures") or {}).items() if isinstance(found, dict)
    }
    service = cast("dict[str, Any]", part.get("service") or {})
    latency = {
        f"service_{name}": service[name] for name in ("mean_ns", "p50_ns", "p99_ns", "p999_ns") if name in service
    }
    counts = {name: part.get(name) for name in ("name", "succeeded", "empty", "failed")}
    return counts | latency | figures | dict(part.get("facts") or {})
