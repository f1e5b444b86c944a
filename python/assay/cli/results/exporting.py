"""What `assay export` does."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

from assay.cli import output
from assay.error import BAD_JOB, DONE, AssayError, did_you_mean
from assay.results import folder as results
from assay.results import openmetrics, otava
from assay.study import folder

FORMS = ("openmetrics", "otava")


def export(directories: Sequence[Path], form: str, out: Path | None, as_json: bool) -> int:
    """Writes or prints the figures; returns the exit code."""
    if form not in FORMS:
        raise AssayError(f"`--to {form}` is no form", hint=did_you_mean(form, FORMS), code=BAD_JOB)
    found = [results.read(one) for one in (directories or [folder.newest()])]
    if form == "openmetrics" and len(found) > 1:
        hint = "name one, or take --to otava for a series"
        raise AssayError(f"OpenMetrics is of one folder, and {len(found)} were named", hint=hint, code=BAD_JOB)
    text = openmetrics.text(found[0]) if form == "openmetrics" else otava.table(found)
    written = _write(text, form, out) if out is not None else []
    if as_json:
        output.emit({"form": form, "files": [str(path) for path in written], "text": None if out else text})
    elif out is None:
        with output.to_reader():
            print(text, end="")
    else:
        for path in written:
            output.say(str(path))
    return DONE


def _write(text: str, form: str, out: Path) -> list[Path]:
    out.parent.mkdir(parents=True, exist_ok=True)
    out.write_text(text, encoding="utf-8")
    if form != "otava":
        return [out]
    beside = out.with_suffix(".yaml")
    beside.write_text(otava.configuration(out, text), encoding="utf-8")
    return [out, beside]
