"""Tables of published latencies under load: one row a rate and drive, percentiles in microseconds.

Columns: `drive`, `asked_ops_per_s`, `writes_per_s_reached`, and `read_pX_us` and `write_pX_us` for any percentiles X.
"""

from __future__ import annotations

import csv
import re
from collections.abc import Sequence
from pathlib import Path

from assay.error import BAD_JOB, AssayError, did_you_mean
from assay.twin.under_load import UnderLoadRow

DRIVE, ASKED, REACHED = "drive", "asked_ops_per_s", "writes_per_s_reached"
_PERCENTILE = re.compile(r"(?P<kind>read|write)_p(?P<percent>[0-9.]+)_us")


def read(path: Path, drive: str) -> tuple[str, list[UnderLoadRow]]:
    """The full name of a drive of a table, and its rows by rising rates.

    Raises:
        AssayError: where the file is no such table, or does not hold the drive, or a figure of it is none.
    """
    try:
        lines = [line for line in path.read_text(encoding="utf-8").splitlines() if line and not line.startswith("#")]
    except (OSError, UnicodeDecodeError) as error:
        raise AssayError(f"{path} cannot be read: {error}", hint="name a table in UTF-8", code=BAD_JOB) from error
    table = list(csv.DictReader(lines))
    columns = list(table[0]) if table else []
    missing = [name for name in (DRIVE, ASKED, REACHED) if name not in columns]
    if missing or not any(_PERCENTILE.fullmatch(name or "") for name in columns):
        problem = f"{path} is no table of latencies under load: it lacks {', '.join(missing) or 'percentiles'}"
        hint = f"give the columns {DRIVE}, {ASKED}, {REACHED}, read_p50_us, write_p50_us and more percentiles"
        raise AssayError(problem, hint=hint, code=BAD_JOB)
    name = _drive(path, drive, sorted({row[DRIVE] for row in table}))
    rows = [_row(path, row) for row in table if row[DRIVE] == name]
    return name, sorted(rows, key=lambda row: row.asked)


def drives(path: Path) -> list[str]:
    """Names of the drives of a table that can be read."""
    lines = [line for line in path.read_text(encoding="utf-8").splitlines() if line and not line.startswith("#")]
    return sorted({row[DRIVE] for row in csv.DictReader(lines)})


def citation(path: Path) -> str:
    """Where the figures come from: the first sentence of the comment at the head, or the file's name."""
    head = path.read_text(encoding="utf-8").partition("\n")[0]
    return head.lstrip("# ").partition(". ")[0].strip() if head.startswith("#") else path.name


def _drive(path: Path, drive: str, known: Sequence[str]) -> str:
    found = [name for name in known if name == drive] or [name for name in known if drive.lower() in name.lower()]
    if len(found) == 1:
        return found[0]
    if not drive and len(known) == 1:
        return known[0]
    problem = f"{path} holds no drive `{drive}`" if not found else f"`{drive}` means several drives of {path}"
    hint = f"{did_you_mean(drive, known)}; it holds {', '.join(known)}"
    raise AssayError(problem, hint=hint, code=BAD_JOB)


def _row(path: Path, row: dict[str, str]) -> UnderLoadRow:
    percentiles: dict[str, dict[float, float]] = {"read": {}, "write": {}}
    for column, text in row.items():
        match = _PERCENTILE.fullmatch(column or "")
        if match is not None and text:
            rare = round(1 - float(match["percent"]) / 100, 9)
            percentiles[match["kind"]][rare] = _number(path, column, text) * 1e3
    asked, reached = (_number(path, column, row[column]) for column in (ASKED, REACHED))
    if not percentiles["read"] or not percentiles["write"]:
        hint = "give percentiles of reads and of writes in each row"
        raise AssayError(f"{path}: the row of {asked:.0f}/s has none", hint=hint, code=BAD_JOB)
    return UnderLoadRow(asked, reached, percentiles["read"], percentiles["write"])


def _number(path: Path, column: str, text: str) -> float:
    try:
        value = float(text)
    except ValueError:
        value = 0.0
    if not 0 < value < 1e15:
        raise AssayError(f"{path}: {column} is `{text}`", hint="give a number above 0", code=BAD_JOB)
    return value


def chosen(rows: Sequence[UnderLoadRow], asked: str) -> list[UnderLoadRow]:
    """The rows of some asked rates, such as `10000,50000`; all of them where none are named.

    Raises:
        AssayError: where a rate is no number, or no row asked for it.
    """
    if not asked:
        return list(rows)
    found = []
    for text in asked.split(","):
        try:
            wanted = float(text)
        except ValueError:
            wanted = -1.0
        match = [row for row in rows if row.asked == wanted]
        if not match:
            known = ", ".join(f"{row.asked:.0f}" for row in rows)
            raise AssayError(f"no row asks for `{text}` operations a second", hint=f"it has {known}", code=BAD_JOB)
        found += match
    return found
