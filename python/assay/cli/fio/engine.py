"""`assay fio engine`."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from assay.cli.flags import JsonFlag


def engine(
    twin: Annotated[str, typer.Argument(metavar="TWIN", help="The twin of the line that is printed.")] = "gp3",
    json: JsonFlag = False,
) -> None:
    """Build the engine with which fio plays a drive that is not here, and print the line to use."""
    from assay.cli import output
    from assay.error import DONE
    from assay.fio import engine as engines
    from assay.target import catalog
    from assay.twin.predict import host_ns

    name = twin.removeprefix("twin:")
    catalog.twin(name)
    name = str(Path(name).absolute()) if "/" in name or name.endswith(".toml") else name
    built = engines.build(output.tell)
    line = built.line(name, host_ns(f"twin:{name}"))
    if json:
        output.emit({"engine": str(built.path), "fio": built.version, "line": line})
        raise typer.Exit(DONE)
    output.say(f"{built.path} is for fio {built.version}. Try it:")
    output.say(line)
    output.say(f"fio keeps up with drives that take more than about {engines.LEAST_US} us for a request.")
    raise typer.Exit(DONE)
