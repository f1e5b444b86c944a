"""The command line as a process of its own that has its modules already.

Two thirds of the time of tests that only run a command went into importing the same modules again. A process that has
them waits here, and forks for each command. The child has the working folder, environment, output and arguments that
were asked for, runs `python -m assay` from its first line on, and ends as an interpreter ends. What a test interrupts,
kills or runs as somebody else is started the usual way.
"""

from __future__ import annotations

import atexit
import gc
import importlib
import json
import os
import signal
import socket
import subprocess
import sys
import tempfile
from collections.abc import Mapping, Sequence
from functools import cache
from pathlib import Path

_MODULES = (
    "assay.cli.overview",
    "assay.cli.short",
    "assay.cli.index.one",
    "assay.cli.measure.order",
    "assay.cli.results.comparing",
    "assay.index.sweep",
    "assay.stats.welch",
    "numpy",
    "rich.table",
    "scipy.stats",
)
_TESTS = Path(__file__).resolve().parent
# What an interpreter looks at when it starts: where a test changes it, a new one has to.
_LOOKED_AT = ("LANG", "LC_", "PYTHON", "_ASSAY")


def assay(
    words: Sequence[str | Path], *, cwd: Path | None = None, env: Mapping[str, str] | None = None, timeout: float = 300
) -> subprocess.CompletedProcess[str]:
    """Runs `assay WORDS` to its end; `env` is the whole environment, that of the tests without it."""
    arguments = [str(word) for word in words]
    environment = dict(os.environ if env is None else env)
    if not _usual(environment):
        command = [sys.executable, "-m", "assay", *arguments]
        return subprocess.run(
            command, capture_output=True, text=True, check=False, cwd=cwd, env=environment, timeout=timeout
        )
    with tempfile.TemporaryFile() as out, tempfile.TemporaryFile() as err:
        code = _server().run(arguments, str(cwd or Path.cwd()), environment, (out.fileno(), err.fileno()), timeout)
        texts = []
        for file in (out, err):
            file.seek(0)
            texts.append(file.read().decode(errors="replace"))
    return subprocess.CompletedProcess(arguments, code, *texts)


def _usual(environment: Mapping[str, str]) -> bool:
    """Whether an interpreter would start with it as this one did."""
    names = {name for name in (*environment, *os.environ) if name.startswith(_LOOKED_AT) and name != "PYTHONPATH"}
    return all(environment.get(name) == os.environ.get(name) for name in names)


class Server:
    """The process that waits, seen from the tests."""

    def __init__(self) -> None:
        ours, theirs = socket.socketpair(socket.AF_UNIX, socket.SOCK_SEQPACKET)
        command = [sys.executable, str(_TESTS / "warm.py"), str(theirs.fileno())]
        self._process = subprocess.Popen(
            command, pass_fds=[theirs.fileno()], stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL
        )
        theirs.close()
        self._socket = ours
        atexit.register(self.close)

    def run(
        self, words: Sequence[str], cwd: str, env: Mapping[str, str], outputs: tuple[int, int], timeout: float
    ) -> int:
        """The exit code of a command, below 0 where a signal ended it."""
        with tempfile.TemporaryFile() as asked:
            asked.write(json.dumps({"words": words, "cwd": cwd, "env": dict(env)}).encode())
            asked.flush()
            socket.send_fds(self._socket, [b"run"], [asked.fileno(), *outputs])
        pid = int(self._socket.recv(64))
        self._socket.settimeout(timeout)
        try:
            return int(self._socket.recv(64))
        except TimeoutError:
            os.kill(pid, signal.SIGKILL)
            self._socket.settimeout(None)
            self._socket.recv(64)
            raise subprocess.TimeoutExpired(list(words), timeout) from None
        finally:
            self._socket.settimeout(None)

    def close(self) -> None:
        """Nobody asks any more: it ends."""
        self._socket.close()
        self._process.wait(timeout=10)


@cache
def _server() -> Server:
    return Server()


def serve(number: int) -> int | None:
    """Waits for commands; in each child, the exit code of its command. None at the end of all."""
    # As `python -m assay` asks for it: the function, before the file of that name is loaded by another one.
    main = importlib.import_module("assay.cli").main
    for name in _MODULES:
        importlib.import_module(name)
    assert callable(main)
    gc.collect()
    gc.freeze()
    channel = socket.socket(fileno=number)
    while True:
        word, files, _, _ = socket.recv_fds(channel, 16, 3)
        if not word:
            return None
        child = os.fork()
        if child == 0:
            channel.close()
            return _command(*files)
        for file in files:
            os.close(file)
        channel.send(str(child).encode())
        _, status = os.waitpid(child, 0)
        channel.send(str(os.waitstatus_to_exitcode(status)).encode())


def _command(asked: int, out: int, err: int) -> int:
    os.lseek(asked, 0, os.SEEK_SET)
    with open(asked, "rb") as file:
        order = json.load(file)
    os.dup2(out, 1)
    os.dup2(err, 2)
    for number in (out, err):
        os.close(number)
    os.chdir(order["cwd"])
    os.environ.clear()
    os.environ.update(order["env"])
    main = importlib.import_module("assay.__main__")
    sys.argv = [str(main.__file__), *order["words"]]
    code: int = main.main()
    return code


if __name__ == "__main__":
    raise SystemExit(serve(int(sys.argv[1])))
