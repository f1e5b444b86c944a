"""Live figures on a terminal: the running cell, its classes, and the time left."""

from __future__ import annotations

import time

from rich.console import Console, Group
from rich.live import Live as Screen
from rich.progress_bar import ProgressBar
from rich.table import Table
from rich.text import Text

from assay.study.cell import Cell
from assay.study.outcome import Outcome
from assay.study.plan import Plan
from assay.study.progress import Clock, Silent, told
from assay.units.parse import format_ns, format_rate, format_seconds
from assay.untyped import Json

_REFRESH_S = 0.2


class Live(Silent):
    """Redraws when an event comes, not from a thread of its own: the machine is being measured."""

    def __init__(self) -> None:
        self._console = Console(stderr=True, highlight=False)
        self._screen = Screen(console=self._console, auto_refresh=False, transient=True)
        self._clock = Clock({})
        self._total = self._position = 0
        self._running = ""
        self._title = self._stage = ""
        self._samples: list[Json] = []
        self._length_s = 0.1
        self._at_s = 0.0
        self._drawn_at = 0.0

    def begin(self, plan: Plan, left: list[Cell]) -> None:
        self._clock = Clock({cell.id: cell.seconds for cell in left})
        self._total = len(plan.cells)
        self._position = self._total - len(left)
        self._screen.start()
        self._draw()

    def cell_begins(self, cell: Cell) -> None:
        self._clock.begin()
        self._running, self._title = cell.id, cell.job["name"]
        self._stage, self._samples, self._at_s = "", [], 0.0
        self._draw()

    def event(self, cell: Cell, event: Json) -> None:  # noqa: ARG002  As the protocol has it.
        if event["event"] == "progress":
            self._stage = f"{event['stage']} {event['done']:.0%} {event['detail']}"
        elif event["event"] == "interval":
            self._length_s = max(1e-3, event["at_s"] - self._at_s)
            self._at_s, self._samples = event["at_s"], event.get("classes", [])
            self._stage = "warming up" if event["at_s"] < 0 else "measuring"
        if time.monotonic() - self._drawn_at > _REFRESH_S:
            self._draw()

    def cell_ends(self, cell: Cell, outcome: Outcome) -> None:
        self._clock.end(cell.id)
        self._position += 1
        self._running = ""
        self.note(f"{cell.job['name']}: {told(outcome)}")

    def note(self, text: str) -> None:
        self._console.print(Text(text), soft_wrap=True)
        self._draw()

    def end(self) -> None:
        self._screen.stop()

    def _draw(self) -> None:
        self._drawn_at = time.monotonic()
        self._screen.update(Group(self._classes(), self._bar()), refresh=True)

    def _classes(self) -> Table:
        table = Table.grid(padding=(0, 2))
        table.add_row(Text(self._title), Text(self._stage, style="dim"))
        for sample in self._samples:
            rate = format_rate(sample["bytes"] / self._length_s)
            mean, worst = format_ns(sample["mean_ns"]), format_ns(sample["max_ns"])
            table.add_row(f"  {sample['class']}", f"{rate}  mean {mean}  max {worst}")
        return table

    def _bar(self) -> Table:
        left = format_seconds(self._clock.left_s(self._running))
        table = Table.grid(padding=(0, 2))
        bar = ProgressBar(total=max(1, self._total), completed=self._position, width=40)
        table.add_row(bar, f"{self._position}/{self._total} cells", f"{left} left")
        return table
