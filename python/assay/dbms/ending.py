"""How runs end from outside."""

from __future__ import annotations

import contextlib
import signal
from collections.abc import Iterator


@contextlib.contextmanager
def terminable() -> Iterator[None]:
    """SIGTERM ends a run as Ctrl-C does: what is finished is kept, what was made is removed."""

    def raise_(_number: int, _frame: object) -> None:
        raise KeyboardInterrupt

    before = signal.signal(signal.SIGTERM, raise_)
    try:
        yield
    finally:
        signal.signal(signal.SIGTERM, before)
