"""`assay fleet render`."""

from __future__ import annotations

from enum import StrEnum
from pathlib import Path
from typing import Annotated

import typer

from assay.cli.flags import On, Seed, Set, _studies
from assay.cli.fleet.flags import Hosts


class ClusterKind(StrEnum):
    """Who hands out the hosts."""

    SLURM = "slurm"
    KUBERNETES = "kubernetes"


def render(
    kind: Annotated[ClusterKind, typer.Argument(help="Who hands out the hosts.")],
    study: Annotated[str, typer.Argument(metavar="STUDY|FILE", autocompletion=_studies, help="Name or TOML file.")],
    on: On = None,
    settings: Set = None,
    profile: Annotated[str, typer.Option("--profile", help="Settings of the study file, such as quick.")] = "",
    repeats: Annotated[int, typer.Option("--repeats", min=0, help="How often each cell runs.")] = 0,
    seed: Seed = 1,
    nodes: Annotated[int, typer.Option("--nodes", min=1, max=10000, help="Slurm: how many nodes.")] = 2,
    time: Annotated[str, typer.Option("--time", metavar="HH:MM:SS", help="Slurm: how long at most.")] = "01:00:00",
    partition: Annotated[str, typer.Option("--partition", metavar="NAME", help="Slurm: where from.")] = "",
    hosts: Hosts = None,
    image: Annotated[str, typer.Option("--image", metavar="IMAGE", help="Kubernetes: setup/Dockerfile's.")] = "assay",
    namespace: Annotated[str, typer.Option("--namespace", metavar="NAME", help="Kubernetes: theirs.")] = "default",
    out: Annotated[
        Path | None, typer.Option("--out", metavar="FILE", help="Write it there; else it is printed.")
    ] = None,
) -> None:
    """Write what starts a run on a cluster: a batch script for Slurm, or objects for Kubernetes.

    Nodes of Kubernetes and their folders are those of --hosts: its names are names of nodes. Neither was run on a
    cluster.
    """
    from assay.cli import output
    from assay.fleet import hosts as files
    from assay.fleet import kubernetes, slurm
    from assay.fleet.error import FleetError
    from assay.fleet.rendered import RenderedRun

    run = RenderedRun(study, tuple(on or ()), tuple(settings or ()), profile, repeats, seed)
    if kind == ClusterKind.SLURM:
        text = slurm.script(run, slurm.SlurmJob(nodes, time, partition))
    elif hosts is None:
        raise FleetError("which nodes?", "name them and their folders: --hosts HOSTS.toml; see docs/fleet-hosts.md")
    else:
        text = kubernetes.manifest(run, kubernetes.Cluster(files.read(hosts).on, image, namespace))
    if out is None:
        output.say(text.rstrip())
    else:
        out.write_text(text, encoding="utf-8")
