"""Commands x faults x phases: what becomes of a command where its first call fails, one in its midst, or its last."""

from __future__ import annotations

import json
import random
import subprocess
import time
from collections.abc import Iterator
from dataclasses import dataclass
from fnmatch import fnmatch
from pathlib import Path

from . import cases, faultfs
from .cases import ASSAYER, CASES, Case

#: Operation and effect, and whether the command must succeed all the same.
FAULTS: dict[str, tuple[str, str, bool]] = {
    "write EIO": ("write", "eio", False),
    "write ENOSPC": ("write", "enospc", False),
    "write EDQUOT": ("write", "edquot", False),
    "short write": ("write", "short", True),
    "ragged write": ("write", "ragged count=1", True),
    "slow write": ("write", "slow:20", True),
    "sync EIO": ("sync", "eio", False),
    "sync ENOSPC": ("sync", "enospc", False),
    "slow sync": ("sync", "slow:20", True),
    "lying sync": ("sync", "lie", True),
    "read EIO": ("read", "eio", False),
    "short read": ("read", "short", True),
    "create ENOSPC": ("create", "enospc", False),
    "create EACCES": ("create", "eacces", False),
    "open EMFILE": ("open", "emfile", False),
    "size ENOSPC": ("size", "enospc", False),
    "remove EIO": ("remove", "eio", False),
    "rename EIO": ("rename", "eio", False),
    "list EIO": ("list", "eio", False),
    "close EIO": ("close", "eio", False),
}
#: Where in the calls of its kind that a whole run makes: the first, a third, two thirds, the last.
PHASES: dict[str, float] = {"first": 0.0, "third": 0.34, "two thirds": 0.67, "last": 1.0}


@dataclass(frozen=True)
class Combination:
    """A command, a fault, and where it begins."""

    case: str
    fault: str
    phase: str

    def __str__(self) -> str:
        return f"{self.case}: {self.fault}, {self.phase}"


@dataclass(frozen=True)
class Seen:
    """What became of it; `wrong` is "" where it is as it must be."""

    combination: Combination
    reached: bool
    code: int
    wrong: str


def combinations() -> Iterator[Combination]:
    """All of them."""
    for case in CASES:
        # The command line takes seconds to start, and its work is that of the program beneath.
        phases = ("first", "last") if case.startswith("assay ") else tuple(PHASES)
        for fault in FAULTS:
            yield from (Combination(case, fault, phase) for phase in phases)


def sampled(seed: int) -> list[Combination]:
    """All of them, in an order by the seed that goes round the commands: whoever stops has seen something of each."""
    chance = random.Random(seed)  # noqa: S311  An order that can be repeated.
    by_case = {case: [one for one in combinations() if one.case == case] for case in CASES}
    for these in by_case.values():
        chance.shuffle(these)
    most = len(FAULTS) * len(PHASES)
    return [these[turn] for turn in range(most) for these in by_case.values() if turn < len(these)]


class Matrix:
    """Runs combinations, each on a file system of its own."""

    def __init__(self, folder: Path, seed: int = 1) -> None:
        self._folder = folder
        self._seed = seed
        self._calls: dict[str, dict[str, int]] = {}

    def run(self, combination: Combination) -> Seen | None:
        """What became of it; none where the command makes no such call, or fewer than this phase needs."""
        case, (operation, effect, _) = CASES[combination.case], FAULTS[combination.fault]
        calls = self._usual(case).get(operation, 0)
        place = round(PHASES[combination.phase] * (calls - 1)) + 1
        if calls == 0 or (combination.phase != "first" and place == 1):
            return None
        with faultfs.mounted(self._folder / "mnt", seed=self._seed) as fs:
            fs.rule(operation, effect, f"from={place}")
            try:
                done = case.run(fs.at)
            except subprocess.TimeoutExpired:
                return Seen(combination, True, -1, f"it hung for {cases.PATIENCE_S:.0f} s")
            reached = fs.calls()["hits"] > 0
            fs.clear()
            wrong = self._judge(combination, fs, done) if reached else ""
        return Seen(combination, reached, done.returncode, wrong)

    def _usual(self, case: Case) -> dict[str, int]:
        """Calls of a run without a fault."""
        if case.name not in self._calls:
            with faultfs.mounted(self._folder / "mnt", seed=self._seed) as fs:
                done = case.run(fs.at)
                assert done.returncode == 0, f"{case.name}: {done.stdout[-2000:]}{done.stderr[-2000:]}"
                self._calls[case.name] = fs.calls()
                left = self._left(case, fs)
                assert not left, f"{case.name} leaves {left} where nothing fails"
        return self._calls[case.name]

    def _judge(self, combination: Combination, fs: faultfs.FaultFs, done: subprocess.CompletedProcess[str]) -> str:
        case, must_succeed = CASES[combination.case], FAULTS[combination.fault][2]
        said = done.stdout + done.stderr
        if done.returncode not in (0, 1, 2, 4):
            return f"exit code {done.returncode}: {said[-400:]}"
        if "Traceback" in said or "panicked" in said:
            return f"no sentence: {said[-600:]}"
        if FAULTS[combination.fault][1].startswith(("short", "ragged")) and case.ring and _kernel_moves_wrongly(fs):
            return ""
        if must_succeed and done.returncode != 0:
            return f"exit code {done.returncode} where nothing was lost: {said[-400:]}"
        if done.returncode != 0:
            complaint = sentence(done, fs.at)
            if complaint:
                return complaint
        if FAULTS[combination.fault][1] == "lie":
            return ""
        if case.verify is not None:
            note = fs.at / case.note
            noted = note.read_bytes() if note.is_file() else None
            fs.crash()
            if noted is not None:
                note.write_bytes(noted)
            lost = case.verify(fs.at)
            if lost:
                return lost
        left = self._left(case, fs)
        if FAULTS[combination.fault][0] == "remove":
            # A folder that is empty and that the drive would not let go is nobody's any more.
            left = [name for name in left if not (fs.at / name).is_dir() or list((fs.at / name).iterdir())]
        return f"left behind: {left}" if left else ""

    @staticmethod
    def _left(case: Case, fs: faultfs.FaultFs) -> list[str]:
        """What stays when the next clean-up has been."""
        subprocess.run([str(ASSAYER), "scratch", "clean", str(fs.at)], capture_output=True, timeout=60, check=False)
        names = sorted(path.name for path in fs.at.iterdir())
        return [name for name in names if not any(fnmatch(name, kept) for kept in case.keeps)]


