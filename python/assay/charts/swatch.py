"""Legends of the page: a dash and a shape for each series, as small drawings."""

from __future__ import annotations

from markupsafe import Markup

from assay.charts import theme
from assay.charts.model import Key

_SHAPES = {
    "circle": "M17 7a4 4 0 1 1-8 0a4 4 0 1 1 8 0z",
    "square": "M9.5 3.5h7v7h-7z",
    "triangle-up": "M13 2.5l4.5 8h-9z",
    "diamond": "M13 2l4 5l-4 5l-4-5z",
    "triangle-down": "M13 11.5l4.5-8h-9z",
    "cross": "M11.5 3h3v2.5h2.5v3h-2.5v2.5h-3v-2.5h-2.5v-3h2.5z",
    "triangle-right": "M17.5 7l-8-4.5v9z",
    "triangle-left": "M8.5 7l8-4.5v9z",
}


def draw(key: Key, kind: str, dots: bool) -> Markup:
    """A line with a symbol for lines, a block for bars, a symbol for dots."""
    colour = theme.colour(key.index)
    if dots:
        body = Markup('<path d="{}"></path>').format(_SHAPES[theme.SHAPES[key.index % len(theme.SHAPES)]])
    elif kind in {"ladder", "bar"}:
        body = Markup('<rect x="6" y="2" width="12" height="10" rx="2"></rect>')
    else:
        dash = " ".join(str(part) for part in theme.DASHES[key.index % len(theme.DASHES)])
        shape = _SHAPES[theme.SHAPES[key.index % len(theme.SHAPES)]]
        plain = kind in {"timeseries", "cdf"}
        line = Markup('<path class="stroke" stroke-dasharray="{}" d="M0 7H26"></path>').format(
            "" if dash == "1 0" else dash
        )
        body = line + (Markup("") if plain else Markup('<path d="{}"></path>').format(shape))
    return Markup('<svg class="swatch" width="26" height="14" aria-hidden="true" style="--c:{}">{}</svg>').format(
        colour, body
    )
