"""Colours, shapes and dashes of every chart: one palette, told apart without colour too.

Charts name colours as variables of the page's style sheet, so that dark mode and print need no redraw; files get the
light palette written out by `literal`.
"""

from __future__ import annotations

import json
import re
from typing import Any

FONT = "Inter, 'Helvetica Neue', 'Liberation Sans', Arial, sans-serif"

# Okabe and Ito's hues, deepened until each has contrast 3 or more against paper.
LIGHT = ("#0a63a5", "#c4500c", "#00795a", "#a0408a", "#8a6d00", "#3b8fc4", "#5c5c66", "#7a2e2e")
# The same hues, lightened for a dark page.
DARK = ("#6cb4ee", "#f0905a", "#3fc49b", "#dd8fc7", "#d8bb3f", "#9ad1f5", "#b4b4be", "#d99090")
SHAPES = ("circle", "square", "triangle-up", "diamond", "triangle-down", "cross", "triangle-right", "triangle-left")
DASHES: tuple[tuple[int, ...], ...] = ((1, 0), (6, 3), (2, 2), (8, 3, 2, 3), (4, 2), (10, 4), (1, 3), (6, 2, 1, 2))
RAMP = ("#eef4fa", "#c5dcef", "#8cbbe0", "#4f93c9", "#1f69a6", "#0b3f6f")
INK, SOFT, LINE, PAPER = "var(--ink)", "var(--soft)", "var(--line)", "var(--paper)"

_TONES = {"ink": ("#1c1c22", "#e9e9ee"), "soft": ("#5a5a66", "#a4a4b0"), "line": ("#dcdce2", "#3a3a44")}
_PAPER = ("#ffffff", "#17171b")


def variables(*, dark: bool) -> dict[str, str]:
    """The style sheet's colour variables for one mode."""
    side = 1 if dark else 0
    series = DARK if dark else LIGHT
    tones = {name: pair[side] for name, pair in _TONES.items()}
    return {**tones, "paper": _PAPER[side], **{f"series-{index}": colour for index, colour in enumerate(series)}}


def colour(index: int) -> str:
    """Colour of the series with that index."""
    return f"var(--series-{index % len(LIGHT)})"


def literal(spec: dict[str, Any]) -> dict[str, Any]:
    """A specification with the light palette written out, for files and other programs."""
    light = variables(dark=False)
    text = re.sub(r"var\(--([a-z0-9-]+)\)", lambda found: light.get(found[1], found[0]), json.dumps(spec))
    plain: dict[str, Any] = json.loads(text)
    return plain


def config() -> dict[str, Any]:
    """Vega-Lite configuration of every chart."""
    return {
        "background": "transparent",
        "font": FONT,
        "padding": 2,
        "view": {"stroke": None},
        "axis": _AXIS,
        "axisX": {"grid": False, "titleAnchor": "end", "titlePadding": 6},
        "axisY": _AXIS_Y,
        "title": {"color": INK, "fontSize": 12.5, "fontWeight": 600, "anchor": "start", "frame": "group", "offset": 12},
        "legend": _LEGEND,
        "line": {"strokeWidth": 2, "strokeCap": "round", "strokeJoin": "round"},
        "text": {"fontSize": 11, "fill": INK},
        "rule": {"stroke": SOFT},
        "concat": {"spacing": 36},
    }


_AXIS = {
    "domainColor": LINE,
    "gridColor": LINE,
    "gridOpacity": 0.7,
    "tickColor": LINE,
    "tickSize": 4,
    "labelColor": SOFT,
    "labelFontSize": 11,
    "labelPadding": 4,
    "titleColor": SOFT,
    "titleFontSize": 11,
    "titleFontWeight": "normal",
}

# The title of a vertical axis stands above it, where it can be read without turning the head.
_AXIS_Y = {
    "domain": False,
    "ticks": False,
    "titleAngle": 0,
    "titleAlign": "left",
    "titleAnchor": "end",
    "titleBaseline": "bottom",
    "titleX": 0,
    "titleY": -8,
}

_LEGEND = {
    "orient": "bottom",
    "direction": "horizontal",
    "labelColor": INK,
    "labelFontSize": 11,
    "labelLimit": 260,
    "titleColor": SOFT,
    "titleFontSize": 11,
    "titleFontWeight": "normal",
    "symbolStrokeWidth": 2,
}
