"""Advice on the page: what is advised first, with links to records, and what trials brought."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass

from assay.advise import Advice, of
from assay.advise.facts import RuleFacts
from assay.advise.trial import read
from assay.results import labels
from assay.results.folder import Folder
from assay.untyped import Json

# What these records do not decide is no advice; it is folded away with the command that would decide it.
_SILENT = ("undecided", "no evidence")


@dataclass(frozen=True)
class Trial:
    """What a trial came to."""

    outcome: str
    sentence: str
    command: str
    page: str


@dataclass(frozen=True)
class Piece:
    """A piece of advice with its trials."""

    advice: Advice
    gain: str
    band: str
    links: tuple[tuple[str, tuple[tuple[str, str], ...]], ...]
    trials: tuple[Trial, ...]


@dataclass(frozen=True)
class Counsel:
    """Pieces that these records decide, and rules that they do not."""

    pieces: tuple[Piece, ...]
    silent: tuple[Advice, ...]


def counsel(folder: Folder) -> Counsel:
    """The advice of a folder, ready for the page."""
    found = of(RuleFacts(folder))
    trials = read(folder.directory)
    tried = {str(each.get("rule")) for each in trials}
    shown = [one for one in found if one.outcome not in _SILENT or one.rule in tried]
    pieces = tuple(_piece(one, trials) for one in shown)
    return Counsel(pieces, tuple(one for one in found if one not in shown))


def _piece(one: Advice, trials: Sequence[Json]) -> Piece:
    gain, band = "", ""
    if one.gain is not None:
        gain = one.gain.said
        against = "" if one.gain.status == "valid" else f"; the records are {one.gain.status}"
        origin = "" if one.gain.provenance == "measured" else f"; {one.gain.provenance}"
        band = f"{one.gain.kind}{origin}{against}"
    links = tuple((entry.text, tuple((short(id_), anchor(id_)) for id_ in entry.records)) for entry in one.evidence)
    return Piece(one, gain, band, links, tuple(_trial(each) for each in trials if each.get("rule") == one.rule))


def anchor(record: str) -> str:
    """Where the page shows a record."""
    return record if record.startswith("work-") else f"cell-{record}"


def _trial(found: Json) -> Trial:
    words = (labels.clean(str(found.get(name) or "")) for name in ("outcome", "sentence", "command", "page"))
    return Trial(*words)


def short(record: str) -> str:
    """A record's name as a link shows it: of work the subject, the workload and the end of its id."""
    if not record.startswith("work-"):
        return record
    words = record.removeprefix("work-").split("-")
    named = [word for word in words if len(word) < 16 or not re.fullmatch("[0-9a-f]+", word)]
    return f"{'-'.join(named[:-2])} {words[-1]}" if len(named) > 2 and len(named) < len(words) else "-".join(words)
