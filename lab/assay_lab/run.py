"""`assay lab run`: checks, one after the other, and what became of each."""

from __future__ import annotations

import time
import traceback
from collections.abc import Callable, Sequence
from dataclasses import asdict, dataclass
from pathlib import Path

from assay.error import DONE, FAILED, INTERRUPTED, NOT_POSSIBLE
from assay.results.files import write_json

from assay_lab.check import Broken, Check, Skip
from assay_lab.error import LabError
from assay_lab.lab import Lab
from assay_lab.machine import Parts

PASSED, BROKEN, SKIPPED = "passed", "broken", "skipped"


@dataclass(frozen=True)
class Result:
    """What became of a check."""

    suite: str
    name: str
    state: str
    reason: str
    seconds: float
    """How long the check took. Says nothing about any device."""


def run(lab: Lab, checks: Sequence[Check], show: Callable[[Result], None]) -> tuple[list[Result], int]:
    """Makes the checks. Results, and the exit code."""
    results: list[Result] = []
    suite = ""
    try:
        for check in checks:
            if suite not in ("", check.suite):
                lab.release()
            suite = check.suite
            results.append(one(lab, check))
            show(results[-1])
    except KeyboardInterrupt:
        return results, INTERRUPTED
    return results, FAILED if any(result.state == BROKEN for result in results) else DONE


def one(lab: Lab, check: Check) -> Result:
    """Makes one check."""
    begin = time.monotonic()
    lab.begin(f"{check.suite}-{check.name}")
    state, reason = _verdict(lab, check)
    return Result(check.suite, check.name, state, reason, round(time.monotonic() - begin, 1))


def _verdict(lab: Lab, check: Check) -> tuple[str, str]:
    lacking = [why for need in check.needs if (why := _lacking(lab.parts, need))]
    if lacking:
        return SKIPPED, "; ".join(lacking)
    try:
        check.body(lab)
    except Skip as skip:
        return SKIPPED, str(skip)
    except Broken as broken:
        return BROKEN, str(broken)
    except LabError as error:
        if not lab.booted and error.code == NOT_POSSIBLE:
            raise
        # The next check begins with a fresh guest: nobody knows what state this one is in.
        lab.cut()
        return BROKEN, f"{error.message} ({error.hint})" if error.hint else error.message
    except Exception as error:  # noqa: BLE001  A defect of one check must not hide what the others find.
        lab.cut()
        place = traceback.extract_tb(error.__traceback__)[-1]
        return BROKEN, f"the check itself failed at {Path(place.filename).name}:{place.lineno}: {error!r}"
    return PASSED, ""


def _lacking(parts: Parts, need: str) -> str:
    kind, _, name = need.rpartition(":")
    if kind == "module":
        return "" if parts.kernel.has(name) else f"the guest's kernel has no module {name}"
    package = parts.tools.lacking.get(name)
    return f"{name} is missing; install {package}" if package else ""


def write(out: Path, parts: Parts, results: Sequence[Result]) -> None:
    """Writes lab.json."""
    document = {"version": 1, "machine": parts.document(), "checks": [asdict(result) for result in results]}
    write_json(out / "lab.json", document)
