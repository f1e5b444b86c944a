"""`assay reproduce STUDY`: what was published, what twins of that hardware give, and what this machine gives."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from assay.binary import Binary
from assay.claim import behind, here, judge, priced, recorded, twins
from assay.claim.answer import Answers, UnansweredError
from assay.claim.model import Claim, ClaimStudy, Statement, load
from assay.claim.take import compare, evaluate, names
from assay.claim.unit import base_of
from assay.claim.value import ClaimValue
from assay.claim.worked import Worked
from assay.executor.dispatch import Dispatcher
from assay.executor.work import WorkExecutor
from assay.results.folder import Folder
from assay.untyped import Json


@dataclass(frozen=True)
class HeldClaim:
    """Whether a statement holds: of twins and of this machine; None where it could not be tried, `why` then says it.

    `records` names what it was seen in.
    """

    holds: bool | None
    why: str
    records: tuple[str, ...] = ()


@dataclass(frozen=True)
class Reproduction:
    """A study reproduced."""

    study: ClaimStudy
    outcomes: list[judge.JudgedClaim]
    statements: list[HeldClaim]
    here: list[Json] | None
    statements_here: list[HeldClaim] | None
    modelled: Answers
    measured: Answers | None = None


def reproduce(
    name: str,
    place: here.MeasuredWhere | None = None,
    folder: Folder | None = None,
    executor: WorkExecutor | None = None,
) -> Reproduction:
    """Tries every claim of a study: on twins, in a place that is measured now, and against the records of a folder.

    Twins are asked by `executor`, else by this process.

    Raises:
        AssayError: where there is no such study, or the measuring program is missing.
    """
    study, binary = load(name), Binary.find()
    wanted = needed(study)
    modelled = twins.answers(study, wanted, Dispatcher(executor))
    outcomes = judge.judge(study.claims, computed(study.claims, modelled))
    statements = [held(statement, modelled) for statement in study.statements]
    seen = _seen(study, wanted, place, folder, binary)
    if seen is None:
        return Reproduction(study, outcomes, statements, None, None, modelled)
    worked = Worked(study, folder.works if folder else ())
    return Reproduction(
        study=study,
        outcomes=outcomes,
        statements=statements,
        here=measured_here(study.claims, seen, worked),
        statements_here=[held_here(statement, seen, worked) for statement in study.statements],
        modelled=modelled,
        measured=seen if place is not None else None,
    )


def _seen(
    study: ClaimStudy, wanted: set[str], place: here.MeasuredWhere | None, folder: Folder | None, binary: Binary
) -> Answers | None:
    """What this machine gives; what is measured now goes before what records hold."""
    memory = twins.memory_machines(study) if place or folder else {}
    if place is not None:
        return here.answers(study, wanted, memory, place, binary)
    return recorded.answers(study, wanted, memory, folder) if folder is not None else None


def needed(study: ClaimStudy) -> set[str]:
    """Names of the runs that claims and statements take something from."""
    texts = [claim.take for claim in study.claims if claim.take]
    texts += [text for statement in study.statements for text in statement.holds]
    return {name.split(".")[0] for text in texts for name in names(text)}


def taken(claims: Sequence[Claim], answers: Answers) -> list[ClaimValue | str]:
    """What the answers give for each claim, in the claim's unit; a sentence where they give nothing."""
    return [_taken(claim, answers) for claim in claims]


def computed(claims: Sequence[Claim], answers: Answers) -> list[ClaimValue | str]:
    """The same, with what the price book gives for claims about prices."""
    return [priced.value(claim) if claim.price else _taken(claim, answers) for claim in claims]


def _taken(claim: Claim, answers: Answers) -> ClaimValue | str:
    if not claim.take:
        return claim.not_attempted or "a price: nothing to measure"
    if confused := answers.confused(names(claim.take)):
        return confused
    try:
        return evaluate(claim.take, answers.leaf).scaled(1 / base_of(claim.unit))
    except UnansweredError as reason:
        return reason.message


def measured_here(claims: Sequence[Claim], answers: Answers, worked: Worked) -> list[Json]:
    """What this machine gives for each claim, with provenance and verdict; the reason where it gives nothing."""
    found: list[Json] = []
    for claim, value in zip(claims, taken(claims, answers), strict=True):
        if claim.work:
            found.append(worked.claim(claim))
        elif isinstance(value, str):
            found.append({"value": None, "reason": value})
        else:
            provenance, status = answers.origin(names(claim.take))
            points = answers.points(names(claim.take))
            records = dict.fromkeys(record for point in points for record in point.records)
            differs = dict.fromkeys(text for point in points for text in point.differs)
            found.append(
                {"value": value.number, "provenance": provenance, "verdict": status, "records": list(records)}
                | {"differs": list(differs)}
            )
    return found


