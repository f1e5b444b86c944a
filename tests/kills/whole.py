"""`python -m kills.whole [N [SECONDS]]` in tests/: N kills (300); the table goes to docs/kills.md."""

from __future__ import annotations

import os
import platform
import sys
import time
from datetime import UTC, datetime
from pathlib import Path

from .killing import HOWS, Seen, drawn, run

PAGE = Path(__file__).resolve().parent.parent.parent / "docs" / "kills.md"
BEGIN, END = "<!-- kills -->", "<!-- end of the kills -->"


def main(words: list[str]) -> int:
    """Kills as often as the seconds allow; 1 where something was wrong."""
    number = int(words[0]) if words else 300
    budget_s, seed = float(words[1]) if len(words) > 1 else 3600.0, 1
    begin, seen = time.monotonic(), []
    for kill in drawn(number, seed):
        if time.monotonic() - begin > budget_s:
            break
        seen.append(run(kill))
        if seen[-1].wrong:
            print(f"{kill}: {seen[-1].wrong}", flush=True)
    said = summary(seen, seed, time.monotonic() - begin)
    print(said)
    text = PAGE.read_text(encoding="utf-8")
    head, _, rest = text.partition(BEGIN)
    PAGE.write_text(f"{head}{BEGIN}\n\n{said}\n\n{table(seen)}\n\n{END}{rest.partition(END)[2]}", encoding="utf-8")
    return 1 if any(one.wrong for one in seen) else 0


def summary(seen: list[Seen], seed: int, seconds: float) -> str:
    """How many, when, where."""
    alive, wrong = sum(one.alive for one in seen), sum(bool(one.wrong) for one in seen)
    where = f"Linux {platform.release()}, {os.cpu_count()} CPUs, seed {seed}"
    return (
        f"On {datetime.now(UTC):%Y-%m-%d}, {where}: {len(seen)} kills "
        f"in {seconds:.0f} s, of which {alive} met a command that still ran; {wrong} left something or lost something."
    )


def table(seen: list[Seen]) -> str:
    """Commands down, signals across: how many kills ended as they must, of those that were made."""
    lines = [f"| command | {' | '.join(HOWS)} |", "| --- |" + " --- |" * len(HOWS)]
    for case in sorted({one.kill.case for one in seen}):
        these = [one for one in seen if one.kill.case == case]
        cells = [[one for one in these if one.kill.how == how] for how in HOWS]
        row = [f"{sum(not one.wrong for one in cell)}/{len(cell)}" if cell else "-" for cell in cells]
        lines.append(f"| `{case}` | {' | '.join(row)} |")
    return "\n".join(lines)


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
