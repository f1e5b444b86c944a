"""A batch script for Slurm: a job that has its nodes to itself, a worker on each, certificates of its own."""

from __future__ import annotations

import re
import shlex
from dataclasses import dataclass

from assay.document.identifier import Identifier
from assay.fleet.error import FleetError
from assay.fleet.rendered import RenderedRun

_TIME = re.compile(r"(\d+-)?\d{1,2}(:\d\d){0,2}")
_SCRIPT = """#!/bin/bash
{options}
# Written by `assay fleet render slurm`. Not run on a cluster: tried on one machine, with programs in the place of
# Slurm's. Submit it with sbatch from a folder that all nodes see; all of them need `assay` with its extra `fleet`.
set -euo pipefail
umask 077

# Certificates of this job alone, in a folder that all nodes see and nobody else may read.
place=$(mktemp -d "${{ASSAY_SHARED:-$PWD}}/assay-fleet.XXXXXX")
started=()
ended() {{
    trap '' INT TERM
    ((${{#started[@]}} == 0)) || kill "${{started[@]}}" 2>/dev/null || :
    wait || :
    rm -f -- "$place"/*.pem "$place"/*.key "$place"/hosts.toml "$place"/scheduler
    rmdir -- "$place"
}}
trap ended EXIT
trap 'kill "${{run:-}}" 2>/dev/null || :' INT TERM

# This node's address on the interface that ASSAY_INTERFACE names, or else its first.
address() {{
    if [[ ${{ASSAY_INTERFACE:-}} ]]; then
        ip -4 -oneline address show dev "$ASSAY_INTERFACE" | sed -E 's|.* inet ([0-9.]+)/.*|\\1|;q'
    else
        hostname -I | cut -d ' ' -f 1
    fi
}}
export -f address

mapfile -t nodes < <(scontrol show hostnames "$SLURM_JOB_NODELIST")
assay fleet keys "$place" --days 2 "${{nodes[@]/#/--host=}}" >/dev/null

assay fleet scheduler --listen "tls://$(address):0" --keys "$place" >"$place/scheduler" &
started+=($!)
until [[ -s $place/scheduler ]]; do
    kill -0 "${{started[0]}}"
    sleep 0.2
done
scheduler=$(<"$place/scheduler")

# Each ends when the scheduler has gone.
srun --ntasks-per-node=1 bash -c \\
    'exec assay fleet worker "$0" --name "$SLURMD_NODENAME" --listen "$(address)" --keys "$1"' \\
    "$scheduler" "$place" >/dev/null &
started+=($!)

{{
    printf 'scheduler = "%s"\\nkeys = "."\\n' "$scheduler"
    printf '\\n[[hosts]]\\nname = "%s"\\n' "${{nodes[@]}}"
}} >"$place/hosts.toml"
{command} \\
    --hosts "$place/hosts.toml" --wait 300 --out "$PWD/assay-{name}-$SLURM_JOB_ID" &
run=$!
code=0
while :; do
    wait "$run" && code=0 || code=$?
    kill -0 "$run" 2>/dev/null || break
done
exit "$code"
"""


@dataclass(frozen=True)
class SlurmJob:
    """How many nodes, for how long at most (`[DAYS-]HOURS:MINUTES:SECONDS` or minutes), in which partition."""

    nodes: int
    time: str
    partition: str = ""

    def options(self, name: str) -> dict[str, str]:
        """As sbatch is told them.

        Raises:
            FleetError: where a time is none.
        """
        if not _TIME.fullmatch(self.time):
            raise FleetError(f"`--time {self.time}` is no time of Slurm", "write MINUTES or [DAYS-]HH:MM:SS")
        found = {"job-name": f"assay-{name}", "nodes": str(self.nodes), "ntasks-per-node": "1", "time": self.time}
        # All of each node: what others do there would be in the figures. Interrupted before the end, it keeps what is.
        found |= {
            "exclusive": "",
            "mem": "0",
            "no-requeue": "",
            "signal": "B:INT@120",
            "output": f"assay-{name}-%j.log",
        }
        partition = {"partition": Identifier.parse(self.partition, "name of a partition")} if self.partition else {}
        return found | partition


def script(run: RenderedRun, job: SlurmJob) -> str:
    """The script."""
    given = (f"--{name}={value}" if value else f"--{name}" for name, value in job.options(run.name).items())
    options = "\n".join(f"#SBATCH {one}" for one in given)
    command = shlex.join(run.words(str(run.file or run.study)))
    return _SCRIPT.format(options=options, command=command, name=run.name)
