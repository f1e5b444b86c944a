"""`assay quick` and `assay run`."""

from __future__ import annotations

import sys
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

from assay.binary import Binary
from assay.cli import bracket, output
from assay.cli.measure import confirm
from assay.cli.measure.devices import check_devices
from assay.cli.parts import part
from assay.cli.playing import played
from assay.cli.results.gating import NONE, Papers
from assay.cli.runners import bracketed, users_of
from assay.error import BAD_JOB, DONE, MISSED, AssayError
from assay.packages import PackagesError
from assay.results import cases
from assay.results import folder as result_folder
from assay.study import again, folder, run
from assay.study.consent import Consent
from assay.study.demand import Demand
from assay.study.execute import Observer
from assay.study.model import Study
from assay.study.observer import watching
from assay.study.request import Prepared, Wish, prepare
from assay.study.run import Summary
from assay.study.settings import parse_settings
from assay.target.host import SETTINGS, from_settings
from assay.target.target import parse_all


@dataclass(frozen=True)
class RunFlags:
    """What was typed."""

    study: str | Study
    on: list[str]
    out: Path | None = None
    settings: list[str] = field(default_factory=list)
    profile: str | None = None
    repeats: int | None = None
    seed: int = 1
    dry_run: bool = False
    serials: list[str] = field(default_factory=list)
    host: str = ""
    yes_destroy: bool = False
    report: bool = True
    json: bool = False
    counting: str | None = None
    pins: list[str] = field(default_factory=list)
    cache: str | None = None
    judges: bool = True
    """A missed objective ends the command with a code of its own."""
    turns: bool = False
    """What the answers quote runs again until it has its turns."""
    papers: Papers = NONE
    baseline: Path | None = None
    bound: str = ""
    drift: str = ""
    yes: bool = False


def measure(order: RunFlags) -> int:
    """Plans, runs and reports; returns the exit code."""
    if not order.study:
        raise AssayError("which study?", hint="`assay list` shows them; `assay quick` needs none", code=BAD_JOB)
    if order.baseline and order.json:
        hint = "run without --baseline, then: assay compare NEW --baseline OLD --json"
        raise AssayError("--baseline with --json would print two documents", hint=hint, code=BAD_JOB)
    summary = measured(order)
    if summary is None:
        return DONE
    code = _conclude(summary, order.report, order.json, order.papers)
    return _held(order, summary.directory) or code if order.baseline and code in (DONE, MISSED) else code


def measured(order: RunFlags) -> Summary | None:
    """Plans and runs; none where the plan was to be shown, and is."""
    binary = Binary.find()
    users, both = users_of(order.study, order.on), bracketed(order.study, order.on)
    with played(order.on, order.seed, users, both=both) as drives:
        prepared = prepare(wish(replace(order, on=drives.on)), binary)
        if prepared.left_out:
            output.tell(f"left out, as {', '.join(order.on)} is not what they run on: {', '.join(prepared.left_out)}")
        if order.dry_run:
            show_plan(prepared, order.json)
            return None
        check_devices(prepared)
        if not order.turns:
            confirm.confirm_plan(prepared, order.yes)
        directory = order.out or folder.claimed(prepared.name)
        observer = watching(order.json)
        summary = run.start(prepared, directory, binary, observer, ["assay", *sys.argv[1:]])
        if order.turns:
            summary = _quoted_again(summary, binary, observer)
        summary.judges = order.judges
    drives.tell()
    for name in ("records", "work"):
        drives.mark_files(directory / name)
    for one in bracket.found(result_folder.read(directory).works) if drives.mounts else ():
        output.tell(one.sentence)
    return summary


def _held(order: RunFlags, directory: Path) -> int:
    """The run against the baseline that was named; returns the exit code."""
    from assay.cli.results import comparing

    papers = replace(order.papers, earlier=tuple(cases.of_folder(result_folder.read(directory))))
    asked = comparing.AskedSides(
        drift=order.drift, fail_if_slower=order.bound, page=order.report, out=directory, papers=papers
    )
    return comparing.against(order.baseline or directory, directory, asked)


