"""`assay lab`: arguments in, exit code out."""

from __future__ import annotations

import secrets
import shutil
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from assay import home
from assay.cli import output
from assay.error import BAD_JOB, DONE, NOT_POSSIBLE
from assay.results.files import make_folder
from assay.study.folder import default
from assay.units.parse import parse_bytes

from assay_lab import check, doctor, machine
from assay_lab import run as runner
from assay_lab import shell as person
from assay_lab.error import LabError
from assay_lab.lab import Lab
from assay_lab.machine import Wanted

Json = dict[str, Any]


@dataclass(frozen=True)
class Options:
    """Options that `run` and `shell` share."""

    accel: str = "auto"
    memory: str = "2GiB"
    kernel: Path | None = None
    modules: Path | None = None

    def wanted(self) -> Wanted:
        """With the memory in bytes."""
        return Wanted(self.accel, parse_bytes(self.memory), self.kernel, self.modules)


def run(
    suites: Sequence[str], options: Options, out: Path | None, keep: bool, as_json: bool, seed: int | None = None
) -> int:
    """Makes the checks of suites."""
    drawn = secrets.randbelow(1 << 32) if seed is None else seed
    checks = check.choose(suites)
    folder = out or default("lab")
    if (folder / "lab.json").exists() or (folder / "plan.json").exists():
        raise LabError(f"{folder} holds results already", hint="choose another folder with --out", code=BAD_JOB)
    make_folder(folder)
    parts = machine.assemble(options.wanted(), _programs(), output.tell)
    output.tell(
        f"{len(checks)} checks in an emulated machine: {parts.kernel.version}, {parts.accel} ({parts.accel_reason})"
    )
    output.tell(f"random choices are those of --seed {drawn}")
    with Lab(parts, folder, drawn, output.tell) as lab:
        try:
            results, code = runner.run(lab, checks, lambda result: _show(result, as_json))
        finally:
            if keep:
                _keep_console(lab, folder)
    runner.write(folder, parts, results)
    _summary(results, folder, as_json)
    return code


def shell(options: Options) -> int:
    """Gives the terminal to a guest."""
    parts = machine.assemble(options.wanted(), _programs(), output.tell)
    output.tell(f"booting {parts.kernel.version} with {parts.accel} ({parts.accel_reason})")
    with Lab(parts) as lab:
        return person.shell(lab)


def _programs() -> tuple[Path, ...]:
    """Both: checks of power cuts write through the engine."""
    return home.binary(), home.second_program()


def examine(as_json: bool) -> int:
    """Says what is there and what is missing."""
    findings = doctor.examine()
    if as_json:
        output.emit([finding.document() for finding in findings])
    else:
        for finding in findings:
            mark = "ok" if finding.good else ("missing" if finding.needed else "note")
            output.say(f"{mark:8} {finding.topic:9} {output.sentences(finding.seen, finding.fix)}")
    return DONE if all(finding.good or not finding.needed for finding in findings) else NOT_POSSIBLE


def listing(as_json: bool) -> int:
    """Lists the suites with their checks."""
    checks = [one for name in check.names() for one in check.of_suite(name)]
    if as_json:
        fields = ({"suite": one.suite, "name": one.name, "about": one.about, "ci": one.ci} for one in checks)
        output.emit(list(fields))
        return DONE
    width = max((len(one.suite) + len(one.name) + 1 for one in checks), default=0)
    for one in checks:
        output.say(f"{one.suite + '/' + one.name:{width}}  {one.about}" + ("" if one.ci else " (not in `ci`)"))
    return DONE


def _show(result: runner.Result, as_json: bool) -> None:
    line = f"{result.state:8} {result.suite}/{result.name}" + (f": {result.reason}" if result.reason else "")
    (output.tell if as_json else output.say)(line)


def _summary(results: Sequence[runner.Result], folder: Path, as_json: bool) -> None:
    counts = {state: sum(result.state == state for result in results) for state in ("passed", "broken", "skipped")}
    if as_json:
        document: Json = {"directory": str(folder), **counts, "checks": [vars(result) for result in results]}
        output.emit(document)
    else:
        told = ", ".join(f"{count} {state}" for state, count in counts.items())
        output.say(
            f"{told}; {folder / 'lab.json'}. Behaviour was checked; no time in there says anything about a device."
        )


def _keep_console(lab: Lab, folder: Path) -> None:
    source = lab.share / ".lab"
    for name in ("console.log", "qemu.log"):
        if (source / name).is_file():
            shutil.copyfile(source / name, folder / name)
