"""The same name has the same colour, shape and dash everywhere in a report."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import altair as alt

from assay.charts import theme
from assay.charts.model import Key


class Palette:
    """Hands out places in the palette, one sequence for each dimension."""

    def __init__(self) -> None:
        self._places: dict[str, list[str]] = {}

    def keys(self, dimension: str, labels: Sequence[str]) -> tuple[Key, ...]:
        """Places of `labels`. Where two would look alike, or there is no dimension, places begin anew."""
        if not dimension:
            return tuple(Key(label, place) for place, label in enumerate(labels))
        known = self._places.setdefault(dimension, [])
        known.extend(label for label in labels if label not in known)
        places = [known.index(label) % len(theme.LIGHT) for label in labels]
        if len(set(places)) < len(places):
            places = list(range(len(labels)))
        return tuple(Key(label, place) for label, place in zip(labels, places, strict=True))


def scale(keys: Sequence[Key], channel: str) -> alt.Scale:
    """Scale of a channel (`color`, `shape` or `dash`) over the labels of `keys`."""
    size = len(theme.SHAPES)
    look: dict[str, Any] = {
        "color": [theme.colour(key.index) for key in keys],
        "shape": [theme.SHAPES[key.index % size] for key in keys],
        "dash": [list(theme.DASHES[key.index % size]) for key in keys],
    }
    return alt.Scale(domain=[key.label for key in keys], range=look[channel])
