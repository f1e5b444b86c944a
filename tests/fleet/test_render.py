"""What is rendered for clusters: held against Kubernetes' schemas, and the batch script run with stand-ins of Slurm."""

from __future__ import annotations

import json
import os
import re
import subprocess
import tomllib
from pathlib import Path
from typing import Any

import pytest
from assay.error import AssayError
from assay.fleet import hosts, kubernetes, slurm
from assay.fleet.kubernetes import Cluster
from assay.fleet.rendered import RenderedRun
from assay.untyped import Json
from commands import assay

from .processes import HERE
from .sshd import remote

yaml = pytest.importorskip("yaml")
ROOT = HERE.parent.parent
DEPLOY = ROOT / "deploy"

# As sbatch(1) has them: options, and what each takes.
SBATCH = {
    "job-name": r"[\w.-]+",
    "nodes": r"\d+(-\d+)?",
    "ntasks-per-node": r"\d+",
    "time": r"(\d+-)?\d{1,2}(:\d\d){0,2}",
    "exclusive": "",
    "mem": r"\d+[KMGT]?",
    "no-requeue": "",
    "signal": r"([BR]+:)?(\w+)(@\d+)?",
    "output": r"[\w.%-]+",
    "partition": r"[\w.-]+",
}
SCONTROL = '[ "$*" = "show hostnames n[1-2]" ] || exit 1\nprintf "n1\\nn2\\n"'
SRUN = """[ "$1" = --ntasks-per-node=1 ] || exit 1
shift
trap 'kill $first $second' TERM
SLURMD_NODENAME=n1 "$@" & first=$!
SLURMD_NODENAME=n2 "$@" & second=$!
wait
wait"""


def _cluster(**more: Any) -> Cluster:
    return Cluster(hosts.read(DEPLOY / "hosts.toml").on, "assay", **more)


def _objects(text: str) -> list[Json]:
    return list(yaml.safe_load_all(text))


def test_every_object_is_one_of_kubernetes() -> None:
    validate = pytest.importorskip("kubernetes_validate")
    found = _objects(kubernetes.manifest(RenderedRun(str(HERE / "rate.toml")), _cluster(namespace="drives")))
    kinds = {one["kind"] for one in found}
    assert kinds == {"Service", "Pod", "PersistentVolume", "PersistentVolumeClaim", "ConfigMap", "Job"}
    for one in found:
        validate.validate(one, validate.latest_version(), strict=True)
    (job,) = (one for one in found if one["kind"] == "Job")
    with pytest.raises(validate.ValidationError):
        validate.validate(job | {"spec": {"template": {"spec": {"containers": {}}}}}, validate.latest_version())


def test_a_pod_a_node_has_its_own_keys_and_its_volume() -> None:
    found = _objects(kubernetes.manifest(RenderedRun("dana-long"), _cluster()))
    workers = [one for one in found if one["metadata"].get("labels") == {"app": "assay-worker"}]
    assert [one["spec"]["nodeSelector"]["kubernetes.io/hostname"] for one in workers] == ["node-a", "node-b"]
    for one, node in zip(workers, ("node-a", "node-b"), strict=True):
        keys, data = one["spec"]["volumes"]
        assert keys["secret"] == {"secretName": f"assay-keys-{node}", "defaultMode": 0o400}
        claim = data["persistentVolumeClaim"]["claimName"]
        (volume,) = (one for one in found if one["kind"] == "PersistentVolume" and one["metadata"]["name"] == claim)
        assert volume["spec"]["local"] == {"path": "/mnt/data"}
        (term,) = volume["spec"]["nodeAffinity"]["required"]["nodeSelectorTerms"]
        assert term["matchExpressions"][0]["values"] == [node]
    (job,) = (one for one in found if one["kind"] == "Job")
    assert job["spec"]["backoffLimit"] == 0, "a run that has begun is not begun again by itself"


