"""Claims of studies as a document that lies in a folder, and as a page of their own."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator, Sequence
from collections.abc import Set as AbstractSet
from dataclasses import dataclass
from pathlib import Path

from assay.charts import shell
from assay.charts.model import Figure
from assay.charts.palette import Palette
from assay.report.figures import claims
from assay.report.view.counsel import anchor, short
from assay.results import labels
from assay.results.files import make_folder
from assay.units import show
from assay.untyped import Json
from assay.version import __version__

VERSION = 1
NAME = "claims.json"
_HOLDS = {True: "holds", False: "does not hold", None: "not tried"}


@dataclass(frozen=True)
class Link:
    """Where a figure comes from; without an anchor the page does not hold it."""

    name: str
    anchor: str


# Links to runs of a side by name, and to what `here` comes from: records, or runs that left none.
Ran = Callable[[str, Sequence[str]], tuple[Link, ...]]
Seen = Callable[[Json, Sequence[str]], tuple[Link, ...]]


@dataclass(frozen=True)
class StreamLine:
    """A stream of a run behind the claims, as a row; `anchor` where the run begins."""

    anchor: str
    run: str
    where: str
    load: str
    bandwidth: str
    rate: str
    latency: str
    note: str


@dataclass(frozen=True)
class ClaimLine:
    """A claim as a row of the table."""

    verdict: str
    claim: str
    where: str
    published: str
    modelled: str
    behind: tuple[Link, ...]
    error: str
    here: str
    here_note: str
    records: tuple[Link, ...]
    note: str


@dataclass(frozen=True)
class JudgedStatement:
    """A statement, and whether it holds."""

    says: str
    on_twins: str
    why: str
    behind: tuple[Link, ...]
    here: str
    here_why: str
    records: tuple[Link, ...]


@dataclass(frozen=True)
class ClaimedStudy:
    """One study on the page."""

    anchor: str
    title: str
    source: str
    lines: tuple[ClaimLine, ...]
    findings: tuple[JudgedStatement, ...]
    streams: tuple[StreamLine, ...]
    figures: tuple[Figure, ...]
    summary: str
    has_here: bool


def document(studies: Sequence[Json], where: str) -> Json:
    """All studies together; `where` says what stood for this machine."""
    return {"version": VERSION, "assay": __version__, "here": where, "studies": list(studies)}


def read(directory: Path) -> tuple[Json | None, str]:
    """The claims that lie in a folder, or none; and what is wrong with them."""
    path = directory / NAME
    if not path.is_file():
        return None, ""
    try:
        found = json.loads(path.read_text(encoding="utf-8"))
    except (OSError, ValueError) as error:
        return None, f"{NAME} cannot be read ({error}); write it again with `assay claims --out`."
    if not isinstance(found, dict) or found.get("version") != VERSION:
        return None, f"{NAME} is of another version; write it again with `assay claims --out`."
    return found, ""


def write(directory: Path, found: Json) -> tuple[Path, Path]:
    """Writes claims.json and claims.html; returns both paths. Raises `ReportError` where that is not possible."""
    make_folder(directory)
    shell.replace_file(directory / NAME, json.dumps(found, indent=1, allow_nan=False))
    shell.replace_file(directory / "claims.html", render(found))
    return directory / NAME, directory / "claims.html"


def render(found: Json) -> str:
    """The page."""
    palette = Palette()
    parts_ = parts(found, palette)
    scripts = shell.scripts()
    context = {
        "parts": parts_,
        "here": found["here"],
        "style": shell.style(),
        "scripts": scripts,
        "policy": shell.policy(scripts),
        "data": shell.data(figure for part in parts_ for figure in part.figures),
        "version": __version__,
    }
    return shell.environment().get_template("claims.html.j2").render(context)


def parts(found: Json, palette: Palette, records: AbstractSet[str] = frozenset()) -> list[ClaimedStudy]:
    """What a page shows of each study; `records` are the anchors of records that stand on the same page."""
    return [_part(study, palette, records) for study in found["studies"]]


def _part(study: Json, palette: Palette, records: AbstractSet[str]) -> ClaimedStudy:
    name = str(study["study"])
    runs = {(str(one["side"]), str(one["run"])) for one in study.get("runs") or ()}

    def ran(side: str, names: Sequence[str]) -> tuple[Link, ...]:
        return tuple(Link(run, claims.run_anchor(name, side, run) if (side, run) in runs else "") for run in names)

    def seen(here: Json, names: Sequence[str]) -> tuple[Link, ...]:
        kept = [str(record) for record in here.get("records") or ()]
        found = tuple(Link(short(one), anchor(one) if anchor(one) in records else "") for one in kept)
        return found or ran("here", [run for run in names if ("here", run) in runs])

    return ClaimedStudy(
        anchor=f"claims-of-{study['study']}",
        title=str(study["title"]),
        source=str(study["source"]),
        lines=tuple(_line(row, ran, seen) for row in study["claims"]),
        findings=tuple(_finding(row, ran, seen) for row in study["statements"]),
        streams=tuple(_streams(study)),
        figures=tuple(claims.draw(study, palette)),
        summary=summary_said(study["summary"]),
        has_here=any("here" in row for row in study["claims"]),
    )


def _streams(study: Json) -> Iterator[StreamLine]:
    """Every stream of every run that figures were taken from."""
    for one in study.get("runs") or ():
        place = claims.run_anchor(str(study["study"]), str(one["side"]), str(one["run"]))
        for point in one["points"]:
            for load, asked in point["asked"].items():
                yield _stream(place, str(one["run"]), point, str(load), str(asked))
                place = ""


def _stream(place: str, run: str, point: Json, load: str, asked: str) -> StreamLine:
    gave = point["streams"].get(load) or {}

    def said(metric: str, unit: str) -> str:
        return show.figure(gave[metric], unit) if metric in gave else ""

    notes = (str(point.get("refused") or ""), str(point.get("verdict") or ""))
    return StreamLine(
        anchor=place,
        run=run,
        where=f"{point['on']}, {point['path']}",
        load=f"{load}: {asked}",
        bandwidth=said("bandwidth", "bytes/s"),
        rate=said("rate", "ops/s"),
        latency=said("latency", "ns"),
        note="; ".join(note for note in notes if note and note != "valid"),
    )


def _line(row: Json, ran: Ran, seen: Seen) -> ClaimLine:
    modelled, here = row["modelled"], row.get("here") or {}
    unit = "" if row["unit"] in ("", "-") else f" {row['unit']}"
    told = f"{modelled['value']:.4g}{unit} ({modelled['low']:.3g} to {modelled['high']:.3g})" if modelled else ""
    if modelled and modelled["low"] == modelled["high"]:
        told = f"{modelled['value']:.4g}{unit}"
    value = here.get("value")
    notes = [str(here.get("provenance") or ""), str(here.get("verdict") or ""), *here.get("differs", [])]
    note = "; ".join(word for word in notes if word and word not in ("measured", "valid"))
    return ClaimLine(
        verdict=str(row["verdict"]),
        claim=str(row["claim"]),
        where=f"{row['setup']}, {row['metric']}",
        published=published_said(row),
        modelled=told,
        behind=ran("twin", row.get("runs") or ()) or _computed(row),
        error="" if row["error"] is None else f"{row['error']:+.0%}",
        here=f"{value:.4g}{unit}" if value is not None else "",
        here_note=note if value is not None else str(here.get("reason") or ""),
        records=seen(here, row.get("runs") or ()),
        note=str(row.get("reason") or row.get("note") or ""),
    )


def _computed(row: Json) -> tuple[Link, ...]:
    """What was computed comes from no run; the price book says from which prices, by item and date."""
    computed = str(row.get("provenance") or "").startswith("computed")
    return (Link("dated prices", ""),) if computed else ()


def published_said(row: Json) -> str:
    """A published figure or range with its unit."""
    published = row["published"]
    if published is None:
        return ""
    words = " to ".join(f"{value:g}" for value in published) if isinstance(published, list) else f"{published:g}"
    return words + ("" if row["unit"] in ("", "-") else f" {row['unit']}")


def _finding(row: Json, ran: Ran, seen: Seen) -> JudgedStatement:
    twins, here = row["on_twins"], row.get("here") or {"holds": None, "why": ""}
    return JudgedStatement(
        says=str(row["says"]),
        on_twins=_HOLDS[twins["holds"]],
        why=labels.sentence(str(twins["why"])) if twins["why"] else "",
        behind=ran("twin", row.get("runs") or ()) if twins["holds"] is not None else (),
        here=_HOLDS[here["holds"]] if "here" in row else "",
        here_why=labels.sentence(str(here["why"])) if here["why"] else "",
        records=seen(here, row.get("runs") or ()) if here["holds"] is not None else (),
    )


def summary_said(found: Json) -> str:
    """Counts of a study in one sentence; verdicts and errors are of what was predicted."""
    told = f"{found['attempted']} of {found['claims']} claims attempted"
    kinds = (("inputs", "inputs"), ("calibrated", "calibrated"), ("repeats", "counted before"), ("prices", "prices"))
    apart = [f"{found[key]} {words}" for key, words in kinds if found.get(key)]
    told += f" ({', '.join(apart)})" if apart else ""
    told += f"; of {found['predicted']} predicted: " if "predicted" in found else ": "
    told += f"{found['reproduced']} reproduced, "
    told += f"{found['direction_only']} in direction only, {found['not_reproduced']} not reproduced"
    if found["median_error"] is not None:
        told += f"; median error {found['median_error']:.0%}, {found['within_quarter']:.0%} within 25 %"
    if found.get("inside_band") is not None:
        told += f", {found['inside_band']:.0%} inside the band"
    return told + "."