def held_here(statement: Statement, answers: Answers, worked: Worked) -> HeldClaim:
    """Whether a statement holds on this machine: by runs, by work records, or by both."""
    parts = [held(statement, answers)] if statement.holds else []
    parts += [HeldClaim(*worked.statement(statement))] if statement.work else []
    tried = [part for part in parts if part.holds is not None]
    if not tried:
        return parts[0]
    records = tuple(dict.fromkeys(record for part in tried for record in part.records))
    return HeldClaim(all(part.holds for part in tried), "; ".join(part.why for part in tried if part.why), records)


def held(statement: Statement, answers: Answers) -> HeldClaim:
    """Whether every comparison of a statement holds; the first that does not is named."""
    if not statement.holds:
        return HeldClaim(None, statement.not_attempted)
    records: dict[str, None] = {}
    for text in statement.holds:
        if confused := answers.confused(names(text)):
            return HeldClaim(None, confused)
        try:
            holds, left, right = compare(text, answers.leaf)
        except UnansweredError as reason:
            return HeldClaim(None, reason.message)
        records |= dict.fromkeys(record for point in answers.points(names(text)) for record in point.records)
        if not holds:
            return HeldClaim(False, f"`{text}`: {left.number:.4g} against {right.number:.4g}", tuple(records))
    return HeldClaim(True, "", tuple(records))


def document(found: Reproduction) -> Json:
    """The reproduction as JSON."""
    study = found.study
    measured: Sequence[Json | None] = found.here or [None] * len(study.claims)
    rows = [_row(outcome, value) for outcome, value in zip(found.outcomes, measured, strict=True)]
    runs = list(behind.runs(study, found.modelled, "twin"))
    runs += behind.runs(study, found.measured, "here") if found.measured else []
    return {
        "study": study.study,
        "title": study.title,
        "source": study.source,
        "claims": rows,
        "statements": [_statement(found, place) for place in range(len(study.statements))],
        "summary": vars(judge.summary(found.outcomes)),
        "runs": runs,
        "time": list(_times(found.modelled)),
        "series": list(_series(found.modelled)),
    }


def _times(answers: Answers) -> Iterator[Json]:
    """Where the time of an operation goes on twins: one entry for each stream of each run, the first of a sweep."""
    for run, points in answers.runs.items():
        for name, stream in points[0].streams.items():
            if stream.time_ns:
                yield {"run": run, "stream": name, "swept": len(points) > 1, **dict(stream.time_ns)}


def _series(answers: Answers) -> Iterator[Json]:
    """Simulated series: where write caches fill and garbage collection begins."""
    for run, points in answers.runs.items():
        for name, stream in points[0].streams.items():
            if stream.series:
                at, rates = zip(*stream.series, strict=True)
                yield {"run": run, "stream": name, "at_s": list(at), "bytes_per_s": [round(rate) for rate in rates]}


def _row(outcome: judge.JudgedClaim, measured: Json | None) -> Json:
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
        row["provenance"] = "modelled" if claim.take else "computed from dated prices"
        row["extrapolated"] = list(modelled.extrapolated)
        row["runs"] = behind.used([claim.take]) if claim.take else []
        row["counts_as"] = claim.counts_as if claim.take else "price"
    extra = {"reason": outcome.reason, "given": claim.given, "note": claim.note}
    extra |= {"calibrated": claim.calibrated, "repeats": claim.repeats, "unlike": claim.unlike}
    row |= {key: text for key, text in extra.items() if text}
    if measured is not None:
        row["here"] = measured
    return row


def _statement(found: Reproduction, place: int) -> Json:
    statement, modelled = found.study.statements[place], found.statements[place]
    row: Json = {"statement": statement.id, "says": statement.says, "holds": statement.holds}
    row["on_twins"] = {"holds": modelled.holds, "why": modelled.why}
    row["runs"] = behind.used(statement.holds)
    if found.statements_here is not None:
        measured = found.statements_here[place]
        row["here"] = {"holds": measured.holds, "why": measured.why, "records": list(measured.records)}
    return row
