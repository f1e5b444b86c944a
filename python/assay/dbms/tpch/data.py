"""The data: made by `tpchgen-cli`, which writes the bytes of the TPC's own program, and checked."""

from __future__ import annotations

import functools
import hashlib
import os
import shutil
import subprocess
import sys
import tomllib
from dataclasses import dataclass
from pathlib import Path

from assay import packages
from assay.binary import die_with
from assay.dbms.tpch.schema import TABLES
from assay.error import BAD_JOB, FAILED, AssayError

BYTES_PER_SCALE = 1_100_697_226
"""Bytes of the eight files at scale factor 1."""
LARGEST_SCALE = 100_000
# Least that works: fractions below leave tables without rows that queries divide by.
SMALLEST_SCALE = 0.001


class DataError(AssayError):
    """The data could not be made, or is not what it should be."""


@dataclass(frozen=True)
class Files:
    """The eight files of a scale factor, and how they were checked."""

    folder: Path
    scale: float
    checked: str

    def table(self, name: str) -> Path:
        """A table's file: fields that end with `|`, one row a line."""
        return self.folder / f"{name}.tbl"


def scale_of(text: str | float) -> float:
    """A scale factor as given.

    Raises:
        DataError: where it is no number that makes sense.
    """
    try:
        scale = float(text)
    except ValueError as error:
        raise DataError(
            f"`{text}` is no scale factor", hint="write a number, such as 1 or 0.1", code=BAD_JOB
        ) from error
    if not SMALLEST_SCALE <= scale <= LARGEST_SCALE:
        message = f"scale factor {scale:g} lies outside {SMALLEST_SCALE:g} to {LARGEST_SCALE:,}"
        raise DataError(message, hint="1 stands for about 1 GB of data", code=BAD_JOB)
    if _has_a_supplier_twice(scale):
        message = f"at scale factor {scale:g} the TPC's generator gives some parts the same supplier twice"
        raise DataError(message, hint="the least without is 0.008; 0.01, and all from 0.022 on, are well", code=BAD_JOB)
    return scale


def _has_a_supplier_twice(scale: float) -> bool:
    """Whether PARTSUPP breaks its primary key: TPC-H 4.2.3 takes (PARTKEY + i * (S/4 + (PARTKEY-1)/S)) modulo S."""
    suppliers, parts = int(10_000 * scale), int(200_000 * scale)
    steps = range(suppliers // 4, suppliers // 4 + (parts - 1) // suppliers + 1)
    return suppliers < 1000 and any(times * step % suppliers == 0 for step in steps for times in (1, 2, 3))


def needed_bytes(scale: float) -> int:
    """Bytes of the files of a scale factor, rounded up; tables that do not grow are small."""
    return int(BYTES_PER_SCALE * scale) + 100_000


def generate(folder: Path, scale: float) -> Files:
    """Makes the files in a folder and checks them."""
    folder.mkdir(parents=True, exist_ok=True)
    command = [program(), "--scale-factor", f"{scale:g}", "--output-dir", str(folder), "--overwrite"]
    try:
        # It makes its folder where it is missing: one that outlived this process would make again what was removed.
        done = subprocess.run(
            command,
            capture_output=True,
            text=True,
            check=False,
            stdin=subprocess.DEVNULL,
            preexec_fn=die_with(os.getpid()),
        )
    except OSError as error:
        message = f"tpchgen-cli cannot be started: {error.strerror}"
        raise DataError(message, hint="set the installation up again: pip install tpchgen-cli", code=FAILED) from error
    if done.returncode != 0:
        last = (done.stderr.strip().splitlines() or [f"exit code {done.returncode}"])[-1]
        hint = f"look whether {folder} can be written and has {needed_bytes(scale):,} bytes left"
        raise DataError(f"tpchgen-cli could not make the data: {last}", hint=hint, code=FAILED)
    return check(folder, scale)


def program() -> str:
    """The generator: beside this Python, else on PATH; else it comes with the packages of databases."""
    beside = Path(sys.executable).parent / "tpchgen-cli"
    found = str(beside) if beside.is_file() else shutil.which("tpchgen-cli")
    if found is None:
        packages.bring("dbms")
        found = str(beside)
    return found


def check(folder: Path, scale: float) -> Files:
    """The files of a folder as data of a scale factor.

    Against known sums where the scale factor has them; by the number of rows otherwise.

    Raises:
        DataError: where a file is missing or not what it should be.
    """
    known = _checksums().get(f"{scale:g}")
    for table in TABLES:
        path = folder / f"{table.name}.tbl"
        if not path.is_file():
            raise DataError(f"{path} is missing", hint="name a folder with the eight .tbl files", code=FAILED)
        try:
            if known is not None:
                _compare(path, known[table.name], scale)
            elif table.rows(scale) is not None:
                _count(path, int(table.rows(scale) or 0), scale)
        except OSError as error:
            hint = "look at dmesg for the drive under it, then make the data again"
            raise DataError(f"{path} cannot be read: {error.strerror}", hint=hint, code=FAILED) from error
    return Files(folder, scale, "known SHA-1 sums" if known else "numbers of rows; no sums are known for this scale")


def _compare(path: Path, wanted: str, scale: float) -> None:
    with path.open("rb") as file:
        seen = hashlib.file_digest(file, "sha1").hexdigest()
    if seen != wanted:
        message = f"{path.name} is not the file of scale factor {scale:g}: SHA-1 {seen} instead of {wanted}"
        raise DataError(message, hint="make the data again; where it differs again, use tpchgen-cli 4.0.0", code=FAILED)


def _count(path: Path, wanted: int, scale: float) -> None:
    rows = 0
    with path.open("rb") as file:
        while block := file.read(1 << 20):
            rows += block.count(b"\n")
    if rows != wanted:
        message = f"{path.name} has {rows:,} rows, and scale factor {scale:g} has {wanted:,}"
        raise DataError(message, hint="make the data again with tpchgen-cli 4.0.0", code=FAILED)


@functools.cache
def _checksums() -> dict[str, dict[str, str]]:
    path = Path(__file__).with_name("checksums.toml")
    return tomllib.loads(path.read_text(encoding="utf-8"))
