"""A comparison as a table: one row a figure, with both sides, their ratio and what may be said of it."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from assay.compare import bands, onedisk, questions, words
from assay.compare.comparison import Comparison
from assay.compare.line import Line
from assay.compare.side import run_id
from assay.results import row
from assay.stats import need
from assay.units import show
from assay.untyped import Json

# So many figures are named in the sentence; more are counted.
_LISTED = 4

ONE_DISK = "differs by place or age of the data: one disk"
"""In place of a side that is better, where both sides lie on the same disk."""


@dataclass(frozen=True)
class Entry:
    """A row. `times` is how many times as well B does, above one where B is better; `bounds` are those of `times`."""

    title: str
    a: str
    b: str
    times: float | None
    bounds: tuple[float, float] | None
    outcome: str
    line: Line

    @property
    def ratio(self) -> str:
        """`2.1x (1.9 to 2.3)`, empty where there is none."""
        if self.times is None or self.outcome == ONE_DISK:
            return ""
        inside = f" ({significant(self.bounds[0])} to {significant(self.bounds[1])})" if self.bounds else ""
        return f"{significant(self.times)}x{inside}"

    def document(self) -> Json:
        """As `--json` prints it."""
        low, high = self.bounds or (None, None)
        return {"title": self.title, "a": self.a, "b": self.b, "times_as_good": self.times, "low": low, "high": high,
                "outcome": self.outcome}  # fmt: skip


def significant(value: float) -> str:
    """A ratio: two digits, three where it is near one."""
    return show.significant(value, 3 if 0.8 < value < 10 else 2)


def entries(comparison: Comparison) -> list[Entry]:
    """The rows, in the order of the questions; those of another study in the order of its cells."""
    found = [_entry(line, comparison) for line in comparison.lines]
    order = {(one.ask, one.metric): place for place, one in enumerate(questions.QUESTIONS)}
    asked = {id(entry): questions.of(entry.line) for entry in found}
    place = {key: order[one.ask, one.metric] if one else len(order) for key, one in asked.items()}
    return sorted(found, key=lambda entry: place[id(entry)])


def _entry(line: Line, comparison: Comparison) -> Entry:
    question = questions.of(line)
    a, b = (show.figure(value, row.unit(line.metric)) if value is not None else "" for value in line.medians())
    title = question.title if question else line.name
    return Entry(title, a, b, _times(line), _bounds(line), _outcome(line, comparison), line)


def _times(line: Line) -> float | None:
    ratio = line.ratio
    return None if ratio is None else 1 / ratio if line.cost else ratio


def _bounds(line: Line) -> tuple[float, float] | None:
    """95 % interval from pairs; of figures that a model computed what their bands leave open."""
    found = line.bounds if line.evidence is not None else bands.of(line)
    if found is None:
        return None
    return (1 / found[1], 1 / found[0]) if line.cost else found


def _outcome(line: Line, comparison: Comparison) -> str:
    """`B better`, `A better`, `equivalent`, or why it is undecided; of what a model computed with that word."""
    kinds = " and ".join(dict.fromkeys(line.provenance))
    said = f" ({kinds})" if line.mixed else ""
    if line.outcome == "different":
        return ONE_DISK if onedisk.of(comparison) else f"{line.better} better{said}"
    if line.outcome == "equivalent":
        return f"equivalent{said}"
    if line.reason in (bands.OVERLAP, "provenance"):
        return f"undecided ({kinds}{', bands overlap' if line.reason == bands.OVERLAP else ''})"
    if line.reason in {"scatter", "few-pairs"} and line.evidence is not None:
        needed = line.evidence.needed
        count = f"more than {need.MOST}" if needed >= need.MOST else f"about {needed}"
        return f"undecided ({count} fresh pairs would decide)"
    why = {"unfinished": "pairs are still to come", "no-pairs": "no pair is left", "few-pairs": "too few pairs"}
    return f"undecided ({why.get(line.reason, 'not run side by side')})"


def sentence(comparison: Comparison, names: tuple[str, str]) -> str:
    """The whole in one sentence: what each side does better, what is equivalent, what is undecided."""
    found = entries(comparison)
    if disk := onedisk.of(comparison):
        return f"Both lie on one disk ({disk}), so that neither is the faster one{_places(found)}."
    parts = [text for side, name in zip("AB", names, strict=True) if (text := _better(found, side, name))]
    parts += [text for word in ("equivalent", "undecided") if (text := _rest(found, word))]
    text = "; ".join(parts) or "nothing could be compared"
    return f"{text if text.startswith(names) else text[:1].upper() + text[1:]}."


def _places(found: Sequence[Entry]) -> str:
    """What differs all the same."""
    differing = [_noun(entry) for entry in found if entry.outcome == ONE_DISK]
    return f"; their places on it differ in {listed(differing)}" if differing else ""


def _better(found: Sequence[Entry], side: str, name: str) -> str:
    better = [entry for entry in found if entry.outcome.startswith(f"{side} better")]
    if len(better) > _LISTED and not any(questions.of(entry.line) for entry in better):
        return f"{name} {_counted(better, len(found))}"
    return f"{name} {listed([_does(entry) for entry in better])}" if better else ""


def _counted(better: Sequence[Entry], total: int) -> str:
    """What a side does better in more comparisons than a sentence can name."""
    times = sorted(max(entry.times or 1.0, 1 / (entry.times or 1.0)) for entry in better)
    models = [entry for entry in better if "modelled" in entry.outcome]
    said = "" if not models else " (modelled)" if len(models) == len(better) else f" ({len(models)} of them modelled)"
    span = f"{significant(times[0])}x to {significant(times[-1])}x"
    return f"is {span} as good in {len(better)} of {total} comparisons{said}"


def _does(entry: Entry) -> str:
    times = entry.times or 1.0
    text = f"{significant(max(times, 1 / times))}x"
    question = questions.of(entry.line)
    model = " (modelled)" if "modelled" in entry.outcome else ""
    return (question.does.format(text) if question else f"is {text} as good in {entry.title}") + model


def _rest(found: Sequence[Entry], word: str) -> str:
    nouns = [_noun(entry) for entry in found if entry.outcome.startswith(word)]
    if len(nouns) > _LISTED:
        return f"{word}: {len(nouns)} of {len(found)} comparisons"
    return f"{word}: {listed(nouns)}" if nouns else ""


def _noun(entry: Entry) -> str:
    question = questions.of(entry.line)
    return question.noun if question else entry.title


def listed(texts: Sequence[str]) -> str:
    """`a`, `a and b`, `a, b and c`."""
    return f"{', '.join(texts[:-1])} and {texts[-1]}" if len(texts) > 1 else "".join(texts)


def suspicions(comparison: Comparison) -> Mapping[str, int]:
    """Codes of what makes runs suspect, with the number of comparisons that stand on such runs."""
    found: dict[str, int] = {}
    for line in comparison.lines:
        for code in line.suspect:
            found[code] = found.get(code, 0) + 1
    return found


def trust(comparison: Comparison) -> str:
    """How many runs are valid, suspect and left out, and of what."""
    runs = {run_id(one): one for line in comparison.lines for pair in line.pairs for one in (pair.a, pair.b)}
    suspect = sum(1 for one in runs.values() if one.status == "suspect")
    dropped = max((len(line.dropped) for line in comparison.lines), default=0)
    codes = ", ".join(sorted(suspicions(comparison)))
    text = f"{len(runs) - suspect} of {len(runs)} runs are valid, {suspect} suspect"
    text += f" ({codes})" if codes else ""
    return (
        text
        + (f"; pairs left out: {dropped}" if dropped else "")
        + f". Margin: {words.percent(comparison.rules.margin)}."
    )