def _quoted_again(summary: Summary, binary: Binary, observer: Observer) -> Summary:
    """Repeats what the first screen quotes. Which cell leads may change with that: then the new one has turns too."""
    while not summary.ending.interrupted and (added := again.extend(summary.directory, _quoted(summary.directory))):
        observer.note(f"{added} more runs: each cell that an answer quotes has {again.TURNS} turns")
        summary = run.resume(summary.directory, binary, observer, Consent())
    return summary


def _quoted(directory: Path) -> set[str]:
    """Ids of the cells that the answers quote; none where a report cannot be made, which is told later."""
    if not any((directory / "records").glob("*.json")):
        return set()
    try:
        return {row.cell.id for answer in part("report").answers(directory) for row in answer.sources}
    except AssayError:
        return set()


def proceed(directory: Path, more: bool, allowed: Consent, report: bool, as_json: bool) -> int:
    """Continues a run; returns the exit code."""
    if more:
        hint = (
            "give --resume alone (with --serial and --yes-destroy for devices); the plan of that folder says the rest"
        )
        raise AssayError("--resume continues a run as it was planned", hint=hint, code=BAD_JOB)
    summary = run.resume(directory, Binary.find(), watching(as_json), allowed)
    return _conclude(summary, report, as_json)


def wish(order: RunFlags) -> Wish:
    """What an order asks for."""
    settings = parse_settings(order.settings)
    targets = parse_all(order.on, order.serials, order.yes_destroy, from_settings(order.host, settings))
    if any(target.twin for target in targets):
        settings = {key: value for key, value in settings.items() if key not in SETTINGS}
    elif order.host:
        raise AssayError("--host drives twins, and no target is one", hint="name a twin: --on twin:NAME", code=BAD_JOB)
    demand = Demand.of(order.counting, order.pins, order.cache)
    return Wish(order.study, tuple(targets), settings, order.profile, order.repeats, order.seed, demand)


def show_plan(prepared: Prepared, as_json: bool) -> int:
    """Prints a plan; returns the exit code."""
    if as_json:
        document = prepared.plan.document()
        changes = {request.name: request.changes for request in prepared.requests}
        document["scaled"] = {
            name: {key: change.document() for key, change in found.items()} for name, found in changes.items() if found
        }
        output.emit({"study": prepared.name, **document})
        return DONE
    from assay.cli.measure.plan import show

    show(prepared)
    return DONE


def _conclude(summary: Summary, wanted: bool, as_json: bool, papers: Papers = NONE) -> int:
    """Writes the report and says the short answer; a report that fails does not hide what was measured."""
    report, answer = _report(summary) if wanted else (None, [])
    if papers.wanted:
        papers.write("assay run", answer, cases.of_folder(result_folder.read(summary.directory)))
    if as_json:
        output.emit(summary.document() | {"report": report, "answer": answer})
        return summary.exit_code
    from assay.cli.measure.summary import show

    show(summary, report, answer)
    return summary.exit_code


def _report(summary: Summary) -> tuple[str | None, list[str]]:
    if not any(path for name in ("records", "work") for path in (summary.directory / name).glob("*.json")):
        return None, []
    answer: list[str] = []
    try:
        module = part("report")
        answer = _answer(module, summary.directory)
        return str(module.write(summary.directory)), answer
    except PackagesError as error:
        output.tell(f"there is no page: {error.message} ({error.hint})")
    except Exception as error:  # noqa: BLE001  What was measured must not be lost to a defect of the report.
        known = output.as_assay_error(error)
        reason = known.message if known is not None else f"{type(error).__name__}: {error}"
        summary.problems.append(f"the report could not be written: {reason}")
    return None, answer


def _answer(module: Any, directory: Path) -> list[str]:
    """The short answers in words."""
    return [f"{answer.question}\n  {answer.plain}" for answer in module.answers(directory)]
