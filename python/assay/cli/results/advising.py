"""What `assay advise` does."""

from __future__ import annotations

import textwrap
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from assay.advise import Advice, of
from assay.advise.facts import RuleFacts, read
from assay.advise.rules import RULES
from assay.advise.trial import Tried
from assay.cli import output
from assay.cli.measure import damage
from assay.error import BAD_JOB, DONE, FAILED, INTERRUPTED, AssayError, did_you_mean
from assay.study import folder
from assay.study.observer import watching

_SHOWN = ("advised", "depends")
_TRIED = (*_SHOWN, "undecided")


@dataclass(frozen=True)
class AdviceFlags:
    """What was asked for."""

    directory: Path | None
    attempt: bool
    every: bool
    rules: tuple[str, ...]
    on: str
    pairs: int
    seed: int
    json: bool


def show(order: AdviceFlags) -> int:
    """Prints the advice; with `--try`, runs what can be tried and says what it brought."""
    _check(order.rules)
    directory = order.directory or folder.newest()
    facts = read(directory)
    damage.warn(directory, facts.folder.problems)
    advice = [one for one in of(facts) if not order.rules or one.rule in order.rules]
    if not order.json:
        _print(advice, order, directory)
    tried, failed = _attempts(advice, order, facts) if order.attempt else ([], [])
    if order.json:
        output.emit(_document(facts, directory, advice, tried, failed))
    if any(one.interrupted for one in tried):
        return INTERRUPTED
    return FAILED if failed else DONE


def _check(rules: Sequence[str]) -> None:
    known = [rule.id for rule in RULES]
    for name in rules:
        if name not in known:
            raise AssayError(f"there is no rule `{name}`", hint=did_you_mean(name, known), code=BAD_JOB)


def _document(
    facts: RuleFacts,
    directory: Path,
    advice: Sequence[Advice],
    tried: Sequence[Tried],
    failed: Sequence[dict[str, str]],
) -> dict[str, object]:
    return {
        "version": 1,
        "directory": str(directory),
        "problems": list(facts.folder.problems),
        "advice": [one.document() for one in advice],
        "tried": [one.document() for one in tried],
        "not_tried": list(failed),
    }


def _print(advice: Sequence[Advice], order: AdviceFlags, directory: Path) -> None:
    shown = [one for one in advice if order.every or order.rules or one.outcome in _SHOWN]
    if not shown:
        output.say("Nothing is advised: no rule finds evidence in these records.")
    for number, one in enumerate(shown, 1):
        output.say(("" if number == 1 else "\n") + f"{number}. {one.title} [{one.outcome}; {one.rule}]")
        _lines(one)
    rest = [one for one in advice if one not in shown]
    counts = [(name, sum(one.outcome == name for one in rest)) for name in ("undecided", "no gain here", "no evidence")]
    said = ", ".join(
        f"{count} {'' if name == 'undecided' else 'with '}{name.replace(' here', '')}"
        for name, count in counts
        if count
    )
    if said:
        output.say(f"\nOther rules: {said}; --all shows them, and what to run to get evidence.")
    output.say(f"\nRecords: {directory}. Bands are over these records alone; --try measures both sides here.")


def _lines(one: Advice) -> None:
    _say(one.says)
    for entry in one.evidence:
        _say(f"evidence: {entry.text} ({', '.join(entry.records[:4])}{' and more' if len(entry.records) > 4 else ''})")
    if one.gain is not None:
        origin = "" if one.gain.provenance == "measured" else f"; {one.gain.provenance}"
        against = "" if one.gain.status == "valid" else f"; records are {one.gain.status}"
        _say(f"expected: {one.gain.said} [{one.gain.kind}{origin}{against}]")
    _say(f"costs:    {one.costs}")
    _say(f"check:    {one.check}")
    if one.outcome in ("no evidence", "undecided", "depends"):
        _say(f"to see:   {one.wants}")
    _say(f"source:   {one.source}")


def _say(text: str) -> None:
    plain = text.replace("\u00a0", " ")
    wrapper = textwrap.TextWrapper(118, "   ", "     ", break_on_hyphens=False, break_long_words=False)
    output.say(wrapper.fill(plain))


def _attempts(
    advice: Sequence[Advice], order: AdviceFlags, facts: RuleFacts
) -> tuple[list[Tried], list[dict[str, str]]]:
    """Trials of all that is advised, or may be; what cannot be tried is said."""
    from assay.advise import trial

    on = order.on or facts.place
    wanted = [one for one in advice if one.trial is not None and (one.outcome in _TRIED or order.rules)]
    if not wanted:
        output.tell("nothing to try: no rule with evidence has a trial")
    elif not on:
        raise AssayError("the records do not say where they were taken", hint="say it with --on", code=BAD_JOB)
    tried: list[Tried] = []
    failed: list[dict[str, str]] = []
    for one in wanted:
        output.tell(f"trying {one.rule} on {on}: {order.pairs} pairs")
        try:
            observer = watching(order.json)
            tried.append(trial.attempt(one, on, facts.folder.directory, order.pairs, order.seed, observer))
        except AssayError as error:
            failed.append({"rule": one.rule, "reason": error.message, "hint": error.hint})
            output.tell(output.sentences(f"{one.rule} was not tried: {error.message}", error.hint))
            continue
        if not order.json:
            output.say(f"\ntried {one.rule}: {tried[-1].outcome}")
            _say(tried[-1].said)
            _say(f"by hand: {tried[-1].command}")
        if tried[-1].interrupted:
            break
    return tried, failed
