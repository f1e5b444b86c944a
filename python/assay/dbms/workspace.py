"""A folder of our own on a target for the length of a run; what killed runs left there is removed first."""

from __future__ import annotations

import shutil
from pathlib import Path
from types import TracebackType
from typing import Self

from assay.dbms import place


class Workspace:
    """A folder in a target, removed in the end."""

    def __init__(self, target: Path) -> None:
        self.target = target
        self._place: place.Place | None = None

    @property
    def path(self) -> Path:
        """The folder."""
        return self._place.path if self._place is not None else self.target

    def __enter__(self) -> Self:
        place.clean(self.target)
        self._place = place.Place.make(self.target)
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        if self._place is not None:
            self._place.remove()

    def copy(self, folder: Path, name: str) -> Path:
        """A copy of a folder inside, beside it or not."""
        return Path(shutil.copytree(folder, self.path / name))

    def remove(self, folder: Path) -> None:
        """Removes a folder inside, with all that it holds."""
        if self._place is not None:
            self._place.remove_inside(folder.name)

    def folder(self, name: str) -> Path:
        """A new folder inside."""
        path = self.path / name
        path.mkdir()
        return path
