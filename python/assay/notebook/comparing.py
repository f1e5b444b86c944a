"""`assay.compare`: two sides from Python, by the rules of the command."""

from __future__ import annotations

from dataclasses import dataclass
from html import escape
from pathlib import Path
from typing import Any

import pandas as pd

from assay.binary import Binary
from assay.compare import folder, paired, questions, side, table
from assay.compare.comparison import Comparison
from assay.compare.comparison import compare as judge
from assay.compare.error import CompareError
from assay.compare.judgement import Rules
from assay.compare.paired import Sides
from assay.error import INTERRUPTED, AssayError
from assay.notebook.frames import Frames
from assay.notebook.running import targets
from assay.stats import signed_rank
from assay.study import folder as study_folder
from assay.study import run as study_run
from assay.study.observer import watching
from assay.target.target import Target

PAIRS = 12
"""Decide what differs by a tenth at the scatter of a quiet machine."""
_MODEL_S = "5s"

Named = str | Path | Frames


@dataclass(frozen=True)
class Compared:
    """Which of two sides is better, figure by figure."""

    names: tuple[str, str]
    found: Comparison

    @property
    def sentence(self) -> str:
        """The whole in a sentence."""
        return table.sentence(self.found, self.names)

    @property
    def trust(self) -> str:
        """How many runs are valid, and what makes the others suspect."""
        return table.trust(self.found)

    @property
    def frame(self) -> pd.DataFrame:
        """A row for each figure: `title`, `a`, `b`, `times_as_good` of B, bounds `low`, `high` (95 %), `outcome`."""
        columns = ["title", "a", "b", "times_as_good", "low", "high", "outcome"]
        return pd.DataFrame([entry.document() for entry in table.entries(self.found)], columns=columns)

    def arrow(self) -> Any:
        """The same as an Arrow table (`pyarrow.Table`)."""
        import pyarrow as pa

        return pa.Table.from_pandas(self.frame, preserve_index=False)

    def __repr__(self) -> str:
        """What a console shows."""
        return self.sentence

    def _repr_html_(self) -> str:
        """What a notebook shows: the sentence, the table, what it stands on."""
        head = "".join(f"<th>{escape(text)}</th>" for text in ("", *self.names, "second as good as first", ""))
        rows = "".join(
            "<tr>"
            + "".join(f"<td>{escape(text)}</td>" for text in (one.title, one.a, one.b, one.ratio, one.outcome))
            + "</tr>"
            for one in table.entries(self.found)
        )
        said = f"<p><b>{escape(self.sentence)}</b></p><p>{escape(self.trust)}</p>"
        return f"{said}<table><thead><tr>{head}</tr></thead><tbody>{rows}</tbody></table>"


def compare(
    a: Named, b: Named, *, pairs: int = PAIRS, margin: float = 0.05, seed: int = 1, out: str | Path | None = None
) -> Compared:
    """Says which of two is better: two targets, which are measured in turns now, or two results (folders, `Frames`).

    Differences up to `margin` (a share) count as none. Results of different times are compared as far as their order
    allows, as by `assay compare A B`.

    Raises:
        AssayError: where one is a result and the other a target, the pairs are too few to decide, or nothing matches.
    """
    rules = Rules(margin=margin)
    if _results(a) != _results(b):
        raise CompareError("one of these is a result and the other a target", "name two results, or two targets")
    if _results(a):
        sides = [side.read(name, _folder(one), None) for name, one in zip(paired.SIDES, (a, b), strict=True)]
        return Compared((_folder(a), _folder(b)), judge(sides[0], sides[1], rules))
    first, second = targets([_folder(a), _folder(b)])
    return _measured(_sides(first, second, pairs, seed, rules), rules, out)


def _results(named: Named) -> bool:
    return isinstance(named, Frames) or (Path(named) / "plan.json").is_file()


def _folder(named: Named) -> str:
    return str(named.directory if isinstance(named, Frames) else named)


def _sides(a: Target, b: Target, pairs: int, seed: int, rules: Rules) -> Sides:
    """What a model computes is the same each time: one pair, and a window that is long at no cost."""
    if a.twin and b.twin:
        return Sides(questions.STUDY, ((a,), (b,)), {"measure": _MODEL_S}, pairs=1, seed=seed)
    least = signed_rank.pairs_for(rules.level / len(questions.QUESTIONS))
    if pairs < least:
        raise CompareError(f"{pairs} pairs can decide none of {len(questions.QUESTIONS)} figures", f"pairs={least}")
    return Sides(questions.STUDY, ((a,), (b,)), pairs=pairs, seed=seed)


def _measured(sides: Sides, rules: Rules, out: str | Path | None) -> Compared:
    binary = Binary.find()
    prepared = paired.plan(sides, binary)
    directory = Path(out) if out is not None else study_folder.default(questions.STUDY)
    folder.begin(directory, folder.head_of(sides))
    summary = study_run.start(prepared, directory, binary, watching(json_wanted=False), ("assay.compare",))
    if summary.ending.interrupted:
        hint = f"assay compare --resume {directory}"
        raise AssayError(f"interrupted; finished pairs are in {directory}", hint=hint, code=INTERRUPTED)
    a, b = folder.sides(directory, known := folder.head(directory))
    unfinished = folder.unfinished(a, b) > 0
    return Compared(known.labels, judge(a, b, rules, metrics=questions.metrics, by_lot=True, unfinished=unfinished))
