"""Stores that `soak` works on: our own, and rivals that were built."""

from __future__ import annotations

import contextlib
import json
import subprocess
from collections.abc import Iterator
from pathlib import Path

from assay import rivals
from assay.rivals.program import path as rivals_program
from assay.untyped import Json

from mount.cutting import Left, Victim, Worker, shut
from mount.mounted import ROOT

_ASSAYER = ROOT / "target" / "release" / "assayer"


class Turns(Worker):
    """A process whose journal is counted."""

    def __init__(self, process: subprocess.Popen[str], journal: Path) -> None:
        self._process, self._journal = process, journal

    def acknowledged(self) -> int:
        return self._journal.read_bytes().count(b"\n") if self._journal.is_file() else 0

    def failed(self) -> str:
        if self._process.poll() is None:
            return ""
        return self._process.communicate()[0] or f"it ended with exit code {self._process.returncode}"


def soak(program: Path, action: str, job: Json) -> subprocess.Popen[str]:
    """`PROGRAM soak ACTION` with this job."""
    command = [str(program), "soak", action, "-"]
    pipe = subprocess.PIPE
    process = subprocess.Popen(command, stdin=pipe, stdout=pipe, stderr=subprocess.STDOUT, text=True)
    assert process.stdin is not None
    process.stdin.write(json.dumps(job))
    process.stdin.close()
    process.stdin = None
    return process


class Soaked(Victim):
    """A store by its name; `loose` is the durability of that name that waits for no flush."""

    def __init__(self, name: str, loose: str = "none", *, rival: bool = False) -> None:
        self.name, self.loose = name, bool(loose)
        self._loose, self._rival = loose, rival

    def reason(self) -> str:
        if self._rival:
            built = self.name in {one["name"] for one in rivals.listed()}
            return "" if built else f"{self.name} was not built; `assay rivals build {self.name}` does it"
        there = _ASSAYER.with_name("assayer-db").is_file()
        return "" if there else "assayer-db is not built; cargo build --release -p assayer-db"

    def _program(self) -> Path:
        found = rivals_program() if self._rival else _ASSAYER
        assert found is not None
        return found

    def _job(self, room: Path, *, durable: bool) -> Json:
        """What work and check are given alike."""
        usual = {"version": 1, "name": self.name, "store": self.name, "place": str(room / "mnt"), "threads": 2}
        usual |= {"keys": 64, "journal": str(room / "journal")}
        # What is no engine and no rival is as durable as it is made, and is told nothing.
        return usual | ({"durability": "fdatasync" if durable else self._loose} if self._loose else {})

    def prepare(self, room: Path) -> None:
        (room / "journal").unlink(missing_ok=True)

    @contextlib.contextmanager
    def working(self, room: Path, *, durable: bool) -> Iterator[Worker]:
        job = self._job(room, durable=durable)
        (room / "job").write_text(json.dumps(job))
        process = soak(self._program(), "work", job)
        try:
            yield Turns(process, room / "journal")
        finally:
            process.kill()
            process.communicate()

    def left(self, room: Path, acknowledged: int) -> Left:
        with shut(room):
            process = soak(self._program(), "check", json.loads((room / "job").read_text()))
            said, _ = process.communicate(timeout=60)
        # A job that cannot be, or a program without the store, is no loss.
        assert process.returncode not in {2, 3, 4}, said
        said = said.strip()
        if not said.startswith("{"):
            return Left(acknowledged, acknowledged, said or f"it ended with exit code {process.returncode}")
        finding, _ = json.JSONDecoder().raw_decode(said)
        counted = finding["datasets"][0]
        broken = "; ".join(counted["examples"]) if counted["corrupt"] else ""
        return Left(acknowledged, counted["lost"], broken)
