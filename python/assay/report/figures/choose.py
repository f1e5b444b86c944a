"""Which dimension goes where: what a study asks for, and good defaults for what it leaves open."""

from __future__ import annotations

from collections.abc import Hashable, Sequence
from dataclasses import dataclass, replace

from assay.charts.model import Ask
from assay.results import group, labels
from assay.results.row import Row

# More panels than this are a wall, not a figure.
PANELS = 12


@dataclass(frozen=True)
class View:
    """Rows with their dimensions chosen."""

    ask: Ask
    rows: tuple[Row, ...]
    facets: tuple[str, ...]

    def panels(self) -> list[tuple[str, list[Row]]]:
        """Title and rows of each panel, in order."""
        if not self.facets:
            return [("", list(self.rows))]
        found = group.by(self.rows, self.facets)
        places = [group.ordered(key[index] for key in found) for index in range(len(self.facets))]
        keys = sorted(found, key=lambda key: [place.index(part) for place, part in zip(places, key, strict=True)])
        return [(self._title(key), found[key]) for key in keys[:PANELS]]

    def left_out(self) -> int:
        """Panels beyond the limit."""
        return max(0, len(group.by(self.rows, self.facets)) - PANELS) if self.facets else 0

    def _title(self, key: tuple[Hashable, ...]) -> str:
        return facet_title(self.facets, key)


def facet_title(names: Sequence[str], key: Sequence[Hashable]) -> str:
    """What sets one panel apart from the others."""
    return ", ".join(_said(name, value) for name, value in zip(names, key, strict=True))


def _said(name: str, value: Hashable) -> str:
    text = labels.value(name, value)
    return text if isinstance(value, str) else f"{labels.dimension(name)} {text}"


def varying(rows: Sequence[Row], names: Sequence[str]) -> list[str]:
    """Dimensions with more than one value."""
    return [name for name in names if len({one.key(name) for one in rows}) > 1]


def factors(rows: Sequence[Row]) -> list[str]:
    """All factors of the cells, in order of first appearance."""
    return list(dict.fromkeys(name for one in rows for name in one.cell.factors))


def choose(ask: Ask, rows: Sequence[Row], *, default_y: str, x_from: Sequence[str] = ()) -> View | None:
    """Fills in what the study left open, so that no two different cells fall on one point."""
    ask = _seen_from_the_class(ask)
    kept = _together([one for one in rows if not ask.only or one.name == ask.only], ask)
    if not kept:
        return None
    free = varying(kept, [*factors(kept), "on", "class", "scenario"])
    x = ask.x or next((name for name in (*x_from, *free) if name in free or name in x_from), "class")
    free = [name for name in free if name not in {x, ask.series, *_split(ask.facet)}]
    free = _independent(kept, free, [x, ask.series, *_split(ask.facet)])
    series = ask.series or (_best_series(kept, free) if free else "")
    facets = [name for name in _split(ask.facet) if name != series]
    facets += [name for name in free if name not in {series, *facets}]
    chosen = replace(ask, x=x, y=ask.y or default_y, series=series)
    return View(chosen, tuple(kept), tuple(facets))


def _seen_from_the_class(ask: Ask) -> Ask:
    """`alone:scan` says more to a reader as `scan`, `alone`: bars of one class stand side by side."""
    if (ask.x, ask.series) == ("scenario", "class"):
        return replace(ask, x="class", series="beside")
    named = {name: getattr(ask, name) for name in ("x", "series", "facet")}
    return replace(ask, **{name: "beside" for name, value in named.items() if value == "scenario"})


def _together(rows: Sequence[Row], ask: Ask) -> list[Row]:
    """Classes alone or in pairs belong to the interference matrix; elsewhere all run at once, unless asked for."""
    everyone = [one for one in rows if one.cell.scenario == "all"]
    asked = "beside" in {ask.x, ask.series, *_split(ask.facet)}
    return list(rows) if asked or not everyone else everyone


def _split(facet: str) -> list[str]:
    return [part.strip() for part in facet.split(",") if part.strip()]


def _independent(rows: Sequence[Row], free: list[str], taken: list[str]) -> list[str]:
    """Dimensions that still tell cells apart once those before them are fixed (`scenario` often repeats `class`)."""
    fixed = [name for name in taken if name]
    kept: list[str] = []
    for name in free:
        found = group.by(rows, [*fixed, *kept])
        if any(len({one.key(name) for one in part}) > 1 for part in found.values()):
            kept.append(name)
    return kept


def _best_series(rows: Sequence[Row], free: list[str]) -> str:
    """Series are told apart by words rather than numbers, and there are few of them."""
    few = [name for name in free if len({one.key(name) for one in rows}) <= 6] or free
    words = [name for name in few if any(isinstance(one.dimension(name), str) for one in rows)]
    return next((name for name in ("path", "class") if name in words), (words or few)[0])
