"""The measuring program and the command line as a user starts them."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
import threading
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from assay.untyped import Json

ROOT = Path(__file__).resolve().parent.parent.parent
ASSAYER = ROOT / "target" / "release" / "assayer"
_LONGEST_S = 120


@dataclass
class Outcome:
    """How a run of the measuring program ended."""

    code: int
    events: list[Json] = field(default_factory=list)
    stderr: str = ""

    @property
    def last(self) -> Json:
        """Its last event."""
        assert self.events, f"no event at all, exit code {self.code}: {self.stderr}"
        return self.events[-1]

    @property
    def record(self) -> Json:
        """The record; a run without one fails the test with what it said."""
        assert self.last["event"] == "finished", f"exit code {self.code}: {self.last} {self.stderr}"
        record: Json = self.last["record"]
        return record

    @property
    def refusal(self) -> str:
        """Reason and fix of a run that gave no record."""
        assert self.last["event"] == "refused", f"exit code {self.code}: it was not refused"
        assert self.last["exit_code"] == self.code
        assert self.last["reason"]
        assert self.last["fix"]
        return f"{self.last['reason']} | {self.last['fix']}"

    def result(self, name: str = "") -> Json:
        """The result of a class; the first one without a name."""
        results: list[Json] = self.record["classes"]
        return next(one for one in results if name in ("", one["name"]))

    def reasons(self) -> list[Json]:
        """The reasons of the verdict."""
        reasons: list[Json] = self.record["verdict"]["reasons"]
        return reasons

    def codes(self) -> set[str]:
        """Codes of the reasons."""
        return {reason["code"] for reason in self.reasons()}

    def was_robbed(self) -> bool:
        """Somebody else had a fifth of this machine's CPU time or more: what was to be seen may not show."""
        return any(one.get("numbers", {}).get("stolen_share", 0.0) >= 0.2 for one in self.reasons())

    def reason(self, code: str, says: str = "") -> Json:
        """The gravest reason with this code that says so; without one the test fails and shows what there is."""
        found = [reason for reason in self.reasons() if reason["code"] == code and says in reason["evidence"]]
        assert found, f"{code} was not found: {[(one['code'], one['evidence']) for one in self.reasons()]}"
        assert found[0]["evidence"]
        assert found[0]["fix"]
        return found[0]


class Running:
    """A run that goes on; its events are read as they come."""

    def __init__(self, process: subprocess.Popen[str], job: Json | None) -> None:
        self.process = process
        self.events: list[Json] = []
        self._complaints: list[str] = []
        if job is not None and process.stdin is not None:
            process.stdin.write(json.dumps(job))
            process.stdin.close()
        # Standard error is read beside: a full pipe would stop the program.
        self._reader = threading.Thread(target=self._listen, daemon=True)
        self._reader.start()
        self._watchdog = threading.Timer(_LONGEST_S, process.kill)
        self._watchdog.start()

    def _listen(self) -> None:
        if self.process.stderr is not None:
            self._complaints.append(self.process.stderr.read())

    def _lines(self) -> Iterator[Json]:
        if self.process.stdout is None:
            return
        for line in self.process.stdout:
            event: Json = json.loads(line)
            self.events.append(event)
            yield event

    def until(self, event: str, at_s: float = 0.0) -> Json | None:
        """Reads until an event (of an interval: at this second or later); none where the run ended before."""
        for seen in self._lines():
            if seen["event"] == event and seen.get("at_s", 0.0) >= at_s:
                return seen
        return None

    def signal(self, number: signal.Signals) -> None:
        """Sends it a signal."""
        self.process.send_signal(number)

    def end(self) -> Outcome:
        """Waits for its end."""
        try:
            for _ in self._lines():
                pass
            code = self.process.wait()
        finally:
            self.close()
        return Outcome(code, self.events, "".join(self._complaints))

    def close(self) -> None:
        """Ends it where it still runs."""
        self._watchdog.cancel()
        if self.process.poll() is None:
            self.process.kill()
            self.process.wait()
        self._reader.join()
        for stream in (self.process.stdout, self.process.stderr):
            if stream is not None:
                stream.close()


def start(job: Json, prefix: Sequence[str] = (), program: Path = ASSAYER) -> Running:
    """Starts a job; `prefix` is a command that starts another (`setpriv ...`)."""
    process = subprocess.Popen(
        [*prefix, str(program), "run", "-"],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
    )
    return Running(process, job)


def run(job: Json, prefix: Sequence[str] = (), program: Path = ASSAYER) -> Outcome:
    """Runs a job to its end."""
    return start(job, prefix, program).end()


def document(*words: str, accepted: Sequence[int] = (0,)) -> Any:
    """What a command of the measuring program prints as its one document."""
    done = subprocess.run(
        [str(ASSAYER), *words],
        capture_output=True,
        text=True,
        stdin=subprocess.DEVNULL,
        check=False,
        timeout=_LONGEST_S,
    )
    assert done.returncode in accepted, f"{words}: exit code {done.returncode}: {done.stdout} {done.stderr}"
    return json.loads(done.stdout)


def start_assay(*words: str, cwd: Path, program: Path = ASSAYER) -> subprocess.Popen[str]:
    """Starts the command line, in a process group of its own; `program` stands for the measuring program."""
    paths = os.pathsep.join(filter(None, [str(ROOT / "python"), os.environ.get("PYTHONPATH")]))
    return subprocess.Popen(
        [sys.executable, "-m", "assay", *words],
        env=os.environ | {"PYTHONPATH": paths, "ASSAYER": str(program), "NO_COLOR": "1"},
        stdin=subprocess.DEVNULL,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
        cwd=cwd,
        start_new_session=True,
    )


def assay(*words: str, cwd: Path, program: Path = ASSAYER) -> subprocess.CompletedProcess[str]:
    """Runs the command line to its end."""
    process = start_assay(*words, cwd=cwd, program=program)
    try:
        out, err = process.communicate(timeout=_LONGEST_S)
    finally:
        if process.poll() is None:
            os.killpg(process.pid, signal.SIGKILL)
            process.wait()
    return subprocess.CompletedProcess(words, process.returncode, out, err)


def record_of(folder: Path) -> Json:
    """The newest record of an index, an engine or a database in a folder of results."""
    newest = max((folder / "work").glob("*.json"), key=lambda path: path.stat().st_mtime_ns)
    record: Json = json.loads(newest.read_text(encoding="utf-8"))
    return record
