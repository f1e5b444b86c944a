"""What `assay explore` does and says."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path

from assay.cli import executors, output
from assay.cli.executors import ExecutorWish
from assay.error import DONE
from assay.executor.processes import cores
from assay.explore import run as runs
from assay.target import names


def explored(points: int, out: Path, wish: ExecutorWish, on: Sequence[str], as_json: bool) -> int:
    """Runs and reports; returns the exit code."""
    twins = tuple(one.removeprefix(names.PREFIX) for one in on)
    if not wish.scheduler:
        wish = replace(wish, workers=wish.workers or cores())
    with executors.executor(wish) as by:
        assert by is not None  # noqa: S101  One of both was asked for.
        found = runs.run(runs.Exploration(points, out, twins), by, output.tell)
    if as_json:
        output.emit(found)
        return DONE
    output.say(f"{found['points']} of {found['of']} points in {found['wall_s']:.1f} s; {found['refused']} were refused")
    if found["points"]:
        output.say(
            f"{found['workers']} at a time, {found['efficiency']:.2f} of what so many alone would do; "
            f"{found['cpu_us_per_point']:.1f} us of CPU a point and {found['start_cpu_s']:.1f} s once, "
            f"{found['points_per_s']:.0f} points/s"
        )
    output.say(f"look: assay query 'describe points' --in {out}")
    return DONE
