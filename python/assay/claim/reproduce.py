"""`assay reproduce STUDY`: what was published, what twins of that hardware give, and what this machine gives."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from assay.binary import Binary
from assay.claim import here, judge, twins
from assay.claim.answer import Answers, UnansweredError
from assay.claim.model import Claim, Statement, Study, load
from assay.claim.take import compare, evaluate, names
from assay.claim.unit import base_of
from assay.claim.value import Value

Json = dict[str, Any]


@dataclass(frozen=True)
class Held:
    """Whether a statement holds: of twins and of this machine; None where it could not be tried, `why` then says it."""

    holds: bool | None
    why: str


@dataclass(frozen=True)
class Reproduction:
    """A study reproduced."""

    study: Study
    outcomes: list[judge.Outcome]
    statements: list[Held]
    here: list[Json] | None
    statements_here: list[Held] | None


def reproduce(name: str, place: here.Place | None = None) -> Reproduction:
    """Tries every claim of a study.

    Raises:
        AssayError: where there is no such study, or the measuring program is missing.
    """
    study, binary = load(name), Binary.find()
    wanted = needed(study)
    modelled = twins.answers(study, wanted, binary)
    measured = None
    if place is not None:
        measured = here.answers(study, wanted, twins.memory_machines(study), place, binary)
    return Reproduction(
        study=study,
        outcomes=judge.judge(study.claims, taken(study.claims, modelled)),
        statements=[held(statement, modelled) for statement in study.statements],
        here=None if measured is None else measured_here(study.claims, measured),
        statements_here=None if measured is None else [held(statement, measured) for statement in study.statements],
    )


def needed(study: Study) -> set[str]:
    """Names of the runs that claims and statements take something from."""
    texts = [claim.take for claim in study.claims if claim.take]
    texts += [text for statement in study.statements for text in statement.holds]
    return {name.split(".")[0] for text in texts for name in names(text)}


def taken(claims: Sequence[Claim], answers: Answers) -> list[Value | str]:
    """What the answers give for each claim, in the claim's unit; a sentence where they give nothing."""
    return [_taken(claim, answers) for claim in claims]


def _taken(claim: Claim, answers: Answers) -> Value | str:
    if not claim.take:
        return claim.not_attempted
    try:
        return evaluate(claim.take, answers.leaf).scaled(1 / base_of(claim.unit))
    except UnansweredError as reason:
        return reason.message


def measured_here(claims: Sequence[Claim], answers: Answers) -> list[Json]:
    """What this machine gives for each claim, with provenance and verdict; the reason where it gives nothing."""
    found: list[Json] = []
    for claim, value in zip(claims, taken(claims, answers), strict=True):
        if isinstance(value, str):
            found.append({"value": None, "reason": value})
        else:
            provenance, status = answers.origin(names(claim.take))
            found.append({"value": value.number, "provenance": provenance, "verdict": status})
    return found


def held(statement: Statement, answers: Answers) -> Held:
    """Whether every comparison of a statement holds; the first that does not is named."""
    for text in statement.holds:
        try:
            holds, left, right = compare(text, answers.leaf)
        except UnansweredError as reason:
            return Held(None, reason.message)
        if not holds:
            return Held(False, f"`{text}`: {left.number:.4g} against {right.number:.4g}")
    return Held(True, "")


def document(found: Reproduction) -> Json:
    """The reproduction as JSON."""
    study = found.study
    measured: Sequence[Json | None] = found.here or [None] * len(study.claims)
    rows = [_row(outcome, value) for outcome, value in zip(found.outcomes, measured, strict=True)]
    return {
        "study": study.study,
        "title": study.title,
        "source": study.source,
        "claims": rows,
        "statements": [_statement(found, place) for place in range(len(study.statements))],
        "summary": vars(judge.summary(found.outcomes)),
    }


def _row(outcome: judge.Outcome, measured: Json | None) -> Json:
    claim, modelled = outcome.claim, outcome.modelled
    row: Json = {
        "claim": claim.id,
        "setup": claim.setup,
        "metric": claim.metric,
        "unit": claim.unit,
        "published": claim.published,
        "modelled": None,
        "error": outcome.error,
        "verdict": outcome.verdict,
    }
    if modelled is not None:
        row["modelled"] = {"value": modelled.number, "low": modelled.low, "high": modelled.high}
        row["provenance"] = "modelled"
        row["extrapolated"] = list(modelled.extrapolated)
    extra = {"reason": outcome.reason, "given": claim.given, "note": claim.note}
    row |= {key: text for key, text in extra.items() if text}
    if measured is not None:
        row["here"] = measured
    return row


def _statement(found: Reproduction, place: int) -> Json:
    statement, modelled = found.study.statements[place], found.statements[place]
    row: Json = {"statement": statement.id, "says": statement.says, "holds": statement.holds}
    row["on_twins"] = {"holds": modelled.holds, "why": modelled.why}
    if found.statements_here is not None:
        measured = found.statements_here[place]
        row["here"] = {"holds": measured.holds, "why": measured.why}
    return row
