"""One page as PDF: the answers, the ladder, what to change, and whether to believe it. Made without a browser."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any
from xml.sax.saxutils import escape

import vl_convert

from assay.charts import theme
from assay.charts.export import whole
from assay.charts.model import Figure
from assay.report import answer, headroom
from assay.report.answer import trust
from assay.report.view.counsel import Counsel
from assay.results import machine
from assay.results.folder import Folder, ReportError
from assay.units import show
from assay.version import __version__

# A4 at 72 points an inch, with margins of 15 mm; two columns below the title.
WIDTH, HEIGHT, MARGIN, GAP = 595.0, 842.0, 42.0, 22.0
_COLUMN = (WIDTH - 2 * MARGIN - GAP) / 2
_FOOT = 24.0
# The one family that the drawing library brings along: its widths are known wherever the page is made.
_FONT = "Liberation Sans, Arial, Helvetica, sans-serif"
# Mean advance of a letter as a share of the size: generous, so that no line is too long.
_ADVANCE = 0.52


@dataclass(frozen=True)
class Style:
    """How a text looks: size in points, colour by name of the theme."""

    size: float = 8.2
    bold: bool = False
    colour: str = "ink"
    after: float = 5.0


BODY, HEAD = Style(), Style(9.6, bold=True, after=3.0)
QUESTION = Style(7.2, bold=True, colour="soft", after=1.0)
ANSWER, SMALL = Style(8.8), Style(6.8, colour="soft", after=3.0)


@dataclass
class Column:
    """Text that runs down a column until its foot; what does not fit is counted."""

    x: float
    top: float
    width: float
    foot: float
    parts: list[str] = field(default_factory=list)
    left_out: int = 0

    def text(self, words: str, style: Style = BODY) -> bool:
        """Adds a paragraph; false, and nothing drawn, where it does not fit."""
        lines = list(wrapped(words, style, self.width))
        height = len(lines) * style.size * 1.28
        if self.top + height > self.foot:
            self.left_out += 1
            return False
        for line in lines:
            self.top += style.size * 1.28
            self.parts.append(_line(line, self.x, self.top - style.size * 0.28, style))
        self.top += style.after
        return True

    def rule(self) -> None:
        """A thin line."""
        colour = theme.variables(dark=False)["line"]
        y = self.top
        self.parts.append(
            f'<path d="M{self.x:.1f} {y:.1f}H{self.x + self.width:.1f}" stroke="{colour}" stroke-width="0.7"/>'
        )
        self.top += 7

    def picture(self, svg: str) -> bool:
        """Adds a drawing, scaled to the width; false where it does not fit."""
        wide, high, body = _drawing(svg)
        scale = self.width / wide
        if self.top + high * scale > self.foot:
            return False
        self.parts.append(f'<g transform="translate({self.x:.1f} {self.top:.1f}) scale({scale:.4f})">{body}</g>')
        self.top += high * scale + 8
        return True


def write(folder: Folder, lead: Figure | None, counsel: Counsel) -> Path:
    """Writes `report.pdf` into the folder. Raises `ReportError` where that is not possible."""
    path = folder.directory / "report.pdf"
    beside = path.with_name(f".{path.name}.part")
    try:
        beside.write_bytes(vl_convert.svg_to_pdf(page(folder, lead, counsel)))
        beside.replace(path)
    except OSError as error:
        beside.unlink(missing_ok=True)
        raise ReportError(
            f"{path} cannot be written ({error.strerror})", hint="free space or choose another folder"
        ) from error
    return path


def page(folder: Folder, lead: Figure | None, counsel: Counsel) -> str:
    """The page as SVG."""
    what, where = machine.headline(folder)
    head = Column(MARGIN, MARGIN - 8, WIDTH - 2 * MARGIN, HEIGHT)
    head.text(f"ASSAY   {folder.created_at[:10]}", Style(7.0, colour="soft", after=3.0))
    head.text(what, Style(17.0, bold=True, after=3.0))
    head.text(where, Style(7.6, colour="soft", after=8.0))
    head.rule()
    foot = HEIGHT - MARGIN - _FOOT
    left = Column(MARGIN, head.top, _COLUMN, foot)
    right = Column(MARGIN + _COLUMN + GAP, head.top, _COLUMN, foot)
    _answers(folder, left)
    _evidence(folder, lead, counsel, right)
    last = Column(MARGIN, foot + 8, WIDTH - 2 * MARGIN, HEIGHT)
    last.rule()
    last.text(_closing(folder, left.left_out + right.left_out), Style(6.6, colour="soft"))
    body = "".join((*head.parts, *left.parts, *right.parts, *last.parts))
    paper = f'<rect width="{WIDTH}" height="{HEIGHT}" fill="#ffffff"/>'
    size = f'width="{WIDTH}" height="{HEIGHT}" viewBox="0 0 {WIDTH} {HEIGHT}"'
    return (
        f'<svg xmlns="http://www.w3.org/2000/svg" xmlns:xlink="http://www.w3.org/1999/xlink" {size}>{paper}{body}</svg>'
    )


def _answers(folder: Folder, column: Column) -> None:
    for one in answer.of(folder):
        # A suspect answer keeps its mark; the evidence stands in the report.
        mark = "" if one.standing == "valid" or one.topic == "trust" else f" [{one.standing}]"
        words = "".join(part if isinstance(part, str) else part.plain for part in one.parts).replace("\u00a0", " ")
        if column.text(one.question, QUESTION):
            column.text(words.strip() + mark, ANSWER)


def _evidence(folder: Folder, lead: Figure | None, counsel: Counsel, column: Column) -> None:
    if lead is not None:
        column.text(lead.title, HEAD)
        column.picture(vl_convert.vegalite_to_svg(_stacked(lead)))
    advised = [piece for piece in counsel.pieces if piece.advice.outcome in ("advised", "depends")]
    if advised:
        column.text("What to change", HEAD)
    for piece in advised[:8]:
        gain = f" {piece.gain}." if piece.gain else ""
        column.text(
            f"{piece.advice.title} [{piece.advice.outcome}].{gain}".replace("\u00a0", " "), Style(7.8, after=3.0)
        )
    lost = [one for one in headroom.find(folder) if one.lost]
    if lost:
        column.text("Where the gain is lost", HEAD)
    for one in lost[:5]:
        best = f"Best: {one.rungs[0].name}, {one.rungs[0].said}."
        column.text(f"{one.title}. {best} {one.lost}".replace("\u00a0", " "), Style(7.8, after=3.0))
    for work in folder.works[:6]:
        rate = f"{show.count(work.rate[1])} {work.rate[0].removesuffix('_per_s')}/s" if work.rate else "no rate"
        column.text(
            f"{work.subject}, {work.workload}: {rate} [{work.status}, {work.provenance}]", Style(7.8, after=2.0)
        )


def _stacked(lead: Figure) -> dict[str, Any]:
    """The figure with its panels one below the other, as wide as a column."""
    found = {**whole(lead), "title": ""}  # The page says title and conditions itself.
    return {**found, "columns": 1} if "concat" in found else found


def _closing(folder: Folder, left_out: int) -> str:
    counts = trust.counts(folder)
    said = ", ".join(
        f"{counts[name]} {name}" for name in ("valid", "suspect", "invalid", "not measured") if counts[name]
    )
    more = f" {left_out} paragraphs did not fit; " if left_out else " "
    return (
        f"Cells: {said or 'none'}. In brackets: 95 % intervals of whole runs or intervals, or the band of a twin.{more}"
        f"report.html has every figure, its record and its conditions. Assay {__version__}, {folder.created_at}."
    )


def wrapped(words: str, style: Style, width: float) -> Iterator[str]:
    """Lines that are no wider than `width` points."""
    room = max(8, int(width / (style.size * _ADVANCE * (1.06 if style.bold else 1.0))))
    line = ""
    for word in _broken(words.split(), room):
        if line and len(line) + 1 + len(word) > room:
            yield line
            line = word
        else:
            line = f"{line} {word}".strip()
    if line:
        yield line


def _broken(words: Iterable[str], room: int) -> Iterator[str]:
    """Words longer than a line, cut."""
    for word in words:
        yield from (word[at : at + room] for at in range(0, len(word), room))


def _line(text: str, x: float, y: float, style: Style) -> str:
    colour = theme.variables(dark=False)[style.colour]
    weight = ' font-weight="700"' if style.bold else ""
    look = f'font-family="{_FONT}" font-size="{style.size}"{weight} fill="{colour}"'
    return f'<text x="{x:.1f}" y="{y:.1f}" {look}>{escape(text)}</text>'


def _drawing(svg: str) -> tuple[float, float, str]:
    """Width, height and inside of a drawing."""
    opening = re.search(r"<svg[^>]*>", svg)
    if opening is None:
        raise ReportError("a figure could not be drawn", hint="write the report without --pdf")
    sizes = {
        name: float(found[1])
        for name in ("width", "height")
        if (found := re.search(rf'\b{name}="([\d.]+)"', opening[0]))
    }
    body = svg[opening.end() : svg.rindex("</svg>")]
    return sizes.get("width", 400.0), sizes.get("height", 300.0), body
