"""An interrupt that comes when the command has ended and only its folders are still to be removed."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest

#: Makes a folder and ends; the interrupt comes with the first of what is done at the end.
_PROGRAM = """
import atexit, os, signal, sys
from pathlib import Path
from assay import __main__, cli, own

def command():
    print(own.make(Path(sys.argv[1]), "at-exit-"), flush=True)
    atexit.register(os.kill, os.getpid(), getattr(signal, sys.argv[2]))
    return 0

signal.signal(signal.SIGINT, signal.default_int_handler)
cli.main = command
sys.exit(__main__.main())
"""


@pytest.mark.usefixtures("assayer")
@pytest.mark.parametrize("name", ["SIGINT", "SIGTERM", "SIGHUP"])
def test_a_second_interrupt_while_folders_are_removed_is_no_traceback(tmp_path: Path, name: str) -> None:
    command = [sys.executable, "-I", "-c", _PROGRAM, str(tmp_path), name]
    done = subprocess.run(command, capture_output=True, text=True, timeout=60, check=False)
    made = Path(done.stdout.strip())
    assert made.parent == tmp_path
    assert done.stderr == ""
    assert done.returncode == 0
    assert not made.exists()
