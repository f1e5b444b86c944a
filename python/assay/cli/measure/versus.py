"""`assay quick` of several targets: which of them, in one table."""

from __future__ import annotations

import sys
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from assay.binary import Binary
from assay.cli import output
from assay.cli.results import comparing
from assay.compare import folder, paired, questions, side, table
from assay.compare.comparison import Comparison
from assay.compare.comparison import compare as judge
from assay.compare.error import CompareError
from assay.compare.gate import share
from assay.compare.judgement import Rules
from assay.compare.paired import Sides
from assay.error import DONE, INTERRUPTED
from assay.study import folder as study_folder
from assay.study import run
from assay.study.observer import watching
from assay.study.settings import parse_settings
from assay.target.host import SETTINGS, from_settings
from assay.target.target import Target, parse_all
from assay.untyped import Json

PAIRS = 12
"""Decide what differs by a tenth at the scatter of a quiet machine, in three minutes."""


@dataclass(frozen=True)
class VersusFlags:
    """What was typed."""

    on: tuple[str, ...]
    out: Path | None = None
    settings: tuple[str, ...] = ()
    host: str = ""
    pairs: int = PAIRS
    margin: str = "5%"
    prices: tuple[str, ...] = ()
    seed: int = 1
    dry_run: bool = False
    page: bool = True
    json: bool = False


@dataclass(frozen=True)
class VersusAnswer:
    """One comparison with the first target."""

    names: tuple[str, str]
    found: Comparison
    page: str | None

    @property
    def sentence(self) -> str:
        """The whole in a sentence."""
        return table.sentence(self.found, self.names)

    def document(self) -> Json:
        """As `--json` prints it."""
        rows = [entry.document() for entry in table.entries(self.found)]
        return {"a": self.names[0], "b": self.names[1], "sentence": self.sentence, "trust": table.trust(self.found),
                "table": rows, "left_out": list(self.found.left_out), "page": self.page}  # fmt: skip


def versus(order: VersusFlags) -> int:
    """Asks every target the same as the first one, and shows the answers; returns the exit code."""
    rules = Rules(margin=share(order.margin, "--margin"))
    prices = _prices(order)
    if _earlier(order.on):
        return _tell([_of_folders(order.on[0], other, rules, order) for other in order.on[1:]], prices, order)
    targets = _targets(order)
    answers, code = [], DONE
    for place, other in enumerate(targets[1:], start=1):
        sides = _sides(targets[0], other, order)
        made = _run(sides, _folder(order, place), order)
        if made is None:
            continue
        directory, code = made[0], made[1] or code
        if made[1] == INTERRUPTED:
            output.tell(f"interrupted; continue: assay compare --resume {directory}")
            return INTERRUPTED
        answers.append(_judged(directory, rules, order))
    return code if order.dry_run else _tell(answers, prices, order) or code


def _earlier(texts: Sequence[str]) -> bool:
    """Whether all that is named are result folders; a mix of folders and drives is refused."""
    kinds = {(Path(text) / "plan.json").is_file() for text in texts}
    if len(kinds) > 1:
        raise CompareError("some of these are results and some are targets", "name results only, or targets only")
    return kinds == {True}


def _targets(order: VersusFlags) -> list[Target]:
    settings = parse_settings(order.settings)
    targets = parse_all(order.on, (), False, from_settings(order.host, settings))
    if order.host and not any(target.twin for target in targets):
        raise CompareError("--host drives twins, and no target is one", "name a twin: twin:NAME")
    return targets


def _sides(a: Target, b: Target, order: VersusFlags) -> Sides:
    settings = {key: value for key, value in parse_settings(order.settings).items() if key not in SETTINGS}
    pairs = order.pairs
    if a.twin and b.twin:
        # What a model computes is the same each time, and a longer window costs next to nothing.
        pairs, settings = 1, {"measure": "5s"} | settings
    else:
        comparing.refuse_few(pairs, len(questions.QUESTIONS), Rules())
    return Sides(questions.STUDY, ((a,), (b,)), settings, pairs=pairs, seed=order.seed)


def _folder(order: VersusFlags, place: int) -> Path:
    letter = "ABCDEFGHIJKLMNOPQRSTUVWXYZ"[place]
    if order.out is None:
        return study_folder.default(f"{questions.STUDY}-{letter.lower()}")
    return order.out if len(order.on) == 2 else order.out / letter.lower()


