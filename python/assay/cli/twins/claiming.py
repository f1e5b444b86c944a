"""What `assay claims` does."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

from assay.claim.here import MeasuredWhere
from assay.claim.model import known
from assay.claim.reproduce import document, reproduce
from assay.cli import output
from assay.cli.measure import damage
from assay.error import DONE
from assay.report.view import claims
from assay.results import folder
from assay.untyped import Json

_HOLDS = {True: "holds", False: "does not hold", None: "not tried"}


@dataclass(frozen=True)
class ClaimFlags:
    """What was asked for."""

    study: str
    inside: Path | None
    here: str
    seconds: float
    out: Path | None
    json: bool


def show(order: ClaimFlags) -> int:
    """Tries the claims and prints them; with `--out` writes them too."""
    records = folder.read(order.inside) if order.inside else None
    place = MeasuredWhere(order.here, order.seconds) if order.here else None
    if records is not None:
        damage.warn(records.directory, records.problems)
    names = [order.study] if order.study else known()
    studies = []
    for name in names:
        if len(names) > 1 or place:
            output.tell(f"trying the claims of {name}")
        studies.append(document(reproduce(name, place, records)))
    where = f"measured in {order.here}" if order.here else f"records of {order.inside}" if order.inside else ""
    found = claims.document(studies, where)
    written = claims.write(order.out, found) if order.out else ()
    if order.json:
        output.emit(found)
        return DONE
    with output.to_reader():
        for study in studies:
            for line in _lines(study):
                output.say(line)
        for path in written:
            output.say(str(path))
    return DONE


def _lines(study: Json) -> Iterator[str]:
    yield f"{study['title']} ({study['source']})"
    for row in study["claims"]:
        yield f"  {row['verdict']:15} {row['claim']:16} {_claim(row)}"
    for row in study["statements"]:
        yield f"  {_statement(row)}"
    yield f"  {claims.summary_said(study['summary'])}"
    yield ""


def _claim(row: Json) -> str:
    parts = [f"{row['setup']}, {row['metric']}:"]
    published = claims.published_said(row)
    parts += [f"published {published}"] if published else []
    modelled = row["modelled"]
    if modelled is not None:
        parts.append(f"{_word(row)} {modelled['value']:.4g} ({modelled['low']:.3g} to {modelled['high']:.3g})")
    elif row.get("reason"):
        parts.append(f"twins: {row['reason']}")
    if "here" in row:
        parts.append(_here(row["here"]))
    return "; ".join(part.rstrip(":") if index else part for index, part in enumerate(parts)).replace(":;", ":")


def _word(row: Json) -> str:
    return "twin" if row.get("provenance") == "modelled" else "computed"


def _here(found: Json) -> str:
    if found["value"] is None:
        return f"here: {found['reason']}"
    notes = [found.get("provenance", ""), found.get("verdict", ""), *found.get("differs", [])[:3]]
    told = "; ".join(note for note in notes if note and note not in ("measured", "valid"))
    return f"here {found['value']:.4g}" + (f" ({told})" if told else "")


def _statement(row: Json) -> str:
    told = f"{row['says']} On twins: {_HOLDS[row['on_twins']['holds']]}{_because(row['on_twins'])}."
    if "here" in row:
        told += f" Here: {_HOLDS[row['here']['holds']]}{_because(row['here'])}."
    return told


def _because(found: Json) -> str:
    return f" ({found['why']})" if found["why"] else ""
