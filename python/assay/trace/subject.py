"""What is recorded: a process with its descendants, a PostgreSQL server, or whatever a device does."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from pathlib import Path

from assay.error import BAD_JOB
from assay.trace import process
from assay.trace.device import TracedDevice, devices_of
from assay.trace.error import TraceError
from assay.trace.postgres import TracedServer, find


@dataclass
class Subject:
    """`pid` is none where everything on the devices is meant."""

    name: str
    pid: int | None = None
    folders: list[Path] = field(default_factory=list)
    devices: list[TracedDevice] = field(default_factory=list)
    server: TracedServer | None = None
    log: Path | None = None

    @property
    def sentence(self) -> str:
        """For the scenario."""
        if self.log is not None:
            return str(self.log)
        if self.pid is not None:
            where = f" on {', '.join(one.name for one in self.devices)}" if self.devices else ""
            return f"{self.name} (process {self.pid} and its descendants{where})"
        if self.server is not None and not self.devices:
            return f"{self.name}, by its connection"
        return f"everything on {', '.join(one.name for one in self.devices)} under {self.folders[0]}"

    def close(self) -> None:
        """Ends what was opened to look."""
        if self.server is not None:
            self.server.close()


def subject_of(pid: int | None, pg: str, paths: Sequence[Path]) -> Subject:
    """What was named; `paths` bound the devices of a process, or are the subject themselves.

    Raises:
        TraceError: where it is not there, or nothing or two things were named.
    """
    if (pid is not None) and pg:
        raise TraceError("--pid and --pg name two things", hint="give one of them", code=BAD_JOB)
    for path in paths:
        if not path.exists():
            raise TraceError(f"{path} is not there", hint="name a folder of the database", code=BAD_JOB)
    if pg:
        return _postgres(pg, paths)
    if pid is not None:
        name = process.check(pid)
        files = list(paths) or list(process.open_files(process.tree(pid)))
        return Subject(name, pid, list(paths), devices_of(files))
    if not paths:
        hint = "--pid PID, --pg DATADIR|CONNECTION, or --path DIR for whatever its device does"
        raise TraceError("what is to be recorded?", hint=hint, code=BAD_JOB)
    devices = devices_of(paths)
    if not devices:
        hint = "name a folder on a disk, or a process: `--pid PID --means calls` sees what it asks of the kernel"
        raise TraceError(f"{paths[0]} lies on no block device: no block operation can be seen", hint=hint, code=BAD_JOB)
    return Subject(devices[0].name, None, [path.resolve() for path in paths], devices)


def _postgres(text: str, paths: Sequence[Path]) -> Subject:
    server = find(text)
    name = f"postgres {server.version}".strip()
    if server.pid is None:
        return Subject(name, None, list(paths), devices_of(paths), server)
    try:
        process.check(server.pid)
    except TraceError:
        if server.connection is None:
            server.close()
            raise
        return Subject(name, None, [], [], server)
    folders = list(paths) or server.folders
    return Subject(name, server.pid, folders, devices_of(folders), server)
