"""`python -m fleet.whole [N [SECONDS]]` in tests/: N runs with a kill each (100); the totals go to docs/fleet.md."""

from __future__ import annotations

import os
import platform
import sys
import tempfile
import time
from concurrent.futures import ThreadPoolExecutor
from datetime import UTC, datetime
from pathlib import Path

from assay.fleet import keys

from .killing import VICTIMS, Kill, Seen, drawn, run

PAGE = Path(__file__).resolve().parent.parent.parent / "docs" / "fleet.md"
BEGIN, END = "<!-- kills -->", "<!-- end of the kills -->"
AT_ONCE = 4
"""Runs beside each other: they wait for most of their time."""


def main(words: list[str]) -> int:
    """Kills as often as the seconds allow; 1 where something was wrong."""
    number = int(words[0]) if words else 100
    budget_s, seed = float(words[1]) if len(words) > 1 else 3600.0, 1
    begin = time.monotonic()
    with tempfile.TemporaryDirectory(prefix="assay-fleet-keys-") as place:
        keys.make(Path(place), ["a", "b"], 2)

        def one(kill: Kill) -> Seen | None:
            return None if time.monotonic() - begin > budget_s else _told(run(kill, Path(place)))

        with ThreadPoolExecutor(AT_ONCE) as pool:
            seen = [found for found in pool.map(one, drawn(number, seed)) if found is not None]
    said = summary(seen, seed, time.monotonic() - begin)
    print(said)
    text = PAGE.read_text(encoding="utf-8")
    head, _, rest = text.partition(BEGIN)
    PAGE.write_text(f"{head}{BEGIN}\n\n{said}\n\n{table(seen)}\n\n{END}{rest.partition(END)[2]}", encoding="utf-8")
    return 1 if any(one.wrong or one.twice for one in seen) else 0


def _told(seen: Seen) -> Seen:
    if seen.wrong or seen.twice:
        print(f"{seen.kill}: begun twice {seen.twice}; {seen.wrong}", flush=True)
    return seen


def summary(seen: list[Seen], seed: int, seconds: float) -> str:
    """How many, what was begun, and how often twice."""
    alive, begun = sum(one.alive for one in seen), sum(one.begun for one in seen)
    twice, wrong = sum(one.twice for one in seen), sum(bool(one.wrong) for one in seen)
    return (
        f"On {datetime.now(UTC):%Y-%m-%d}, Linux {platform.release()}, {os.cpu_count()} CPUs, seed {seed}: {len(seen)} "
        f"runs of two hosts and three cells in {seconds:.0f} s, a process killed in each, in {alive} while it still "
        f"ran. {begun} starts of cells, {twice} of them begun twice; after `--resume` {len(seen) - wrong} runs were "
        "whole and left nothing behind."
    )


def table(seen: list[Seen]) -> str:
    """By who was killed: runs, runs that still ran then, cells begun twice, and runs that ended as they must."""
    lines = [
        "| killed | runs | while it ran | begun twice | whole after `--resume` |",
        "| --- | --- | --- | --- | --- |",
    ]
    for victim in VICTIMS:
        these = [one for one in seen if one.kill.victim == victim]
        counts = (sum(one.alive for one in these), sum(one.twice for one in these), sum(not one.wrong for one in these))
        lines.append(f"| {victim} | {len(these)} | {' | '.join(map(str, counts))} |")
    return "\n".join(lines)


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
