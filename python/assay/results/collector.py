"""Python's collector of cycles, out of the way of those who make many objects that all stay."""

from __future__ import annotations

import gc
from collections.abc import Iterator
from contextlib import contextmanager

_alone = False


def process_is_a_command() -> None:
    """Says that this process does one command and ends: `done_at_exit` counts on that."""
    global _alone  # noqa: PLW0603  It is a property of the process.
    _alone = True


@contextmanager
def paused() -> Iterator[None]:
    """No cycle is looked for until it ends; then as before.

    Ten thousand records are ten million objects without a cycle, which the collector would go through again and again
    while they grow in number.
    """
    was_on = gc.isenabled()
    gc.disable()
    try:
        yield
    finally:
        if was_on:
            gc.enable()


@contextmanager
def done_at_exit() -> Iterator[None]:
    """As `paused`, around the last work of a command: what is left of it stays until the process ends.

    Cells and their rows name each other, and so do the parts of a template. To free them the collector would go through
    all that was read of ten thousand records, which takes as long as a part of reading it.
    """
    with paused():
        yield
        if _alone:
            gc.freeze()
