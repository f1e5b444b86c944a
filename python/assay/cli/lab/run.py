"""`assay lab run`."""

from __future__ import annotations

from typing import Annotated

import typer

from assay.cli.flags import (
    Accel,
    JsonFlag,
    Memory,
    Modules,
    Out,
    Vmlinuz,
)


def run(
    suites: Annotated[
        list[str] | None, typer.Argument(metavar="SUITE...", help="Suites, or SUITE/CHECK; `ci` by default.")
    ] = None,
    out: Out = None,
    keep: Annotated[bool, typer.Option("--keep", help="Keep the guest's console among the results.")] = False,
    accel: Accel = "auto",
    memory: Memory = "2GiB",
    kernel: Vmlinuz = None,
    modules: Modules = None,
    seed: Annotated[
        int | None, typer.Option("--seed", min=0, help="Of all random choices; drawn and shown without.")
    ] = None,
    json: JsonFlag = False,
) -> None:
    """Boot the emulated machine and check behaviour in it.

    No time or bandwidth in there says anything about a device.
    """
    from assay_lab.command import Options, run

    raise typer.Exit(run(suites or [], Options(accel, memory, kernel, modules), out, keep, json, seed))
