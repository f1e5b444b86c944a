"""A reader of standard output that leaves early, as `head` does."""

from __future__ import annotations

import importlib
import subprocess
import sys

import pytest
from assay.error import DONE


def test_a_reader_that_leaves_is_no_error() -> None:
    command = [sys.executable, "-c", "import sys; from assay.cli import main; sys.exit(main(['list', 'twins']))"]
    with subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE) as asked:
        assert asked.stdout is not None
        assert asked.stderr is not None
        asked.stdout.close()
        complaints = asked.stderr.read()
    assert (asked.returncode, complaints) == (DONE, b"")


def test_another_pipe_that_breaks_is_not_hidden(monkeypatch: pytest.MonkeyPatch) -> None:
    def broken(*_: object, **__: object) -> int:
        raise BrokenPipeError

    entry = importlib.import_module("assay.cli.main")
    monkeypatch.setattr(entry, "app", broken)
    with pytest.raises(BrokenPipeError):
        entry.main(["list"])