def _run(sides: Sides, directory: Path, order: VersusFlags) -> tuple[Path, int] | None:
    """Runs the pairs; nothing with `--dry-run`, which shows the plan."""
    binary = Binary.find()
    prepared = paired.plan(sides, binary)
    if order.dry_run:
        comparing.show_plan(prepared, order.json)
        return None
    folder.begin(directory, folder.head_of(sides))
    comparing.show_sides(sides, directory)
    summary = run.start(prepared, directory, binary, watching(order.json), ["assay", *sys.argv[1:]])
    for entry in summary.not_measured:
        output.tell(output.sentences(f"not measured: {entry['study']}: {entry['reason']}", entry["fix"]))
    return directory, summary.exit_code


def _judged(directory: Path, rules: Rules, order: VersusFlags) -> VersusAnswer:
    known = folder.head(directory)
    a, b = folder.sides(directory, known)
    found = judge(a, b, rules, metrics=questions.metrics, by_lot=True, unfinished=folder.unfinished(a, b) > 0)
    return VersusAnswer(known.labels, found, _page(found, directory, order))


def _of_folders(a: str, b: str, rules: Rules, order: VersusFlags) -> VersusAnswer:
    """Of two earlier results. They ran at different times, so that drift cannot be told from a difference."""
    if folder.is_paired(Path(a)) or folder.is_paired(Path(b)):
        raise CompareError("a folder of pairs holds both sides already", f"assay compare {a}")
    sides = [side.read(name, text, None) for name, text in zip(paired.SIDES, (a, b), strict=True)]
    found = judge(sides[0], sides[1], rules)
    return VersusAnswer((a, b), found, _page(found, order.out or Path(), order))


def _page(found: Comparison, directory: Path, order: VersusFlags) -> str | None:
    return comparing.write_page(found, directory) if order.page else None


def _prices(order: VersusFlags) -> dict[str, float]:
    """`A=120USD/TB` or `A=120`: US dollars for a terabyte, by letter or by target."""
    found = {}
    for text in order.prices:
        name, _, value = text.rpartition("=")
        number = value.upper().removesuffix("/TB").removesuffix("USD")
        try:
            found[name] = float(number)
        except ValueError:
            raise CompareError(
                f"`--price {text}` is no price", "write --price A=120USD/TB --price B=80USD/TB"
            ) from None
        if not 0 < found[name] < float("inf"):
            raise CompareError(f"`--price {text}` is no price above zero", "write --price A=120USD/TB")
    letters = dict(zip("ABCDEFGHIJKLMNOPQRSTUVWXYZ", order.on, strict=False))
    named = {letters.get(name, name): price for name, price in found.items()}
    if unknown := set(named) - set(order.on):
        raise CompareError(
            f"`--price` names `{min(unknown)}`, and no target is called so", "name a target, or A, B, ..."
        )
    if named and len(named) < len(order.on):
        missing = next(name for name in order.on if name not in named)
        raise CompareError(f"`{missing}` has no price", "give --price for every target, or for none")
    return named


def _tell(answers: Sequence[VersusAnswer], prices: dict[str, float], order: VersusFlags) -> int:
    if order.json:
        output.emit({"version": 1, "answers": [answer.document() | _worth(answer, prices) for answer in answers]})
        return DONE
    with output.to_reader():
        for answer in answers:
            _show(answer, prices)
    return DONE


def _worth(answer: VersusAnswer, prices: dict[str, float]) -> Json:
    """What a dollar buys: how many times as well, times what A costs over what B costs."""
    if not prices:
        return {}
    a, b = (prices[name] for name in answer.names)
    rows = {entry.title: entry.times * a / b for entry in table.entries(answer.found) if entry.times is not None}
    return {"usd_per_tb": {"a": a, "b": b}, "times_as_good_per_dollar": rows}


def _show(answer: VersusAnswer, prices: dict[str, float]) -> None:
    a, b = answer.names
    output.say("")
    output.say(answer.sentence)
    output.say(f"A: {a}. B: {b}. {table.trust(answer.found)}")
    output.say("")
    comparing.show_table(answer.found)
    if worth := _worth(answer, prices):
        output.say("")
        said = [f"{title} {table.significant(value)}x" for title, value in worth["times_as_good_per_dollar"].items()]
        output.say(f"A dollar for capacity buys with B, of what it buys with A: {', '.join(said)}.")
    for text in (*answer.found.left_out, *answer.found.problems):
        output.say(f"note: {text}")
    if answer.page:
        output.say(f"page: {answer.page}")
