"""The flags that all workloads of `assay engine` share: declared once, and added to each command."""

from __future__ import annotations

import inspect
from collections.abc import Callable
from dataclasses import dataclass
from enum import StrEnum
from pathlib import Path
from typing import Annotated, Any

import typer


class Durability(StrEnum):
    """What makes an acknowledged transaction durable."""

    NONE = "none"
    FDATASYNC = "fdatasync"
    PLP = "plp"
    PMEM = "pmem"


@dataclass(frozen=True)
class Flags:
    """Where and how the engine runs."""

    on: Annotated[Path, typer.Option("--on", metavar="DIR", help="Folder for the pages.")] = Path()
    log: Annotated[Path | None, typer.Option("--log", metavar="DIR", help="Folder for the log; that of the pages.")] = (
        None
    )
    pmem: Annotated[
        Path | None, typer.Option("--pmem", metavar="DIR", help="Persistent memory for the log's tail.")
    ] = None
    pool: Annotated[str, typer.Option("--pool", metavar="BYTES", help="The buffer pool.")] = "1GiB"
    page: Annotated[str, typer.Option("--page", metavar="BYTES", help="A page: 4 to 64 KiB.")] = "4KiB"
    log_size: Annotated[
        str, typer.Option("--log-size", metavar="BYTES", help="The log's file, given when it is made.")
    ] = "256MiB"
    threads: Annotated[int, typer.Option("--threads", min=1, help="Threads.")] = 1
    tasks: Annotated[
        int, typer.Option("--tasks", min=1, help="Cooperative tasks of each thread; of TPC-C each is a terminal.")
    ] = 32
    duration: Annotated[str, typer.Option("--duration", metavar="TIME", help="Of the window.")] = "10s"
    warmup: Annotated[str, typer.Option("--warmup", metavar="TIME", help="Before the window.")] = "2s"
    durability: Annotated[Durability, typer.Option("--durability", help="What makes a commit durable.")] = (
        Durability.FDATASYNC
    )
    keep: Annotated[
        Path | None, typer.Option("--keep", metavar="DIR", help="Keeps the database there, or opens it.")
    ] = None
    seed: Annotated[int, typer.Option("--seed", help="Of everything that is left to chance.")] = 0
    out: Annotated[Path | None, typer.Option("--out", metavar="DIR", help="Result folder.")] = None
    json: Annotated[bool, typer.Option("--json", help="One JSON document on standard output.")] = False


def with_flags(command: Callable[..., None]) -> Callable[..., None]:
    """The command with the shared flags behind its own; it gets them together as `flags`."""
    shared = inspect.signature(Flags, eval_str=True).parameters
    own = inspect.signature(command, eval_str=True).parameters

    def called(**given: Any) -> None:
        flags = Flags(**{name: given.pop(name) for name in shared})
        command(**given, flags=flags)

    listed = [one for name, one in own.items() if name != "flags"] + list(shared.values())
    keyword = inspect.Parameter.KEYWORD_ONLY
    called.__signature__ = inspect.Signature([one.replace(kind=keyword) for one in listed])  # type: ignore[attr-defined]
    called.__annotations__ = {one.name: one.annotation for one in listed}
    called.__name__, called.__doc__ = command.__name__, command.__doc__
    return called
