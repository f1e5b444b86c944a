"""Who shows a run to people: the terminal where there is one, plain lines elsewhere."""

from __future__ import annotations

import os
import sys
from typing import IO

from assay.study.progress import Plain, Silent


def wants_live(stream: IO[str]) -> bool:
    """Whether a stream is a terminal that can move its cursor."""
    return stream.isatty() and os.environ.get("TERM", "dumb") != "dumb"


def watching(json_wanted: bool) -> Silent:
    """The right one for where standard error goes."""
    if not json_wanted and wants_live(sys.stderr):
        from assay.study.live import Live

        return Live()
    return Plain()