def sentence(done: subprocess.CompletedProcess[str], at: Path) -> str:
    """What is missing from the sentence of a command that failed: the file, or what to do."""
    reason, fix = _told(done)
    if not reason:
        return f"it failed and said nothing: {(done.stdout + done.stderr)[-300:]}"
    if str(at) not in " ".join((done.stdout + done.stderr).split()):
        return f"it does not name the file: {reason}"
    return "" if fix else f"it does not say what to do: {reason}"


def _told(done: subprocess.CompletedProcess[str]) -> tuple[str, str]:
    """Reason and remedy: from the last event, or from what is said to people."""
    for line in reversed(done.stdout.splitlines()):
        if line.startswith('{"event":"refused"'):
            event = json.loads(line)
            return event["reason"], event["fix"]
    reason, _, rest = done.stderr.partition("hint:")
    # A record whose check failed, or whose verdict is invalid, says it in itself.
    if not reason.strip() and ('"passed":false' in done.stdout or '"invalid"' in done.stdout):
        return "a check failed", "read the record"
    return reason.strip() or done.stdout.strip(), rest.strip() or ("read the record" if done.stdout.strip() else "")


def _kernel_moves_wrongly(fs: faultfs.FaultFs) -> bool:
    """Whether one operation of `io_uring`, without Assay, is gone on with at a wrong place by the kernel itself."""
    file = fs.at / "file"
    file.write_bytes(bytes(128 << 10))
    try:
        fs.rule("write", "short", "count=1", "name=file")
        return "wrong place" in faultfs.moved(fs, "kernel direct")
    finally:
        fs.clear()
        file.unlink()


@dataclass
class Totals:
    """What was seen of all of them."""

    seen: list[Seen]
    seconds: float = 0.0

    @property
    def reached(self) -> list[Seen]:
        """Those whose fault happened."""
        return [one for one in self.seen if one.reached]

    def wrong(self) -> list[str]:
        """Complaints."""
        return [f"{one.combination}: {one.wrong}" for one in self.seen if one.wrong]

    def table(self) -> str:
        """Commands down, faults across: how many phases ended as they must, of those that were reached; exit codes."""
        lines = [f"| command | {' | '.join(FAULTS)} |", "| --- |" + " --- |" * len(FAULTS)]
        cells = {case: " | ".join(self._cell(case, fault) for fault in FAULTS) for case in CASES}
        lines += [f"| `{case}` | {row} |" for case, row in cells.items()]
        return "\n".join(lines)

    def _cell(self, case: str, fault: str) -> str:
        these = [one for one in self.reached if (one.combination.case, one.combination.fault) == (case, fault)]
        if not these:
            return "-"
        codes = ",".join(str(code) for code in sorted({one.code for one in these}))
        good = sum(not one.wrong for one in these)
        return f"{good}/{len(these)}: {codes}"


def run(folder: Path, which: list[Combination], budget_s: float, seed: int = 1) -> Totals:
    """Runs as many as the budget allows."""
    matrix, begin, totals = Matrix(folder, seed), time.monotonic(), Totals([])
    for combination in which:
        if time.monotonic() - begin > budget_s:
            break
        seen = matrix.run(combination)
        if seen is not None:
            totals.seen.append(seen)
    totals.seconds = time.monotonic() - begin
    return totals
