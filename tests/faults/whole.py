"""`python -m faults.whole [SECONDS]` in tests/: the whole matrix; its table goes to docs/faults.md."""

from __future__ import annotations

import platform
import sys
import tempfile
from datetime import UTC, datetime
from pathlib import Path

from . import matrix
from .matrix import Totals

PAGE = Path(__file__).resolve().parent.parent.parent / "docs" / "faults.md"
BEGIN, END = "<!-- matrix -->", "<!-- end of the matrix -->"


def main(words: list[str]) -> int:
    """Runs as much as the seconds allow; 1 where something was wrong."""
    budget_s = float(words[0]) if words else 3600.0
    with tempfile.TemporaryDirectory(prefix="faults-") as folder:
        totals = matrix.run(Path(folder), matrix.sampled(seed=1), budget_s)
    print(summary(totals))
    print(*totals.wrong(), sep="\n")
    text = PAGE.read_text(encoding="utf-8")
    head, _, rest = text.partition(BEGIN)
    tail = rest.partition(END)[2]
    PAGE.write_text(f"{head}{BEGIN}\n\n{summary(totals)}\n\n{totals.table()}\n\n{END}{tail}", encoding="utf-8")
    return 1 if totals.wrong() else 0


def summary(totals: Totals) -> str:
    """How many, when, where."""
    when, kernel = datetime.now(UTC).strftime("%Y-%m-%d"), platform.release()
    return (
        f"On {when}, Linux {kernel}: {len(totals.reached)} combinations whose fault happened, in "
        f"{totals.seconds:.0f} s; {len(totals.wrong())} of them did not end as they must."
    )


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
