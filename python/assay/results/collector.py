"""Python's collector of cycles, out of the way of those who make many objects that all stay."""

from __future__ import annotations

import gc
from collections.abc import Iterator
from contextlib import contextmanager


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
