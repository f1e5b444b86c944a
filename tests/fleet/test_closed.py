"""Closed by default: loopback or certificates, and no code from strangers."""

import os
import pickle
from pathlib import Path

import pytest
from assay.error import AssayError
from assay.fleet import address, guard, tasks

cloudpickle = pytest.importorskip("cloudpickle")


@pytest.mark.parametrize("text", ["tcp://0.0.0.0:8786", "tcp://192.0.2.1:1", "tcp://[::]:1", "tcp://host.example:1"])
def test_an_address_that_others_reach_is_refused_without_certificates(text: str) -> None:
    with pytest.raises(AssayError, match="open to everybody"):
        address.parse(text, keyed=False)


def test_loopback_is_allowed_and_tls_wants_keys() -> None:
    assert str(address.parse("tcp://127.0.0.1:0", keyed=False)) == "tcp://127.0.0.1:0"
    assert str(address.parse("tls://[2001:db8::1]:5", keyed=True)) == "tls://[2001:db8::1]:5"
    with pytest.raises(AssayError, match="wants certificates"):
        address.parse("tls://192.0.2.1:1", keyed=False)
    with pytest.raises(AssayError, match="no address"):
        address.parse("inproc://x", keyed=True)


class _Strange:
    def __reduce__(self) -> tuple[object, tuple[str]]:
        return os.system, ("false",)


@pytest.mark.parametrize("strange", [lambda: 1, os.getpid, _Strange(), Path, getattr])
def test_a_pickle_that_names_anything_else_is_refused(strange: object) -> None:
    with pytest.raises(guard.StrangeError, match="refused"):
        guard.loads(cloudpickle.dumps(strange))


def test_the_one_task_and_plain_values_are_let_in() -> None:
    values = (tasks.perform, ["a", {"b": 1.5}, (True, None, b"c")])
    assert guard.loads(pickle.dumps(values)) == values


def test_what_is_computed_is_on_a_list_and_touches_nothing() -> None:
    import json

    for work, order, why in (
        ("os.system", "false", "nothing that a fleet computes"),
        (
            "assay.executor.dispatch.ended",
            {"targets": [{"kind": "file", "members": ["/etc/hosts"]}]},
            "only runs on twins",
        ),
    ):
        assert why in tasks.perform("compute", json.dumps({"work": work, "order": order}))


def test_a_task_that_is_not_on_the_list_is_refused() -> None:
    assert "is no task of a fleet" in tasks.perform("eval", "{}")


@pytest.mark.parametrize(
    ("job", "why"),
    [
        ({"targets": [{"kind": "block-device", "members": ["/dev/null"]}], "classes": []}, "no block-device"),
        ({"targets": [], "classes": [], "checks": {"acknowledgements": "/tmp/x"}}, "no journal"),
    ],
)
def test_a_job_that_a_fleet_may_not_order_is_refused(job: dict[str, object], why: str) -> None:
    import json

    start = {"run": "r", "host": "h", "cell": "c-r1", "attempt": 1}
    assert why in tasks.perform("run", json.dumps({"start": start, "job": job}))
