"""Whatever a stranger writes is read or refused with a sentence: studies, fio's job files, traces, journals, plans."""

from __future__ import annotations

import contextlib
import json
import tempfile
from pathlib import Path

import pytest
from assay.error import AssayError
from assay.fio.imports import import_text
from assay.results.journal import CellJournal
from assay.study import source
from assay.trace.calls import Calls
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

_ROOT = Path(__file__).resolve().parent.parent.parent
_STUDIES = [path.read_text() for path in sorted((_ROOT / "studies").glob("*.toml"))[:8]]
_FIO = [
    (_ROOT / "tests" / "faults" / "job.fio").read_text(),
    "[global]\nbs=4k\nrw=randrw\nrwmixread=70\nrate_iops=100,200\n[a]\nsize=1g\niodepth=32\n[b]\nstonewall\nnumjobs=4\n",
]
_CALLS = [
    '7 1.5 openat(AT_FDCWD, "/a", O_RDWR) = 3\n7 1.6 pwrite64(3, ""..., 4096, 8192) = 4096\n7 1.7 fdatasync(3) = 0\n'
]
_JOURNAL = [json.dumps({"cell": "a-0001-r1", "state": "finished", "at": "x", "reason": "", "fix": "", "exit_code": 0})]
_PIECES = (
    "0",
    "-1",
    "1e400",
    "nan",
    "inf",
    "[[",
    "]" * 40,
    "{",
    '"',
    "'''",
    "\n",
    "=",
    "\x00",
    "\u2028",
    "../../x",
    "9" * 40,
)
_SOME = settings(max_examples=120, deadline=None, suppress_health_check=[HealthCheck.too_slow])


@st.composite
def changed(draw: st.DrawFn, corpus: list[str]) -> str:
    """A document of the corpus with some changes."""
    text = draw(st.sampled_from(corpus))
    for _ in range(draw(st.integers(1, 5))):
        at = draw(st.integers(0, len(text)))
        piece = draw(st.one_of(st.sampled_from(_PIECES), st.text(max_size=6)))
        text = text[:at] + piece + text[at + draw(st.integers(0, 24)) :]
    return text


@_SOME
@given(text=changed(_STUDIES))
def test_any_study_is_read_or_refused(text: str) -> None:
    with contextlib.suppress(AssayError):
        source.parse(text, "x.toml")


@_SOME
@given(text=changed(_FIO))
def test_any_job_file_is_read_or_refused(text: str) -> None:
    with contextlib.suppress(AssayError):
        import_text(text, "x")


@_SOME
@given(text=changed(_CALLS))
def test_any_trace_of_calls_is_read(text: str) -> None:
    with contextlib.suppress(AssayError):
        Calls().read(text.splitlines())


@_SOME
@given(text=changed(_JOURNAL))
def test_any_journal_is_read_or_refused(text: str) -> None:
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "journal.ndjson"
        path.write_text(text + "\n", encoding="utf-8", errors="surrogateescape")
        with contextlib.suppress(AssayError):
            CellJournal(path).close()


def test_a_hundred_thousand_brackets_are_no_traceback() -> None:
    for text in ("x = " + "[" * 100_000, "x = " + "-" * 100_000, "[" * 100_000):
        with pytest.raises(AssayError):
            source.parse(text, "x.toml")
