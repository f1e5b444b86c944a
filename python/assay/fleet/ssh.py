"""One connection to a host by the system's `ssh`, which knows keys, jumps and names of hosts; Assay asks for none.

Nothing secret is in a command line: keys go through the connection, and what runs there ends with it.
"""

from __future__ import annotations

import contextlib
import json
import os
import select
import shlex
import shutil
import subprocess
import tempfile
import time
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import IO

from assay.binary import die_with, said
from assay.document import limits
from assay.document.identifier import Identifier
from assay.error import FAILED, NOT_POSSIBLE, AssayError
from assay.fleet.attach import MARK
from assay.fleet.error import FleetError
from assay.untyped import Json

COMMAND = "assay"
"""What Assay is called on a host, where nothing else was said."""
_ANSWER_S, _END_S = 90.0, 40.0
_BLOCK = 1 << 16
_CHATTER = 1 << 20
_NOT_FOUND, _NO_CONNECTION = 127, 255
# Nobody is there to type a password, and nothing but this one command goes through the connection.
_OPTIONS = {
    "BatchMode": "yes",
    "ConnectTimeout": "15",
    "ServerAliveInterval": "5",
    "ServerAliveCountMax": "3",
    "ClearAllForwardings": "yes",
    "ForwardAgent": "no",
    "ForwardX11": "no",
    "PermitLocalCommand": "no",
    "RequestTTY": "no",
    "ControlMaster": "no",
}


@dataclass(frozen=True)
class Destination:
    """A host as ssh calls it, and what Assay is called there."""

    name: str
    destination: str
    command: str = COMMAND


def place(text: str, command: str) -> Destination:
    """`DESTINATION` or `NAME=DESTINATION`; a destination is `[user@]host` or `ssh://[user@]host[:port]`.

    Raises:
        FleetError: where ssh would take it for something else.
    """
    name, _, destination = text.rpartition("=")
    if not destination or destination.startswith("-") or any(letter.isspace() for letter in destination):
        raise FleetError(f"`{text}` is no destination of ssh", "write HOST, USER@HOST, or NAME=ssh://USER@HOST:PORT")
    host = destination.removeprefix("ssh://").rpartition("@")[2]
    if destination.startswith("ssh://"):
        host = host.partition(":")[0]
    return Destination(Identifier.parse(name or host, "name of a host"), destination, command)


class Connection:
    """`ssh DESTINATION assay fleet attach`, and what it answers."""

    def __init__(self, where: Destination, process: subprocess.Popen[bytes], log: IO[bytes]) -> None:
        self.where = where
        self._process = process
        self._orders, self._answers = (_pipe(one) for one in (process.stdin, process.stdout))
        self._log = log
        self._read = b""

    def tell(self, order: Json, follows: Path | None = None) -> None:
        """Sends an order, and a file behind it. A host that is gone is seen by its answer."""
        with contextlib.suppress(BrokenPipeError):
            self._orders.write(json.dumps(order).encode() + b"\n")
            if follows is not None:
                with follows.open("rb") as opened:
                    shutil.copyfileobj(opened, self._orders)
            self._orders.flush()

    def answer(self) -> Json:
        """Its next answer.

        Raises:
            FleetError: where it ended, says nothing for too long, or answers with an error; the host is named.
        """
        until = time.monotonic() + _ANSWER_S
        while True:
            line = self._line(until)
            if line.startswith(MARK.encode()):
                found: Json = limits.json_document(line.decode().removeprefix(MARK), f"the answer of {self.where.name}")
                if "error" in found:
                    problem = found["error"]
                    message = f"{self.where.name}: {problem['message']}"
                    raise FleetError(message, str(problem["hint"]), int(problem["exit_code"]))
                return found

    def end(self) -> None:
        """Says that nobody is here any more; what runs there ends by that."""
        for pipe in (self._orders, self._answers):
            with contextlib.suppress(BrokenPipeError):
                pipe.close()

    def wait(self) -> None:
        """Until it has ended, for some time; then it is ended."""
        try:
            self._process.wait(_END_S)
        except subprocess.TimeoutExpired:
            self._process.kill()
            self._process.wait()

    def _line(self, until: float) -> bytes:
        while b"\n" not in self._read:
            left = until - time.monotonic()
            if left <= 0 or not select.select([self._answers], [], [], left)[0]:
                message = f"{self.where.name} has not answered for {_ANSWER_S:.0f} s"
                raise FleetError(message, f"try `ssh {self.where.destination} assay --version`", FAILED)
            block = os.read(self._answers.fileno(), _BLOCK)
            if not block or len(self._read) > _CHATTER:
                raise self._ended()
            self._read += block
        line, _, self._read = self._read.partition(b"\n")
        return line

    def _ended(self) -> AssayError:
        """Why there is no answer: what ssh or the host said at last."""
        self.end()
        self.wait()
        self._log.seek(0)
        told, hint = said(self._log.read().decode(errors="replace"))
        name, code = self.where.name, self._process.returncode
        if code == _NOT_FOUND:
            message = f"{name} has no command `{self.where.command}`{f' ({told})' if told else ''}"
            hint = "install `assay[fleet]` there, or say where it is: --remote PATH, or `assay` in HOSTS.toml"
            return FleetError(message, hint, NOT_POSSIBLE)
        if code == _NO_CONNECTION:
            hint = f"make `ssh -o BatchMode=yes {self.where.destination} true` work: a key, and a host that is known"
            return FleetError(f"{name} cannot be reached by ssh: {told or 'it ended'}", hint, FAILED)
        return FleetError(f"{name}: {told or f'its command ended with exit code {code}'}", hint, FAILED)


def _pipe(found: IO[bytes] | None) -> IO[bytes]:
    if found is None:
        raise FleetError("a connection has no pipes", "this is a defect of Assay: report it", FAILED)
    return found


@contextlib.contextmanager
def opened(where: Destination) -> Iterator[Connection]:
    """A connection, meanwhile; it does not outlive this process."""
    options = [word for key, value in _OPTIONS.items() for word in ("-o", f"{key}={value}")]
    remote = f"exec {shlex.quote(where.command)} fleet attach"
    with tempfile.TemporaryFile() as log:
        try:
            process = subprocess.Popen(
                ["ssh", "-T", *options, "--", where.destination, remote],
                stdin=subprocess.PIPE,
                stdout=subprocess.PIPE,
                stderr=log,
                start_new_session=True,
                preexec_fn=die_with(os.getpid()),  # noqa: PLW1509  No threads yet.
            )
        except OSError as error:
            message = f"ssh cannot be started: {error.strerror}"
            raise FleetError(message, "install OpenSSH's client", NOT_POSSIBLE) from error
        made = Connection(where, process, log)
        try:
            yield made
        finally:
            made.end()
            made.wait()
