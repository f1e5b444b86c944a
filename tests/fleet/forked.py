"""Commands as forks of a process that has loaded Assay and Dask: they are real processes, and begin at once.

For many short runs, of which the loading would take most. Whoever forks has one thread.
"""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import time
import traceback
from collections.abc import Mapping, Sequence
from io import TextIOWrapper
from typing import IO, NoReturn

_LOOK_S = 0.02


def load() -> None:
    """What every command needs, once."""
    from assay.cli import main
    from assay.cli.fleet import running
    from assay.fleet import serve, work

    serve.ready()
    import distributed

    del main, running, work, distributed


class Forked:
    """As `subprocess.Popen` has it, as far as it is used here."""

    def __init__(self, words: Sequence[str], environment: Mapping[str, str], said: IO[bytes] | None = None) -> None:
        """`assay WORDS`; its output goes to `said`, else what it prints is `stdout` here."""
        reads, writes = (-1, said.fileno()) if said else os.pipe()
        self.returncode: int | None = None
        self.pid = os.fork()
        if self.pid == 0:
            _become(words, environment, writes, said is not None)
        self.stdout: TextIOWrapper | None = None
        if said is None:
            os.close(writes)
            self.stdout = os.fdopen(reads, encoding="utf-8")

    def poll(self) -> int | None:
        """Its exit code, where it has ended."""
        if self.returncode is None:
            ended, status = os.waitpid(self.pid, os.WNOHANG)
            if ended:
                self.returncode = os.waitstatus_to_exitcode(status)
        return self.returncode

    def wait(self, timeout: float = 1e9) -> int:
        """Its exit code, once it has ended.

        Raises:
            subprocess.TimeoutExpired: where it has not until then.
        """
        end = time.monotonic() + timeout
        while (code := self.poll()) is None:
            if time.monotonic() > end:
                raise subprocess.TimeoutExpired("assay", timeout)
            time.sleep(_LOOK_S)
        return code

    def send_signal(self, number: int) -> None:
        """Nothing where it has ended."""
        if self.poll() is None:
            os.kill(self.pid, number)

    def terminate(self) -> None:
        """Asks it to end."""
        self.send_signal(signal.SIGTERM)

    def kill(self) -> None:
        """Ends it."""
        self.send_signal(signal.SIGKILL)


def _become(words: Sequence[str], environment: Mapping[str, str], writes: int, both: bool) -> NoReturn:
    """A fork: does the command, and never returns."""
    code = 1
    try:
        for number in (signal.SIGINT, signal.SIGTERM):
            signal.signal(number, signal.SIG_DFL)
        signal.signal(signal.SIGINT, signal.default_int_handler)
        os.dup2(os.open(os.devnull, os.O_RDONLY), 0)
        os.dup2(writes, 1)
        if both:
            os.dup2(writes, 2)
        # What was a file before may be a pipe now.
        sys.stdout, sys.stderr = (open(number, "w", buffering=1, closefd=False) for number in (1, 2))  # noqa: SIM115
        os.environ.clear()
        os.environ.update(environment)
        sys.argv = ["assay", *words]
        from assay.cli.main import main

        code = main(list(words))
    except SystemExit as leaving:
        code = leaving.code if isinstance(leaving.code, int) else 0
    except BaseException:  # noqa: BLE001  A fork says what went wrong and never returns.
        traceback.print_exc()
    finally:
        sys.stdout.flush()
        sys.stderr.flush()
        os._exit(code)
