"""`assay fleet run`."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from assay.cli.flags import JsonFlag, On, Out, Seed, Set, _studies
from assay.cli.fleet.flags import Hosts, Keys, Listen, Local, Remote, Scheduler, Ssh


def run(
    study: Annotated[
        str, typer.Argument(metavar="STUDY|FILE", autocompletion=_studies, help="Name or TOML file.")
    ] = "",
    local: Local = 0,
    hosts: Hosts = None,
    scheduler: Scheduler = "",
    keys: Keys = None,
    ssh: Ssh = "",
    listen: Listen = "",
    remote: Remote = "assay",
    on: On = None,
    settings: Set = None,
    out: Out = None,
    profile: Annotated[str | None, typer.Option("--profile", help="Settings of the study file, such as quick.")] = None,
    repeats: Annotated[int | None, typer.Option("--repeats", min=1, help="How often each cell runs.")] = None,
    seed: Seed = 1,
    lead: Annotated[
        float, typer.Option("--lead", min=0.5, max=600, help="Seconds from the order to the moment at which all begin.")
    ] = 5.0,
    wait: Annotated[
        float, typer.Option("--wait", min=1, max=86400, help="Seconds until scheduler and hosts must be there.")
    ] = 30.0,
    resume: Annotated[Path | None, typer.Option("--resume", metavar="DIR", help="Continue a run.")] = None,
    aa: Annotated[
        bool, typer.Option("--aa/--no-aa", help="Show first that workers do not bend figures; takes ten seconds.")
    ] = True,
    yes: Annotated[
        bool, typer.Option("--yes", help="Write more than 50 GiB on a host; send the program where it is not.")
    ] = False,
    json: JsonFlag = False,
) -> None:
    """Run a study on many hosts, every cell at the same moment on all of them.

    Each host leaves an ordinary result folder below DIR/hosts; fleet.json has the totals. `{host}` in a target's name
    is the host's. Exit code 3 where a host was lost: what was finished is kept.
    """
    from assay.cli.fleet.running import FleetFlags, Where, measure

    asked = FleetFlags(study, on or [], settings or [], out, profile, repeats, seed, lead, resume, yes, json, aa)
    raise typer.Exit(measure(Where(local, hosts, scheduler, keys, ssh, listen, remote, yes, wait), asked))
