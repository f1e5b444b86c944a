"""How runs end from outside."""

from __future__ import annotations

import contextlib
import os
import signal
import threading
from collections.abc import Iterator


@contextlib.contextmanager
def unbroken() -> Iterator[None]:
    """What is done here is done to its end; who interrupts meanwhile is heard right after it.

    For steps that are short and must not be done by half: a process that was started and has no name yet, one that is
    ended while its files are still to be removed.
    """
    if threading.current_thread() is not threading.main_thread():
        yield  # Interrupts come to the main thread alone.
        return
    came: list[int] = []
    before = {number: signal.getsignal(number) for number in (signal.SIGINT, signal.SIGTERM, signal.SIGHUP)}
    # What somebody ignores, or what a library took over in C, stays as it is.
    taken = {number: handler for number, handler in before.items() if callable(handler)}
    for number in taken:
        signal.signal(number, lambda caught, _: came.append(caught))
    try:
        yield
    finally:
        for number, handler in taken.items():
            signal.signal(number, handler)
        if came:
            os.kill(os.getpid(), came[0])
