"""What everybody did, in a run's windows, on the CPUs that this process may use."""

from __future__ import annotations

import os
from dataclasses import dataclass
from pathlib import Path

from assay.study.work.judge import reason
from assay.untyped import Json

# As the verdict cpu-taken has them.
TAKEN_SHARE = 0.1
TAKEN_OF_WINDOW = 0.05
TAKEN_AT_LEAST_S = 0.1
# CPUs of which more than this was idle could have run whoever waited.
IDLE_SHARE = 0.1


@dataclass
class Cpus:
    """Seconds in sum over CPUs and windows: at work for whomever, and in all."""

    busy_s: float = 0.0
    total_s: float = 0.0

    def __post_init__(self) -> None:
        self._before: tuple[float, float] | None = None

    def open(self) -> None:
        """A window begins."""
        self._before = read()

    def close(self) -> None:
        """The window ends."""
        now = read()
        if self._before is not None and now is not None:
            self.busy_s += now[0] - self._before[0]
            self.total_s += now[1] - self._before[1]
        self._before = None

    @property
    def idle_share(self) -> float:
        """Share of the time in which the CPUs had nothing to do; 1 where nothing was counted."""
        return 1 - self.busy_s / self.total_s if self.total_s > 0 else 1.0


def read(stat: Path = Path("/proc/stat")) -> tuple[float, float] | None:
    """Seconds since the start at work and in all, of the CPUs that may be used; none where the kernel does not say."""
    try:
        lines = stat.read_text().splitlines()
    except OSError:
        return None
    own = {f"cpu{cpu}" for cpu in os.sched_getaffinity(0)}
    ticks = [[int(word) for word in line.split()[1:9]] for line in lines if line.split(" ")[0] in own]
    if len(ticks) != len(own):
        return None
    per_s = os.sysconf("SC_CLK_TCK")
    # user, nice, system, idle, iowait, irq, softirq, steal
    return sum(sum(one[:3]) for one in ticks) / per_s, sum(map(sum, ticks)) / per_s


def taken(cpus: Cpus, own_s: float, queued_s: float | None, window_s: float) -> Json | None:
    """Others took the CPUs: the reason, where they did.

    `queued_s` is how long the engine's threads waited for a CPU. Where the kernel did not count that, others can have
    taken something only while hardly a CPU was idle.
    """
    others_s = max(0.0, cpus.busy_s - own_s)
    if queued_s is None and cpus.idle_share > IDLE_SHARE:
        return None
    taken_s = others_s if queued_s is None else min(queued_s, others_s)
    share = taken_s / max(own_s + taken_s, 1e-9)
    if share < TAKEN_SHARE or taken_s < max(TAKEN_OF_WINDOW * window_s, TAKEN_AT_LEAST_S):
        return None
    evidence = (
        f"other processes used {others_s:.1f} s of the CPUs in {window_s:.1f} s of queries, and the engine had "
        f"{own_s:.1f} s: up to {share:.0%} of the CPU time that was its to have"
    )
    fix = "stop what else uses the CPUs (top and pidstat 1 name it), and run it again"
    return reason(
        "cpu-taken",
        "suspect",
        evidence,
        fix,
        taken_s=taken_s,
        taken_share=share,
        others_cpu_s=others_s,
        own_cpu_s=own_s,
    )
