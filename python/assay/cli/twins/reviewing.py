"""`assay twin check` without a table: what it prints."""

from __future__ import annotations

from assay.cli import output
from assay.error import DONE, MISSED
from assay.twin.review import review
from assay.units.show import rate
from assay.untyped import Json


def show_review(name: str, as_json: bool) -> int:
    """Prints what the file of a twin says and does not say; exit code 6 where it breaks a law."""
    found = review(name)
    if as_json:
        output.emit(found)
        return MISSED if found["laws"] else DONE
    kinds = ", ".join(f"{count} {kind}" for kind, count in found["parameters"].items())
    output.say(f"{found['twin']} can be read and played; parameters: {kinds}")
    if found["assumed_without_a_range"]:
        output.say(f"assumed, and nothing says how far off: {', '.join(found['assumed_without_a_range'])}")
    for row in found["stated"]:
        told = f"{row['parameter']} is {_figure(row, 'stated')}, and {_figure(row, 'reached')} are reached"
        output.say(told if row["near"] else f"{told}: something else limits it")
    for sentence in found["laws"]:
        output.say(f"wrong: {sentence}")
    if not found["laws"]:
        output.say("more in flight never gives less, and nothing is quicker than alone")
    return MISSED if found["laws"] else DONE


def _figure(row: Json, name: str) -> str:
    return rate(row[name]) if row["parameter"].endswith("bytes_per_s") else f"{row[name]:,.0f}/s"
