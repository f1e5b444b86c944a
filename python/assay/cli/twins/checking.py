"""`assay twin check` and `assay fit --points`: what they print."""

from __future__ import annotations

import statistics
from collections.abc import Sequence
from pathlib import Path

from assay.binary import Binary
from assay.cli import output
from assay.error import BAD_JOB, DONE, AssayError
from assay.results.files import explain
from assay.target import catalog
from assay.target.names import PREFIX
from assay.twin.fit_load import SHEET, Residual, check, fit_table, toml
from assay.units.parse import number_of, parse_bytes
from assay.untyped import Json

# A fit is certified where latencies at rates that were left out are this near in nine of ten.
CERTIFIED = {"latency": 0.25, "tail": 0.5}


def show_check(name: str, points: Path, drive: str, as_json: bool) -> int:
    """Prints the errors and the coverage on rates that the twin was not fitted to."""
    twin = catalog.twin(name.removeprefix(PREFIX))
    others, fitted = check(twin, points, drive, Binary.find())
    if as_json:
        output.emit({"twin": twin["name"], "others": _document(others), "fitted": _document(fitted)})
        return DONE
    for row in others:
        where = "" if row.inside else "  outside of the band"
        told = f"{row.asked:>9,.0f}/s  {row.figure:10} published {_figure(row, row.published)}"
        output.say(f"{told}, predicted {_figure(row, row.predicted)}, {row.error:+.0%}{where}")
    output.say(f"rates that it was not fitted to: {_told(others)}")
    if fitted:
        output.say(f"rates that it was fitted to:     {_told(fitted)}")
    return DONE


def _figure(row: Residual, value: float) -> str:
    return f"{value:>9,.0f}/s" if row.figure.endswith("/s") else f"{value / 1e3:>9,.1f} us"


def _summary(rows: Sequence[Residual]) -> Json:
    errors = sorted(abs(row.error) for row in rows)
    if not errors:
        return {"figures": 0}
    return {
        "figures": len(errors),
        "median_error": statistics.median(errors),
        "p90_error": errors[min(len(errors) - 1, int(0.9 * len(errors)))],
        "worst_error": errors[-1],
        "in_band": sum(row.inside for row in rows) / len(rows),
    }


def _told(rows: Sequence[Residual]) -> str:
    found = _summary(rows)
    if not rows:
        return "none"
    return (
        f"{found['figures']} figures, median error {found['median_error']:.1%}, nine of ten within "
        f"{found['p90_error']:.0%}, worst {found['worst_error']:.0%}; {found['in_band']:.0%} in the band"
    )


def _document(rows: Sequence[Residual]) -> Json:
    each = [
        {
            "asked_ops_per_s": row.asked,
            "figure": row.figure,
            "published": row.published,
            "predicted": row.predicted,
            "error": row.error,
            "in_band": row.inside,
        }
        for row in rows
    ]
    kinds = sorted({row.figure for row in rows})
    by_figure = {kind: _summary([row for row in rows if row.figure == kind]) for kind in kinds}
    return {"all": _summary(rows), "by_figure": by_figure, "rows": each}


def fit_points(
    points: Path, drive: str, rows: str, settings: Sequence[str], name: str, out: Path | None, as_json: bool
) -> int:
    """Fits a twin to published latencies under load, writes it, and says how good it is. It always ends with a twin."""
    twin = fit_table(points, drive, rows, _sheet(settings), name, Binary.find())
    path = out or Path(f"{twin['name']}.toml")
    try:
        path.write_text(toml(twin), encoding="utf-8")
    except OSError as error:
        raise explain(error, path) from error
    bands = {key: float(value["value"]) for key, value in twin["band"].items()}
    certified = all(bands[key] <= most for key, most in CERTIFIED.items())
    if as_json:
        output.emit({"twin": twin, "file": str(path), "band": bands, "certified": certified})
        return DONE
    load = twin["device"]["under_load"]
    output.say(f"{twin['title']}: {load['writes_per_s']['value']:,.0f} random writes/s are reached, collected")
    output.say(
        f"reads: one curve of {len(load['reads']['latency_ns'])} points up to {load['knee']['value']:.0%} of them"
    )
    told = ", ".join(f"{key} within {value:.0%}" for key, value in bands.items())
    output.say(f"bands: {told} ({twin['notes'][1]})")
    for note in twin["notes"][2:]:
        output.say(note)
    output.say(
        "Certified."
        if certified
        else "Not certified: rates that were left out came out further off; the bands say how far."
    )
    output.say(f"{path} is written. Ask it: assay twin check {path} --points {points} --drive '{twin['title']}'")
    return DONE


def _sheet(settings: Sequence[str]) -> dict[str, float]:
    """`--set KEY=VALUE` of a data sheet."""
    found = {}
    for text in settings:
        key, equals, value = text.partition("=")
        if not equals or key not in SHEET:
            hint = f"known are {', '.join(SHEET)}"
            raise AssayError(f"`--set {text}` is no figure of a data sheet that a fit takes", hint=hint, code=BAD_JOB)
        found[key] = float(parse_bytes(value)) if "bytes" in key else float(number_of(value))
    return found
