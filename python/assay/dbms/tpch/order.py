"""What a run of TPC-H is asked for."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from assay.dbms.progress import Progress
from assay.dbms.tpch import engines, query

COLD, HOT, HOT_BUFFERS = "cold", "hot", "hot-sharedbuffers"


@dataclass(frozen=True)
class TpchFlags:
    """What was asked. `seed` draws parameters; without one they are those of the validation runs."""

    engine: engines.QueryWish
    on: Sequence[str]
    scale: float = 1.0
    protocols: Sequence[str] = (COLD, HOT)
    queries: Sequence[int] = query.NUMBERS
    repeats: int = 1
    seed: int | None = None
    out: Path | None = None
    progress: Progress | None = None
    """Of a run that can go on; where there is none, records go to `out`."""
    files: Path | None = None
    temp: str = ""
    wal: str = ""
    index: str = ""
