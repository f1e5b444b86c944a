"""What a run in a result folder was asked and what of it is done, so that `--resume` goes on where it stopped.

One file per run, one line of JSON per change, each on disk before the run goes on: a run that is killed leaves a valid
prefix, and at most one line that was cut off, which does not count.
"""

from __future__ import annotations

import json
import os
import secrets
from collections.abc import Mapping
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

from assay.error import BAD_JOB
from assay.results.files import ResultError, explain, read_json, require_ours
from assay.study.work import save

Json = dict[str, Any]
VERSION = 1
_PATTERN = "dbms-*.jsonl"


class Progress:
    """The progress of a run. Nothing is written before the first step is done."""

    def __init__(self, folder: Path, command: str, asked: Mapping[str, Any]) -> None:
        self.folder = folder.absolute()
        self._head: Json = {"version": VERSION, "command": command, "cwd": str(Path.cwd()), "asked": dict(asked)}
        stamp = datetime.now(UTC).strftime("%Y%m%dT%H%M%S")
        self._path = self.folder / f"dbms-{stamp}-{secrets.token_hex(3)}.jsonl"
        self.steps: list[Json] = []
        """What is done, as it was noted."""
        self.ended = False
        """All of it is done."""

    @classmethod
    def resume(cls, folder: Path, command: str) -> Progress:
        """The newest run of a command in a result folder. Records of what broke off are removed: it is done again.

        Raises:
            ResultError: where there is none, or it is of another version.
        """
        paths = sorted(folder.glob(_PATTERN))
        require_ours(folder, *(path.name for path in paths))
        for path in reversed(paths):
            head, steps = _read(path)
            if head.get("command") != command:
                continue
            if head.get("version") != VERSION:
                message = f"{path} is of another version of Assay"
                raise ResultError(message, hint="go on with the one that began it", code=BAD_JOB)
            found = cls(folder, command, head["asked"])
            found._path, found._head = path.absolute(), head
            found.steps = [one for one in steps if "ended" not in one and "left" not in one]
            found.ended = any("ended" in one for one in steps)
            for one in steps:
                if "left" in one:
                    _remove(found.folder, one["left"])
            return found
        hint = "name the folder that --out named, or the newest in assay-results; a run that did nothing leaves none"
        raise ResultError(f"{folder} holds no run of `assay dbms {command}` to go on with", hint=hint, code=BAD_JOB)

    @property
    def asked(self) -> Json:
        """The flags, as they were typed."""
        found: Json = self._head["asked"]
        return found

    @property
    def cwd(self) -> Path:
        """Where it began: what relative paths are relative to."""
        return Path(self._head["cwd"])

    def done(self, **keys: Any) -> Json | None:
        """The step that has these values; none where it is still to be done."""
        return next((one for one in self.steps if all(one.get(key) == value for key, value in keys.items())), None)

    def add(self, step: Json) -> None:
        """Notes a step, durably."""
        self._write(step)
        self.steps.append(step)

    def keep(self, record: Json, *, finished: bool, **keys: Any) -> None:
        """Saves a record; one that is not `finished` is replaced when the run goes on."""
        path = save(self.folder, record)
        name = str(path.relative_to(self.folder))
        if finished:
            self.add({"record": name, **keys})
        else:
            self._write({"left": name})

    def record(self, step: Json) -> Json:
        """The record of a step that was kept."""
        found: Json = read_json(self.folder / step["record"])
        return found

    def end(self) -> None:
        """All of it is done."""
        self._write({"ended": True})
        self.ended = True

    def _write(self, line: Json) -> None:
        try:
            self.folder.mkdir(parents=True, exist_ok=True)
            fresh = not self._path.exists()
            with self._path.open("ab") as file:
                for one in [self._head] * fresh + [line]:
                    file.write((json.dumps(one, ensure_ascii=False) + "\n").encode())
                file.flush()
                os.fsync(file.fileno())
        except OSError as error:
            raise explain(error, self._path) from error


def _remove(folder: Path, name: str) -> None:
    """Removes a record of a result folder; a name that leads out of it was not written by a run."""
    path = (folder / name).resolve()
    if not path.is_relative_to(folder.resolve()):
        raise ResultError(
            f"a record of {folder} is named {name}, which lies elsewhere", hint="run it again", code=BAD_JOB
        )
    path.unlink(missing_ok=True)


def _read(path: Path) -> tuple[Json, list[Json]]:
    """The head and the lines; a line that was cut off is cut from the file too, so that the next one stands alone."""
    try:
        content = path.read_bytes()
        whole = content[: content.rfind(b"\n") + 1]
        if len(whole) < len(content):
            os.truncate(path, len(whole))
        lines = [json.loads(line) for line in whole.splitlines()]
    except OSError as error:
        raise explain(error, path) from error
    except ValueError as error:
        raise ResultError(f"{path} is damaged: {error}", hint="run it again into another folder") from error
    if not lines or not all(isinstance(line, dict) for line in lines):
        return {}, []
    return lines[0], lines[1:]
