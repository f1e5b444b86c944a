"""Objects of Kubernetes for a fleet: a pod a node with a local volume and a certificate of its own, a scheduler, a job.

Keys are not among them: the secrets are made from a folder of `assay fleet keys`, by commands that stand at the head.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass

from assay.fleet import keys
from assay.fleet.error import FleetError
from assay.fleet.rendered import RenderedRun
from assay.untyped import Json

PORT = 8786
_NAME = re.compile(r"[a-z0-9]([a-z0-9-]{0,40}[a-z0-9])?")
_KEYS, _FLEET, _RESULTS = "/keys", "/fleet", "/results"
_WAIT_S = 600
_HEAD = """# Written by `assay fleet render kubernetes`. Not run on a cluster: tests hold it against the schemas.
#
# Keys first; ca.key stays where it is:
#   assay fleet keys keys {hosts}
{secrets}
#
# Then `kubectl --namespace {namespace} apply --filename` of this file, and look at it:
#   kubectl --namespace {namespace} logs --follow job/assay-run
"""
_MAKE_KEYS = (
    "#   kubectl --namespace {namespace} create secret generic assay-keys-{name} "
    "--from-file=keys/ca.pem --from-file=keys/{name}.pem --from-file=keys/{name}.key"
)


@dataclass(frozen=True)
class Cluster:
    """Nodes with the folders that are measured on each, and what their pods are made of."""

    hosts: Mapping[str, Sequence[str]]
    image: str
    namespace: str = "default"

    def check(self) -> None:
        """Refuses names that Kubernetes would, and hosts without a folder.

        Raises:
            FleetError: the name.
        """
        for name in (self.namespace, *self.hosts):
            if not _NAME.fullmatch(name):
                raise FleetError(f"`{name}` is no name of Kubernetes", "small letters, digits and -, 42 at most")
        for host, folders in self.hosts.items():
            if strange := next((one for one in folders if not one.startswith("/")), None):
                raise FleetError(f"{host}: `{strange}` is no folder of a node", 'name it whole: on = ["/mnt/data"]')
            if not folders:
                raise FleetError(f"{host} has no folder to measure in", 'name it in HOSTS.toml: on = ["/mnt/data"]')


def manifest(run: RenderedRun, cluster: Cluster) -> str:
    """All objects as YAML, a document each, behind the commands that make the secrets."""
    import yaml

    cluster.check()
    names = (keys.SCHEDULER, keys.RUN, *cluster.hosts)
    secrets = "\n".join(_MAKE_KEYS.format(namespace=cluster.namespace, name=name) for name in names)
    hosts = " ".join(f"--host {host}" for host in cluster.hosts)
    head = _HEAD.format(hosts=hosts, secrets=secrets, namespace=cluster.namespace)
    # Plain texts, and each object whole: names have a type of their own here, and YAML would refer from one to another.
    plain = json.loads(json.dumps(objects(run, cluster)))
    return head + str(yaml.safe_dump_all(plain, explicit_start=True, sort_keys=False, width=120))


def objects(run: RenderedRun, cluster: Cluster) -> list[Json]:
    """The objects, in the order in which they are made."""
    made = [_service(), _scheduler(cluster)]
    for host, folders in cluster.hosts.items():
        for place, folder in enumerate(folders):
            made += _volume(cluster, host, place, folder)
        made.append(_worker(cluster, host, folders))
    made += [_files(run, cluster), _results(), _run(run, cluster)]
    return [one if one["kind"] == "PersistentVolume" else _within(cluster.namespace, one) for one in made]


def _within(namespace: str, one: Json) -> Json:
    return one | {"metadata": {**one["metadata"], "namespace": namespace}}


def _service() -> Json:
    ports = [{"name": "scheduler", "port": PORT, "targetPort": PORT}]
    spec = {"selector": {"app": "assay-scheduler"}, "ports": ports}
    return {"apiVersion": "v1", "kind": "Service", "metadata": {"name": "assay-scheduler"}, "spec": spec}


def _scheduler(cluster: Cluster) -> Json:
    words = ["fleet", "scheduler", "--listen", f"tls://$(POD_IP):{PORT}", "--keys", _KEYS]
    return _pod("assay-scheduler", _spec(cluster, keys.SCHEDULER, words, restart="OnFailure"))


def _worker(cluster: Cluster, host: str, folders: Sequence[str]) -> Json:
    words = ["fleet", "worker", f"tls://assay-scheduler:{PORT}", "--name", host, "--listen", "$(POD_IP)"]
    spec = _spec(cluster, host, [*words, "--keys", _KEYS], restart="OnFailure")
    spec["nodeSelector"] = {"kubernetes.io/hostname": host}
    for place, folder in enumerate(folders):
        name = f"data-{place}"
        spec["volumes"].append({"name": name, "persistentVolumeClaim": {"claimName": _claim(host, place)}})
        spec["containers"][0]["volumeMounts"].append({"name": name, "mountPath": folder})
    return _pod(f"assay-worker-{host}", spec)


def _run(run: RenderedRun, cluster: Cluster) -> Json:
    study = f"{_FLEET}/{run.name}.toml" if run.file else run.study
    words = [*run.words(study)[1:], "--hosts", f"{_FLEET}/hosts.toml", "--wait", str(_WAIT_S)]
    spec = _spec(cluster, keys.RUN, [*words, "--out", f"{_RESULTS}/{run.name}"], restart="Never")
    spec["volumes"] += [
        {"name": "fleet", "configMap": {"name": "assay-fleet"}},
        {"name": "results", "persistentVolumeClaim": {"claimName": "assay-results"}},
    ]
    spec["containers"][0]["volumeMounts"] += [
        {"name": "fleet", "mountPath": _FLEET, "readOnly": True},
        {"name": "results", "mountPath": _RESULTS},
    ]
    # Once: what was begun is continued by a person, with --resume.
    template = {"metadata": {"labels": {"app": "assay-run"}}, "spec": spec}
    return {
        "apiVersion": "batch/v1",
        "kind": "Job",
        "metadata": {"name": "assay-run"},
        "spec": {"backoffLimit": 0, "completions": 1, "parallelism": 1, "template": template},
    }


def _spec(cluster: Cluster, name: str, words: Sequence[str], restart: str) -> Json:
    """A pod of one container with its own secret. Root without any privilege: keys are readable by nobody else."""
    container = {
        "name": "assay",
        "image": cluster.image,
        "args": list(words),
        "env": [{"name": "POD_IP", "valueFrom": {"fieldRef": {"fieldPath": "status.podIP"}}}],
        "securityContext": {
            "runAsUser": 0,
            "allowPrivilegeEscalation": False,
            "capabilities": {"drop": ["ALL"]},
            # The profile of most container engines refuses io_uring.
            "seccompProfile": {"type": "Unconfined"},
        },
        "volumeMounts": [{"name": "keys", "mountPath": _KEYS, "readOnly": True}],
    }
    secret = {"secretName": f"assay-keys-{name}", "defaultMode": 0o400}
    return {
        "restartPolicy": restart,
        "automountServiceAccountToken": False,
        "containers": [container],
        "volumes": [{"name": "keys", "secret": secret}],
    }


def _pod(name: str, spec: Json) -> Json:
    kind = name if name == "assay-scheduler" else "assay-worker"
    metadata = {"name": name, "labels": {"app": kind}}
    return {"apiVersion": "v1", "kind": "Pod", "metadata": metadata, "spec": spec}


def _claim(host: str, place: int) -> str:
    return f"assay-{host}-{place}"


def _volume(cluster: Cluster, host: str, place: int, folder: str) -> Iterator[Json]:
    """A folder of a node, for this fleet alone; it stays when the fleet goes."""
    name = _claim(host, place)
    # A size must stand there, and is that of nothing.
    size = {"storage": "1Gi"}
    here = {"key": "kubernetes.io/hostname", "operator": "In", "values": [host]}
    spec = {
        "capacity": size,
        "accessModes": ["ReadWriteOnce"],
        "persistentVolumeReclaimPolicy": "Retain",
        "storageClassName": "",
        "local": {"path": folder},
        "claimRef": {"namespace": cluster.namespace, "name": name},
        "nodeAffinity": {"required": {"nodeSelectorTerms": [{"matchExpressions": [here]}]}},
    }
    yield {"apiVersion": "v1", "kind": "PersistentVolume", "metadata": {"name": name}, "spec": spec}
    claim: Json = {"accessModes": ["ReadWriteOnce"], "storageClassName": "", "volumeName": name}
    claim |= {"resources": {"requests": size}}
    yield {"apiVersion": "v1", "kind": "PersistentVolumeClaim", "metadata": {"name": name}, "spec": claim}


def _results() -> Json:
    claim = {"accessModes": ["ReadWriteOnce"], "resources": {"requests": {"storage": "1Gi"}}}
    return {
        "apiVersion": "v1",
        "kind": "PersistentVolumeClaim",
        "metadata": {"name": "assay-results"},
        "spec": claim,
    }


def _files(run: RenderedRun, cluster: Cluster) -> Json:
    """HOSTS.toml, and the study where it is none of Assay's own."""
    lines = [f'scheduler = "tls://assay-scheduler:{PORT}"', f'keys = "{_KEYS}"']
    for host, folders in cluster.hosts.items():
        # A list of JSON's strings is one of TOML's.
        lines += ["", "[[hosts]]", f'name = "{host}"', f"on = {json.dumps(list(folders))}"]
    data = {"hosts.toml": "\n".join(lines) + "\n"}
    if run.file:
        data[f"{run.name}.toml"] = run.file.read_text(encoding="utf-8")
    return {"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": "assay-fleet"}, "data": data}
