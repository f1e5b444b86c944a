"""Every command that writes, small, but long enough to be killed in its midst."""

from __future__ import annotations

import shutil
from dataclasses import dataclass
from pathlib import Path

_STUDY = Path(__file__).parent / "study.toml"
_OUT = "--out AT/out"


@dataclass(frozen=True)
class Case:
    """A command; AT is its folder, SHM one in memory. `longest_s` is about its usual time: it is killed within that."""

    name: str
    words: str
    longest_s: float
    #: What may stay in the folder: it was asked for.
    keeps: tuple[str, ...] = ("out",)
    #: Looks afterwards whether what was acknowledged is there; exit code 0 says so.
    verify: str = ""


_TPCC = "--small --duration 1s --ramp 0.1s --terminals 2 --on AT --out AT/out"
_TPCH = "--scale 0.01 --queries 1,6 --repeats 1 --hot --on AT --out AT/out"
_ENGINE = "--pool 4MiB --log-size 4MiB --duration 1s --warmup 0 --on AT --out AT/out"
_LEDGER = "engine ledger --pool 4MiB --log-size 4MiB --warmup 0 --threads 1 --tasks 4 --keep AT/kept"

CASES: dict[str, Case] = {
    case.name: case
    for case in (
        Case("run", f"run {_STUDY} --on AT {_OUT} --no-report", 4.0),
        Case("quick", f"quick --on AT {_OUT} --no-report --set data=64MiB", 8.0),
        Case("fit", "fit --on AT --results AT/out --out AT/twin.toml --set data=64MiB", 8.0, ("out", "twin*")),
        Case("reproduce --here", "reproduce dana --here AT --seconds 0.1", 8.0),
        Case("index run ssd-btree", f"index run --index ssd-btree --workload ycsb-a --keys 2e4 --on AT {_OUT}", 6.0),
        Case("index run fptree", f"index run --index fptree --workload insert --keys 2e4 --on SHM {_OUT}", 6.0),
        Case("engine ycsb", f"engine ycsb --rows 5000 {_ENGINE}", 3.0),
        Case("engine tpcc", f"engine tpcc --small {_ENGINE}", 3.0),
        Case("engine ledger", f"{_LEDGER} --duration 3s", 3.0, ("out", "kept"), f"{_LEDGER} --duration 0.1s"),
        Case("soak ssd-hash", "soak ssd-hash --on AT --kills 6 --keys 64", 4.0, ()),
        Case("soak engine", "soak engine --on AT --kills 6 --keys 64", 5.0, ()),
        Case("soak fptree", "soak fptree --on SHM --kills 6 --keys 64", 4.0, ()),
        Case("verify", "verify --on AT", 4.0),
        Case("dbms tpcc sqlite", f"dbms tpcc --engine sqlite {_TPCC}", 4.0),
        Case("dbms tpcc postgres", f"dbms tpcc --engine postgres {_TPCC}", 9.0),
        Case("dbms tpcc assay", f"dbms tpcc --engine assay {_TPCC}", 5.0),
        Case("dbms tpch duckdb", f"dbms tpch --engine duckdb {_TPCH}", 4.0),
        Case("dbms tpch sqlite", f"dbms tpch --engine sqlite {_TPCH}", 4.0),
        Case("dbms tpch postgres", f"dbms tpch --engine postgres {_TPCH}", 9.0),
        Case("bench fio", "bench fio --on AT", 5.0),
        Case("trace", "trace --pid 1 --duration 2s --out AT/out", 3.0),
        Case("mount", "mount twin:p4610 AT/mnt", 3.0, ("mnt",)),
    )
}


_MOUNTER = Path(__file__).resolve().parent.parent.parent / "target" / "release" / "assayer-mount"


def possible(case: Case) -> bool:
    """Whether this machine has what the command needs."""
    if "postgres" in case.name:
        return any(Path("/usr/lib/postgresql").glob("*/bin/initdb"))
    if case.name == "mount":
        return _MOUNTER.is_file() and Path("/dev/fuse").exists()
    return "fio" not in case.name or shutil.which("fio") is not None
