"""`assay lab shell`."""

from __future__ import annotations

import typer

from assay.cli.flags import Accel, Memory, Modules, Vmlinuz


def shell(
    accel: Accel = "auto",
    memory: Memory = "2GiB",
    kernel: Vmlinuz = None,
    modules: Modules = None,
) -> None:
    """A shell in the emulated machine, with everything attached."""
    from assay_lab.command import Options, shell

    raise typer.Exit(shell(Options(accel, memory, kernel, modules)))
