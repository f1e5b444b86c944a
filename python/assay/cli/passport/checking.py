"""`assay passport verify`: what it finds, said."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from assay.cli import output
from assay.cli.passport.making import show
from assay.error import DONE, FAILED
from assay.passport import plausible, read
from assay.passport.read import Checked
from assay.target import names
from assay.untyped import Json

AUTO = "auto"


@dataclass(frozen=True)
class CheckFlags:
    """How to check."""

    key: str = ""
    twin: str = ""
    plausible: bool = False
    json: bool = False


@dataclass(frozen=True)
class Verdict:
    """One passport with all that speaks against it."""

    found: Checked
    problems: tuple[str, ...]
    twin: str
    beside: tuple[plausible.BesideTwin, ...]

    def document(self) -> Json:
        """As `--json` prints it."""
        return {
            "file": str(self.found.path),
            "good": not self.problems,
            "signature": self.found.signed,
            "fingerprint": self.found.fingerprint,
            "problems": list(self.problems),
            "twin": self.twin or None,
            "beside_twin": [one.document() for one in self.beside],
        }


def check(files: Sequence[Path], asked: CheckFlags) -> int:
    """Checks every file; returns the exit code."""
    verdicts = [_verdict(read.read(path), asked) for path in files]
    if asked.json:
        output.emit({"version": 1, "passports": [one.document() for one in verdicts]})
    else:
        for one in verdicts:
            _say(one)
    return FAILED if any(one.problems for one in verdicts) else DONE


def _verdict(found: Checked, asked: CheckFlags) -> Verdict:
    problems = [] if found.signed else ["the signature does not hold: it was changed after it was signed"]
    if asked.key and asked.key not in (found.sealed.key, found.fingerprint):
        problems.append(f"it is signed by key {found.fingerprint}, and not by {asked.key}")
    problems += found.problems
    if not asked.plausible or found.problems:
        return Verdict(found, tuple(problems), "", ())
    twin = plausible.twin_of(found.passport) if asked.twin in ("", AUTO) else asked.twin.removeprefix(names.PREFIX)
    beside = plausible.beside(found.passport, plausible.predicted(twin)) if twin else []
    problems += plausible.complaints(found.passport, found.path, twin)
    return Verdict(found, tuple(problems), twin, tuple(beside))


def _say(one: Verdict) -> None:
    path = one.found.path
    if not one.found.signed:
        output.say(f"{path}: NOT GOOD")
    else:
        output.say(f"{path}: {'not good' if one.problems else 'good'}, signed by key {one.found.fingerprint}")
    for problem in one.problems:
        output.say(f"  {problem}")
    if one.found.signed:
        show(one.found.passport)
    for each in one.beside:
        place = "inside its band" if each.inside else "outside its band"
        output.say(f"  {each.figure.title}: {each.ratio:.2f} of twin:{one.twin}, {place}")
