"""`assay quick` and `assay run`."""

from __future__ import annotations

import sys
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from assay.binary import Binary
from assay.cli import output
from assay.cli.parts import part
from assay.error import BAD_JOB, DONE, AssayError
from assay.study import folder, progress, run
from assay.study.request import Prepared, Wish, prepare
from assay.study.run import Summary
from assay.study.settings import parse_settings
from assay.study.target import DEVICES, Target, parse_all
from assay.twin.host import SETTINGS, from_settings


@dataclass(frozen=True)
class Order:
    """What was typed."""

    study: str
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


def measure(order: Order) -> int:
    """Plans, runs and reports; returns the exit code."""
    if not order.study:
        raise AssayError("which study?", hint="`assay list` shows them; `assay quick` needs none", code=BAD_JOB)
    binary = Binary.find()
    prepared = prepare(wish(order), binary)
    if order.dry_run:
        return show_plan(prepared, order.json)
    check_devices(prepared)
    directory = order.out or folder.default(prepared.name)
    observer = progress.observer(order.json)
    summary = run.start(prepared, directory, binary, observer, ["assay", *sys.argv[1:]])
    return _conclude(summary, order.report, order.json)


def proceed(directory: Path, more: bool, report: bool, as_json: bool) -> int:
    """Continues a run; returns the exit code."""
    if more:
        hint = "give --resume alone; the plan of that folder says the rest"
        raise AssayError("--resume continues a run as it was planned", hint=hint, code=BAD_JOB)
    summary = run.resume(directory, Binary.find(), progress.observer(as_json))
    return _conclude(summary, report, as_json)


def wish(order: Order) -> Wish:
    """What an order asks for."""
    settings = parse_settings(order.settings)
    targets = parse_all(order.on, order.serials, order.yes_destroy, from_settings(order.host, settings))
    if any(target.twin for target in targets):
        settings = {key: value for key, value in settings.items() if key not in SETTINGS}
    elif order.host:
        raise AssayError("--host drives twins, and no target is one", hint="name a twin: --on twin:NAME", code=BAD_JOB)
    return Wish(order.study, tuple(targets), settings, order.profile, order.repeats, order.seed)


def check_devices(prepared: Prepared) -> None:
    """A device is written to only when its serial number and the permission to destroy were typed."""
    targets = {target for request in prepared.requests for target in request.targets if target.kind in DEVICES}
    for target in sorted(targets, key=lambda found: found.label):
        if not target.yes_destroy or (target.kind == "block-device" and len(target.serials) < len(target.members)):
            raise _destroys(target)


def _destroys(target: Target) -> AssayError:
    serial = " --serial SERIAL" * len(target.members) if target.kind == "block-device" else ""
    hint = f"if that is meant: --on {target.label}{serial} --yes-destroy (lsblk -o NAME,SERIAL shows serial numbers)"
    return AssayError(f"measuring {target.label} destroys what is on it", hint=hint, code=BAD_JOB)


def show_plan(prepared: Prepared, as_json: bool) -> int:
    """Prints a plan; returns the exit code."""
    if as_json:
        document = prepared.plan.document()
        changes = {request.name: request.chosen.changes for request in prepared.requests}
        document["scaled"] = {
            name: {key: change.document() for key, change in found.items()} for name, found in changes.items() if found
        }
        output.emit({"study": prepared.name, **document})
        return DONE
    from assay.cli.planview import show

    show(prepared)
    return DONE


def _conclude(summary: Summary, wanted: bool, as_json: bool) -> int:
    """Writes the report and says the short answer; a report that fails does not hide what was measured."""
    report, answer = _report(summary) if wanted else (None, [])
    if as_json:
        output.emit(summary.document() | {"report": report, "answer": answer})
        return summary.exit_code
    from assay.cli.summary import show

    show(summary, report, answer)
    return summary.exit_code


def _report(summary: Summary) -> tuple[str | None, list[str]]:
    if not any((summary.directory / "records").glob("*.json")):
        return None, []
    try:
        module = part("report")
        path = module.write(summary.directory)
        return str(path), _answer(module, summary.directory)
    except Exception as error:  # noqa: BLE001  What was measured must not be lost to a defect of the report.
        known = output.as_assay_error(error)
        reason = known.message if known is not None else f"{type(error).__name__}: {error}"
        summary.problems.append(f"the report could not be written: {reason}")
        return None, []


def _answer(module: Any, directory: Path) -> list[str]:
    """The short answers in words."""
    return [f"{answer.question}\n  {answer.plain}" for answer in module.answers(directory)]
