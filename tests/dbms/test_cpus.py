"""Who had the CPUs while a database ran."""

from __future__ import annotations

import os
from pathlib import Path

from assay.dbms.cpus import Cpus, read, taken
from assay.dbms.target import Counters


def test_a_database_that_had_half_of_its_cpus_says_so() -> None:
    """Two CPUs at work all the time, the engine had one of them and waited for the other."""
    busy = Cpus(busy_s=20.0, total_s=20.0)
    found = taken(busy, 10.0, 9.0, 10.0)
    assert found is not None
    assert (found["code"], found["severity"]) == ("cpu-taken", "suspect")
    assert found["numbers"]["taken_s"] == 9.0
    assert taken(busy, 10.0, None, 10.0) is not None, "no CPU was idle, and others had half of them"


def test_who_waits_for_nobody_lost_nothing() -> None:
    """Neither alone on the machine, nor beside others on CPUs that are free, nor where it waits for itself."""
    assert taken(Cpus(busy_s=10.0, total_s=20.0), 10.0, None, 10.0) is None
    assert taken(Cpus(busy_s=15.0, total_s=20.0), 10.0, None, 10.0) is None
    assert taken(Cpus(busy_s=20.0, total_s=20.0), 10.0, 0.1, 10.0) is None
    assert taken(Cpus(busy_s=20.0, total_s=20.0), 19.9, 12.0, 10.0) is None
    assert taken(Cpus(), 0.0, None, 0.0) is None


def test_only_the_cpus_that_may_be_used_are_counted(tmp_path: Path) -> None:
    """The line of all CPUs together is none of them, and a CPU that is not shown makes the answer unknown."""
    own = sorted(os.sched_getaffinity(0))
    lines = ["cpu  9 9 9 9 9 9 9 9 0 0", *(f"cpu{cpu} 100 0 100 700 100 0 0 0 0 0" for cpu in own), "intr 5"]
    stat = tmp_path / "stat"
    stat.write_text("\n".join(lines))
    per_s = os.sysconf("SC_CLK_TCK")
    assert read(stat) == (200 * len(own) / per_s, 1000 * len(own) / per_s)
    stat.write_text("cpu  9 9 9 9\n")
    assert read(stat) is None
    assert read(tmp_path / "none") is None


def test_what_was_counted_outlives_a_stop() -> None:
    """And a state that was written before CPUs were counted is read."""
    first = Counters(())
    first.cpus = Cpus(3.0, 4.0)
    second = Counters(())
    second.restore(first.state())
    assert second.cpus == Cpus(3.0, 4.0)
    second.restore({"window_s": 1.0, "sums": {}})
    assert second.cpus == Cpus()
