"""Commands that are loaded when they are typed, and a `--help` that is printed from the table of contents."""

from __future__ import annotations

import importlib
from collections.abc import Iterable, Iterator, Mapping
from typing import Any, cast

import typer
from typer.core import TyperGroup

from assay.cli.contents import Command, Group, Section

_SETTINGS: dict[str, Any] = {"rich_markup_mode": None, "no_args_is_help": True}


class Shelf(Mapping[str, Any]):
    """Commands by name. A command is loaded when it is taken; names are there at once."""

    def __init__(self, sections: Iterable[Section]) -> None:
        self._entries = {entry.name: entry for section in sections for entry in section.entries}
        self._loaded: dict[str, Any] = {}

    def __getitem__(self, name: str) -> Any:
        if name not in self._loaded:
            self._loaded[name] = load(self._entries[name])
        return self._loaded[name]

    def __contains__(self, name: object) -> bool:
        return name in self._entries

    def __iter__(self) -> Iterator[str]:
        return iter(self._entries)

    def __len__(self) -> int:
        return len(self._entries)


class Listed(TyperGroup):
    """A group that knows its commands by the table of contents."""

    sections: tuple[Section, ...] = ()

    def __init__(self, **settings: Any) -> None:
        super().__init__(**settings)
        self.commands = cast("Any", Shelf(self.sections))

    def format_commands(self, ctx: Any, formatter: Any) -> None:
        """Every section with an example; nothing is loaded for it."""
        del ctx
        for section in self.sections:
            with formatter.section(section.title):
                formatter.write_dl([(entry.name, entry.says) for entry in section.entries])
                if section.example:
                    formatter.write_paragraph()
                    formatter.write_text(f"For example: {section.example}")


def load(entry: Command | Group) -> Any:
    """The command of an entry, as typer makes it of a function."""
    if isinstance(entry, Group):
        alone = function(Command(entry.name, entry.alone, entry.says)) if entry.alone else None
        sections = [Section("Commands", "", entry.commands)]
        return typer.main.get_command(group(entry.name, entry.says, sections, alone))
    single = typer.Typer(rich_markup_mode=None, add_completion=False)
    single.command(entry.name)(function(entry))
    return typer.main.get_command(single)


def function(entry: Command) -> Any:
    """The function of a command: it has the name of its file, with `_` where that is a word of Python's."""
    name = entry.file.rpartition(".")[2]
    module = importlib.import_module(f"assay.cli.{entry.file}")
    found = getattr(module, name, None)
    return getattr(module, f"{name}_") if found is None else found


def group(name: str, says: str, sections: Iterable[Section], alone: Any = None, /, **settings: Any) -> typer.Typer:
    """Commands behind one word; `alone` is what the word does where none follows."""
    kind = type("Listed", (Listed,), {"sections": tuple(sections)})
    if alone is not None:
        settings |= {"help": alone.__doc__, "no_args_is_help": False}
    made = typer.Typer(name=name, cls=kind, **{"help": says, "add_completion": False, **_SETTINGS, **settings})
    made.callback(invoke_without_command=alone is not None)(alone or _nothing)
    return made


def _nothing() -> None:
    """A group has no options of its own."""
