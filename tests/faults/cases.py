"""Every command that writes, as small as it can be, on a file system that fails."""

from __future__ import annotations

import json
import subprocess
import sys
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from assay.untyped import Json
from e2e.jobs import MIB, dataset, job, writes
from engine import ledgers

ROOT = Path(__file__).resolve().parent.parent.parent
ASSAYER = ROOT / "target" / "release" / "assayer"
#: Seconds after which a command hangs.
PATIENCE_S = 90.0


@dataclass(frozen=True)
class Case:
    """A command; `verify` says after the fault what of the acknowledged is lost, "" where nothing is."""

    name: str
    words: Callable[[Path], Sequence[str]]
    given: Callable[[Path], Json] | None = None
    #: What may stay in the folder: it was asked for.
    keeps: tuple[str, ...] = ()
    verify: Callable[[Path], str] | None = None
    #: What was acknowledged is noted here: it is not lost with what a crash takes.
    note: str = ""

    @property
    def ring(self) -> bool:
        """Whether its bytes go through `io_uring`: what its transfers are cut short of is the kernel's business."""
        return any(word in self.name for word in ("io_uring", "index ssd", "soak", "engine"))

    def run(self, at: Path) -> subprocess.CompletedProcess[str]:
        """Runs it on a folder; one that hangs is killed and raises."""
        _journal(at).unlink(missing_ok=True)
        text = json.dumps(self.given(at)) if self.given else ""
        return subprocess.run(
            list(self.words(at)), input=text, capture_output=True, text=True, timeout=PATIENCE_S, check=False
        )


def _binary(*words: str) -> Callable[[Path], Sequence[str]]:
    return lambda _: (str(ASSAYER), *words, "-")


def _assay(*words: str) -> Callable[[Path], Sequence[str]]:
    """Words of the command line, in which AT is the folder."""
    return lambda at: (sys.executable, "-I", "-m", "assay", *(word.replace("AT", str(at)) for word in words))


def _raw(path: str, durability: str = "fdatasync") -> Case:
    durable = {"kind": durability, "every": 1}
    klass = writes(path=path, durability=durable)
    given = lambda at: job(at, klass, measure_s=0.2, datasets=[dataset(size=MIB)])  # noqa: E731
    return Case(f"run {path}", _binary("run"), given)


def _index(kind: str) -> Case:
    def given(at: Path) -> Json:
        return {
            "version": 1,
            "name": "faults",
            "index": kind,
            "target": str(at),
            "workload": "ycsb-a",
            "keys": 5000,
            "threads": 1,
            "warmup_s": 0.0,
            "window": {"operations": 3000},
            "pool_bytes": (1 if kind.startswith("ssd") else 32) * MIB,
            "huge_pages": False,
        }

    return Case(f"index {kind}", _binary("index"), given)


def _engine(name: str, workload: Json, **more: Any) -> Case:
    def given(at: Path) -> Json:
        usual: Json = {"version": 1, "name": name, "target": str(at), "pool_bytes": 4 * MIB, "log_bytes": 4 * MIB}
        return usual | {"threads": 1, "tasks": 4, "duration_s": 0.2, "workload": workload} | more

    return Case(f"engine {name}", _binary("engine"), given)


def _ledger(at: Path) -> Json:
    return ledgers.job(at / "kept", 0.2, threads=1, tasks=4)


def _ledger_is_whole(at: Path) -> str:
    """Opens it once more: every transaction that was acknowledged must be there."""
    if not (at / "kept" / "engine-acknowledged").exists():
        return ""
    done = CASES["engine ledger"].run(at)
    return "" if done.returncode == 0 else f"the ledger is not whole: {done.stdout[-300:]}{done.stderr[-300:]}"


def _journal(at: Path) -> Path:
    """What was acknowledged: noted outside of what may crash."""
    return at.parent / "acknowledged"


def _soak(store: str) -> Case:
    def given(at: Path) -> Json:
        soak: Json = {"version": 1, "name": "faults", "store": store, "place": str(at), "threads": 1, "keys": 64}
        return soak | {"journal": str(_journal(at)), "turns": 400}

    def verify(at: Path) -> str:
        if not _journal(at).exists():
            return ""
        done = subprocess.run(
            [str(ASSAYER), "soak", "check", "-"],
            input=json.dumps(given(at)),
            capture_output=True,
            text=True,
            check=False,
        )
        # Where the work ended before its store was there, there is nothing to look at.
        found = json.loads(done.stdout) if done.returncode in (0, 1) and done.stdout else {"datasets": []}
        lost = [one for one in found["datasets"] if one["lost"] or one["corrupt"]]
        return f"lost: {lost}" if lost else ""

    return Case(f"soak {store}", _binary("soak", "work"), given, ("soak-*", "engine-*"), verify)


def _sqlite(at: Path) -> Json:
    scale = {"warehouses": 1, "customers": 30, "items": 100}
    return {"store": {"sqlite": {"path": str(at / "tpcc")}}, "order": {"scale": scale, "load": True, "check": True}}


_HERE = Path(__file__).parent
_TPCH = "dbms tpch --engine duckdb --scale 0.01 --queries 1 --repeats 1 --hot --on AT --out AT/out"
_ENGINE = "engine ycsb --rows 2000 --pool 4MiB --log-size 4MiB --duration 0.1s --warmup 0 --on AT --out AT/out"
_RUN = "--on AT --out AT/out --no-report"

CASES: dict[str, Case] = {
    case.name: case
    for case in (
        _raw("pread+direct"),
        _raw("libaio+direct"),
        _raw("io_uring+direct"),
        _raw("pread"),
        _index("ssd-btree"),
        _index("ssd-hash"),
        _raw("mmap", "msync"),
        _engine("ycsb", {"kind": "ycsb", "rows": 5000, "value_bytes": 100, "read_share": 0.5, "zipf": 0.0}),
        _engine("tpcc", {"kind": "tpcc", "warehouses": 1, "small": True}),
        Case("engine ledger", _binary("engine"), _ledger, ("kept",), _ledger_is_whole, "kept/engine-acknowledged"),
        _soak("ssd-btree"),
        _soak("ssd-hash"),
        _soak("engine"),
        Case("tpcc sqlite", _binary("tpcc"), _sqlite, ("tpcc*",)),
        Case("assay fio import", _assay("fio", "import", f"{_HERE}/job.fio", "--out", "AT/x.toml"), keeps=("x.toml",)),
        Case("assay dbms tpch", _assay(*_TPCH.split()), keeps=("out",)),
        Case("assay engine", _assay(*_ENGINE.split()), keeps=("out",)),
        Case("assay run", _assay("run", f"{_HERE}/study.toml", *_RUN.split()), keeps=("out",)),
    )
}
