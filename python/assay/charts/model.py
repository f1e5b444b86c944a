"""What a figure is: panels of one specification each, a legend, a caption and the data drawn."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

Spec = dict[str, Any]
Datum = dict[str, Any]
# The types of Altair end at `encode`.
Layer = Any


@dataclass(frozen=True)
class Ask:
    """A figure as a study declares it."""

    id: str
    kind: str
    title: str = ""
    x: str = ""
    y: str = ""
    series: str = ""
    facet: str = ""
    x_scale: str = ""
    y_scale: str = ""
    only: str = ""
    caption: str = ""

    @classmethod
    def read(cls, entry: dict[str, Any], index: int) -> Ask:
        """From `study.json`."""
        names = ("title", "x", "y", "series", "facet", "x_scale", "y_scale", "caption")
        rest = {name: str(entry.get(name) or "") for name in names}
        kind = str(entry.get("kind") or "line")
        return cls(
            id=str(entry.get("id") or f"figure-{index + 1}"), kind=kind, only=str(entry.get("class") or ""), **rest
        )


@dataclass(frozen=True)
class Key:
    """One entry of a legend."""

    label: str
    index: int


@dataclass(frozen=True)
class Panel:
    """One chart; its width follows the page."""

    title: str
    spec: Spec
    marks: int
    height: int


@dataclass(frozen=True)
class Figure:
    """Panels that are read together."""

    id: str
    title: str
    kind: str
    caption: str
    panels: tuple[Panel, ...]
    keys: tuple[Key, ...]
    keys_title: str
    data: tuple[Datum, ...]
    notes: tuple[str, ...] = field(default=())
    wide: bool = False
    dots: bool = False
    conditions: str = ""
