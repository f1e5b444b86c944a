"""`assay passport`: measures, draws up, signs, writes."""

from __future__ import annotations

import re
import sys
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

from assay.binary import Binary
from assay.cli import output
from assay.cli.measure.devices import check_devices
from assay.cli.measure.order import RunFlags as Run
from assay.cli.measure.order import show_plan, wish
from assay.error import BAD_JOB, DONE, INTERRUPTED, AssayError
from assay.passport import badge, make, read, seal
from assay.passport.document import SUFFIX, Passport
from assay.results import folder as results
from assay.results import labels
from assay.study import folder, run
from assay.study.observer import watching
from assay.study.request import Prepared, prepare
from assay.target.target import Target
from assay.units.parse import format_bytes, format_seconds

STUDY = "passport"
# What `--quick` shortens.
_QUICK = ("measure=250ms", "sustained=2s", "first=64MiB", "data=256MiB", "repeats=3")


@dataclass(frozen=True)
class PassportFlags:
    """What was typed."""

    on: str = "."
    out: Path | None = None
    quick: bool = False
    by: str = ""
    volume: str = ""
    key: Path | None = None
    source: Path | None = None
    results: Path | None = None
    settings: tuple[str, ...] = ()
    host: str = ""
    seed: int = 1
    dry_run: bool = False
    json: bool = False


def make_passport(order: PassportFlags) -> int:
    """Measures unless a folder was given, and writes passport and badge; returns the exit code."""
    _check_out(order.out)
    if order.source is not None:
        return _conclude(order, order.source)
    binary = Binary.find()
    prepared = prepare(wish(_run(order)), binary)
    _one_folder(prepared)
    if order.dry_run:
        return show_plan(prepared, order.json)
    check_devices(prepared)
    # What cannot be signed is said before minutes are spent.
    seal.own_key(order.key)
    directory = order.results or folder.default(STUDY)
    plan = prepared.plan
    told = f"{len(plan.cells)} runs in about {format_seconds(plan.seconds)}, at most {format_bytes(plan.bytes_written)}"
    output.tell(f"{told} are written; results in {directory}")
    summary = run.start(prepared, directory, binary, watching(order.json), ["assay", *sys.argv[1:]])
    if summary.exit_code == INTERRUPTED:
        hint = f"go on: assay run --resume {directory}, then: assay passport --from {directory}"
        raise AssayError("interrupted before everything was measured", hint=hint, code=INTERRUPTED)
    for missing in summary.not_measured:
        output.tell(output.sentences(f"not measured: {missing['study']}: {missing['reason']}", missing["fix"]))
    return _conclude(order, directory) or summary.exit_code


def _run(order: PassportFlags) -> Run:
    """What was typed last wins over what `--quick` says."""
    typed = {text.partition("=")[0] for text in order.settings}
    quick = [text for text in _QUICK if order.quick and text.partition("=")[0] not in typed]
    return Run(study=STUDY, on=[order.on], settings=[*quick, *order.settings], seed=order.seed, host=order.host)


def _one_folder(prepared: Prepared) -> None:
    targets: set[Target] = {target for request in prepared.requests for target in request.targets}
    for target in targets:
        if target.kind not in ("folder", "twin"):
            hint = "name a folder on it: commits and first writes need files"
            raise AssayError(f"`{target.label}` is a {target.kind}", hint=hint, code=BAD_JOB)


def _check_out(out: Path | None) -> None:
    """Found out before minutes are spent."""
    if out is not None and out.suffix != SUFFIX:
        raise AssayError(f"{out} is no name of a passport", hint=f"end it with {SUFFIX}", code=BAD_JOB)
    if out is not None and not out.absolute().parent.is_dir():
        hint = "make it first, or choose another --out"
        raise AssayError(f"{out.absolute().parent} does not exist", hint=hint, code=BAD_JOB)


def _conclude(order: PassportFlags, directory: Path) -> int:
    found = make.passport(results.read(directory), by=order.by, volume=order.volume)
    path = order.out or Path(f"{_name(found)}{SUFFIX}")
    document = seal.signed(found.model_dump(mode="json"), seal.own_key(order.key))
    read.write(path, document)
    picture = path.with_suffix(".svg")
    badge.write(found, document["key"], picture)
    files = {"passport": str(path), "badge": str(picture), "results": str(directory)}
    print_key = seal.fingerprint(document["key"])
    if order.json:
        told = found.model_dump(mode="json", exclude={"runs", "environment"})
        output.emit({"files": files, "key": document["key"], "fingerprint": print_key, "passport": told})
        return DONE
    show(found)
    output.say(f"{path} is signed by key {print_key}; {picture} is its badge")
    return DONE


def _name(found: Passport) -> str:
    words = re.sub(r"[^A-Za-z0-9.]+", "-", found.device.model).strip("-.").lower()
    return words[:60] or "volume"


def show(found: Passport) -> None:
    """The passport in lines. A stranger may have written it: nothing in it steers a terminal."""
    for line in _lines(found):
        output.say(labels.clean(line))


def _lines(found: Passport) -> Iterator[str]:
    device, state, verdicts = found.device, found.state, found.verdicts
    firmware = f", firmware {device.firmware}" if device.firmware else ""
    yield f"{device.model}{firmware}; {found.volume.type}"
    width = max(len(one.title) for one in found.figures)
    for one in found.figures:
        mark = "" if one.verdict == "valid" else f"  {one.verdict}"
        yield f"  {one.title:{width}}  {badge.value(one)}{mark}"
    for name, answer in (("initialised", state.initialised), ("cached", state.cached), ("collected", state.collected)):
        yield f"{name}: {answer.answer}. {answer.why}"
    for limit in found.limits:
        yield f"limit{' met' if limit.met else ''}: {limit.what}"
    for finding in verdicts.findings:
        yield f"{finding.severity}: {finding.code} in {finding.runs} runs: {finding.evidence}"
    counts = f"{verdicts.valid} valid, {verdicts.suspect} suspect, {verdicts.invalid} invalid"
    yield f"runs: {counts}; figures are {' and '.join(badge.provenances(found))}"