def test_the_run_finds_its_hosts_and_its_study_in_what_is_mounted(tmp_path: Path) -> None:
    found = _objects(kubernetes.manifest(RenderedRun(str(HERE / "rate.toml"), repeats=3), _cluster()))
    (files,) = (one["data"] for one in found if one["kind"] == "ConfigMap")
    (tmp_path / "hosts.toml").write_text(files["hosts.toml"])
    read = hosts.read(tmp_path / "hosts.toml")
    assert (read.on, read.scheduler) == (_cluster().hosts, "tls://assay-scheduler:8786")
    assert tomllib.loads(files["rate.toml"])["name"] == "fleet-rate"
    (job,) = (one for one in found if one["kind"] == "Job")
    words = job["spec"]["template"]["spec"]["containers"][0]["args"]
    assert words[:3] == ["fleet", "run", "/fleet/rate.toml"]
    assert words[words.index("--repeats") + 1] == "3"


def test_no_key_is_rendered_and_strange_names_are_refused() -> None:
    text = kubernetes.manifest(RenderedRun("dana-long"), _cluster())
    assert "PRIVATE KEY" not in text
    several: list[dict[str, list[str]]] = [{"Node_A": ["/mnt"]}, {"a": []}, {"a": ["data"]}]
    for strange in several:
        with pytest.raises(AssayError):
            kubernetes.manifest(RenderedRun("dana-long"), Cluster(strange, "assay"))


def test_what_lies_in_deploy_is_what_is_rendered() -> None:
    for name, words in (
        ("kubernetes.yaml", ("kubernetes", "dana-long", "--hosts", str(DEPLOY / "hosts.toml"))),
        ("slurm.sbatch", ("slurm", "dana-long", "--nodes", "4", "--profile", "quick")),
    ):
        done = assay("fleet", "render", *words)
        assert done.returncode == 0, done.stderr
        assert done.stdout == (DEPLOY / name).read_text(), f"write deploy/{name} anew: assay fleet render {words}"


def test_options_of_the_batch_script_are_those_of_sbatch() -> None:
    text = slurm.script(RenderedRun("dana-long"), slurm.SlurmJob(4, "1-00:30:00", "fast"))
    lines = text.splitlines()
    options = [line.removeprefix("#SBATCH ") for line in lines if line.startswith("#SBATCH ")]
    assert lines[1 : 1 + len(options)] == [f"#SBATCH {one}" for one in options], "sbatch reads none after a command"
    assert len(options) == len(SBATCH)
    for one in options:
        name, _, value = one.removeprefix("--").partition("=")
        assert re.fullmatch(SBATCH[name], value), one
    assert subprocess.run(["bash", "-n"], input=text, text=True, check=False).returncode == 0
    with pytest.raises(AssayError, match="no time of Slurm"):
        slurm.script(RenderedRun("dana-long"), slurm.SlurmJob(1, "soon"))


@pytest.mark.usefixtures("assayer")
def test_the_batch_script_runs_the_study_on_all_nodes_and_leaves_no_keys(tmp_path: Path) -> None:
    pytest.importorskip("distributed")
    tools = tmp_path / "bin"
    tools.mkdir()
    remote(tools)
    for name, text in (("scontrol", SCONTROL), ("srun", SRUN)):
        (tools / name).write_text(f"#!/bin/bash\n{text}\n")
        (tools / name).chmod(0o755)
    script = tmp_path / "job"
    script.write_text(slurm.script(RenderedRun(str(HERE / "rate.toml")), slurm.SlurmJob(2, "10")))
    told = {"PATH": f"{tools}:{os.environ['PATH']}", "SLURM_JOB_NODELIST": "n[1-2]", "SLURM_JOB_ID": "7"}
    environment = os.environ | told | {"ASSAY_INTERFACE": "lo"}
    done = subprocess.run(["bash", script], cwd=tmp_path, env=environment, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    document = json.loads((tmp_path / "assay-rate-7" / "fleet.json").read_text())
    assert [host["name"] for host in document["hosts"]] == ["n1", "n2"]
    assert {one["state"] for one in document["totals"][0]["hosts"]} == {"finished"}
    assert not list(tmp_path.glob("assay-fleet.*")), "keys were left behind"
