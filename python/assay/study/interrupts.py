"""Ctrl-C and SIGTERM: once finishes what runs and keeps it, twice ends at once."""

from __future__ import annotations

import contextlib
import signal
from collections.abc import Iterator
from types import FrameType, TracebackType
from typing import Any, Self

from assay.binary import Run

_SIGNALS = (signal.SIGINT, signal.SIGTERM)


class Interrupts:
    """Takes the signals while a study runs, and hands them to the run that is under way."""

    def __init__(self) -> None:
        self.count = 0
        self._run: Run | None = None
        self._raises = False
        self._before: dict[signal.Signals, Any] = {}

    def __enter__(self) -> Self:
        self._before = {number: signal.signal(number, self._caught) for number in _SIGNALS}
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        for number, handler in self._before.items():
            signal.signal(number, handler)

    @contextlib.contextmanager
    def raising(self) -> Iterator[None]:
        """Meanwhile a signal stops what this process does itself: it comes as `KeyboardInterrupt`."""
        self._raises = True
        try:
            yield
        finally:
            self._raises = False

    def watch(self, run: Run | None) -> None:
        """Hands later signals to this run; one that came a moment ago too."""
        self._run = run
        if self.count:
            self._hand_on()

    def _caught(self, _number: int, _frame: FrameType | None) -> None:
        self.count += 1
        if self._raises:
            raise KeyboardInterrupt
        self._hand_on()

    def _hand_on(self) -> None:
        if self._run is None:
            return
        if self.count == 1:
            self._run.interrupt()
        else:
            self._run.kill()
