"""`--try`: both sides of a piece of advice run here, as pairs in random order, and what that really brought."""

from __future__ import annotations

import json
import shlex
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from assay.advise.advice import Advice, Trial
from assay.binary import Binary
from assay.compare import folder, paired, words
from assay.compare.comparison import Comparison
from assay.compare.comparison import compare as judge
from assay.compare.judgement import Rules
from assay.compare.line import Line
from assay.compare.paired import Sides
from assay.compare.view import page
from assay.error import BAD_JOB, AssayError
from assay.results import row
from assay.study import run
from assay.study.execute import Observer
from assay.study.settings import parse_settings
from assay.target.target import parse_all
from assay.untyped import Json

FOLDER = "trials"
_FILE = "trial.json"
VERSION = 1


@dataclass(frozen=True)
class Tried:
    """What a trial came to. `gain` is in the direction of the advice, B over A, a time turned round."""

    rule: str
    on: str
    command: str
    directory: Path
    outcome: str
    sentence: str
    expected: Json | None
    gain: float | None
    low: float | None
    high: float | None
    pairs: int
    interrupted: bool = False

    @property
    def said(self) -> str:
        """The outcome beside what was expected."""
        return self.sentence + _beside(self.gain, self.expected)

    def document(self) -> Json:
        """As `--json` prints it, and as it lies in the folder."""
        return {
            "version": VERSION,
            "rule": self.rule,
            "on": self.on,
            "command": self.command,
            "directory": str(self.directory),
            "outcome": self.outcome,
            "sentence": self.said,
            "expected": self.expected,
            "gain": {"ratio": self.gain, "low": self.low, "high": self.high} if self.gain is not None else None,
            "pairs": self.pairs,
            "interrupted": self.interrupted,
        }


def _beside(gain: float | None, expected: Json | None) -> str:
    if gain is None or expected is None:
        return ""
    low, high = float(expected["low"]), float(expected["high"])
    place = "inside" if low <= gain <= high else "above" if gain > high else "below"
    return f" That is {place} the band that the records gave ({low:.3g} to {high:.3g} times)."


def attempt(advice: Advice, on: str, directory: Path, pairs: int, seed: int, observer: Observer) -> Tried:
    """Runs both sides in the place `on`; results go to a folder of their own under `directory`.

    Raises:
        AssayError: where the advice has no trial, or the place is none that can be written to without a serial number.
    """
    trial = advice.trial
    if trial is None:
        raise AssayError(f"the rule {advice.rule} cannot be tried at once", hint=f"by hand: {advice.check}")
    sides = _sides(trial, on, pairs, seed)
    binary = Binary.find()
    prepared = paired.plan(sides, binary)
    out = _free(directory / FOLDER, advice.rule)
    folder.begin(out, folder.head_of(sides))
    command = trial.command(on)
    summary = run.start(prepared, out, binary, observer, shlex.split(command))
    tried = _judged(advice, trial, on, out, interrupted=summary.ending.interrupted)
    (out / _FILE).write_text(json.dumps(tried.document(), indent=2), encoding="utf-8")
    return tried


def _sides(trial: Trial, on: str, pairs: int, seed: int) -> Sides:
    targets = tuple(parse_all([on], [], False))
    if any(target.kind in ("block-device", "device-dax") for target in targets):
        hint = f"run it by hand, with the serial number: {trial.command(on)} --serial S --yes-destroy"
        raise AssayError(f"a trial writes, and {on} is a device", hint=hint, code=BAD_JOB)
    settings = [parse_settings([f"{key}={value}" for key, value in one.items()]) for one in (trial.a, trial.b)]
    common = parse_settings([f"{key}={value}" for key, value in trial.settings.items()])
    own = (settings[0], settings[1])
    return Sides(trial.study, (targets, targets), common, own, trial.profile, pairs, seed)


def _free(parent: Path, name: str) -> Path:
    """A folder that does not exist yet."""
    numbers = (f"{name}-{number}" for number in range(2, 10_000))
    return next(parent / one for one in (name, *numbers) if not (parent / one).exists())


def _judged(advice: Advice, trial: Trial, on: str, out: Path, *, interrupted: bool) -> Tried:
    expected = advice.gain.document() if advice.gain else None
    if interrupted:
        words_ = f"interrupted; nothing is judged. Continue: assay compare --resume {out}"
        return Tried(
            advice.rule, on, trial.command(on), out, "interrupted", words_, expected, None, None, None, 0, True
        )
    a, b = folder.sides(out, folder.head(out))
    found = judge(a, b, Rules(), metrics=[trial.metric], by_lot=True)
    line = _line(found, trial)
    page.write(out / "compare.html", found, None, [])
    sentence = words.sentence(line, found)
    gain, low, high = _gain(line)
    return Tried(
        advice.rule, on, trial.command(on), out, line.outcome, sentence, expected, gain, low, high, len(line.pairs)
    )


def _line(found: Comparison, trial: Trial) -> Line:
    """The line that the trial is about: its class where several were compared."""
    named = [line for line in found.lines if line.class_name == trial.class_name]
    return (named or list(found.lines))[0]


def _gain(line: Line) -> tuple[float | None, float | None, float | None]:
    """Ratio and bounds in the direction of better."""
    if line.ratio is None:
        return None, None, None
    low, high = line.bounds or (line.ratio, line.ratio)
    if row.is_cost(line.metric):
        return 1 / line.ratio, 1 / high, 1 / low
    return line.ratio, low, high


def read(directory: Path) -> list[Json]:
    """Trials that were made in a result folder, oldest first; what cannot be read is left out."""
    found: list[Json] = []
    paths: Sequence[Path] = sorted((directory / FOLDER).glob(f"*/{_FILE}"), key=lambda path: path.stat().st_mtime)
    for path in paths:
        try:
            document = json.loads(path.read_text(encoding="utf-8"))
        except (OSError, ValueError):
            continue
        if isinstance(document, dict) and document.get("version") == VERSION:
            found.append(document | {"page": f"{FOLDER}/{path.parent.name}/compare.html"})
    return found
