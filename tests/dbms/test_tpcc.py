"""`assay dbms tpcc`: two warehouses on SQLite, PostgreSQL and the storage engine, all checks, one made to fail."""

from __future__ import annotations

import json
import os
import shutil
import signal
import socket
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import jsonschema  # type: ignore[import-untyped]
import pytest
import warm
from assay import home, rivals
from assay.binary import Binary
from assay.dbms.grant import Grant
from assay.dbms.postgres import find
from assay.dbms.target import target_of
from assay.dbms.tpcc.bench import Bench, ServerSnapshot
from assay.dbms.tpcc.contrast import durable_writes_per_s, note, sentences
from assay.dbms.tpcc.files import AssayBench, FileBench, SqliteBench
from assay.dbms.tpcc.order import TpccFlags
from assay.dbms.tpcc.run import drive, load
from assay.dbms.tpcc.stores import PostgresBench
from assay.error import AssayError
from assay.study.run import Summary
from assay.study.work import load as records_of
from assay.untyped import Json

QUICK = ["--warehouses", "2", "--terminals", "2", "--duration", "1500ms", "--ramp", "500ms", "--small"]
SMALL = TpccFlags(warehouses=2, terminals=2, duration_s=1.5, ramp_s=0.5, small=True, choice="uniform")
MIB = 1 << 20


@pytest.fixture(scope="module")
def folder() -> Iterator[Path]:
    """A folder that other users may enter."""
    try:
        home.binary()
    except home.HomeError as error:
        pytest.skip(str(error))
    with tempfile.TemporaryDirectory(prefix="assay-test-") as name:
        Path(name).chmod(0o755)
        yield Path(name)


@pytest.fixture
def target(folder: Path) -> Iterator[Path]:
    path = folder / "target"
    path.mkdir()
    yield path
    left = list(path.glob("assay-dbms-*"))
    shutil.rmtree(path)
    assert left == [], "something was left behind"


@dataclass
class Loaded:
    """A database that was loaded once, for runs that each begin with what was loaded."""

    order: TpccFlags
    bench: Bench
    snapshot: ServerSnapshot | None

    def drive(self, **changes: Any) -> Any:
        return drive(replace(self.order, **changes), Binary.find(), self.bench, self.snapshot)


@pytest.fixture(scope="module")
def loaded(folder: Path) -> Iterator[Callable[[str], Loaded]]:
    """A loaded database by the engine's name, with its parts apart where it can have them so."""
    kinds: dict[str, type[Any]] = {"sqlite": SqliteBench, "assay": AssayBench, "postgres": PostgresBench}
    made: dict[str, Loaded] = {}

    def make(engine: str) -> Loaded:
        if engine in made:
            return made[engine]
        for name in (engine, f"{engine}-wal"):
            (folder / name).mkdir()
        apart: dict[str, Any] = {} if engine == "sqlite" else {"wal": str(folder / f"{engine}-wal")}
        if engine == "postgres":
            needs_postgres()
            apart["index"] = apart["wal"]
        order = replace(SMALL, engine=engine, buffers=32 * MIB, **apart)
        binary = Binary.find()
        bench = kinds[engine](order, binary, target_of(binary, str(folder / engine)))
        made[engine] = Loaded(order, bench, None)
        assert all(one["passed"] for one in load(order, binary, bench)["checks"])
        made[engine].snapshot = bench.snapshot()
        return made[engine]

    yield make
    for one in made.values():
        one.bench.remove()
        if one.snapshot is not None:
            one.snapshot.remove()
        assert not list(folder.glob(f"{one.order.engine}*/assay-dbms-*"))


def assay(*arguments: str) -> subprocess.CompletedProcess[str]:
    return warm.assay(["dbms", "tpcc", *arguments])


def needs_postgres() -> None:
    try:
        find()
    except AssayError as error:
        pytest.skip(f"no PostgreSQL here: {error.message}")


def check_record(record: Json) -> None:
    jsonschema.validate(record, json.loads((home.schema() / "work.schema.json").read_text()))
    assert {one["name"] for one in record["checks"]} >= {f"consistency-{n}" for n in range(1, 13)} | {"acknowledged"}
    assert all(one["passed"] for one in record["checks"]), record["checks"]
    assert {one["name"] for one in record["parts"]} == {
        "new_order", "payment", "order_status", "delivery", "stock_level",
    }  # fmt: skip
    assert all(one["failed"] == 0 for one in record["parts"])
    assert sum(one["succeeded"] for one in record["parts"]) > 0
    assert record["figures"]["warehouses_touched"]["value"] == 2
    assert record["figures"]["driver_cpu_ratio"]["value"] > 0


@pytest.mark.parametrize("engine", ["sqlite", "assay", "postgres"])
def test_all_checks_pass_run_after_run_on_what_was_loaded(loaded: Callable[[str], Loaded], engine: str) -> None:
    database = loaded(engine)
    for seed in (1, 2):
        record = database.drive(seed=seed)
        check_record(record)
        roles = {one["role"] for one in record["targets"]}
        assert roles == {"sqlite": {"data"}, "assay": {"data", "wal"}, "postgres": {"data", "wal", "index"}}[engine]
        assert all(record["figures"][f"{role}_bytes"]["value"] > 0 for role in roles)
    if engine == "postgres":
        assert record["figures"]["server_cpu_s"]["value"] > 0
        assert record["subject"]["settings"]["fsync"] == "on"
    if engine != "sqlite":
        assert record["figures"]["engine_wal_bytes"]["value"] > 0


@pytest.mark.parametrize("engine", ["sqlite", "assay", "postgres"])
def test_a_failed_condition_fails_the_run(loaded: Callable[[str], Loaded], engine: str) -> None:
    record = loaded(engine).drive(spoil=10, duration_s=0.5, ramp_s=0.0)
    assert record["verdict"]["status"] == "invalid"
    assert record["verdict"]["reasons"][0]["code"] == "check-failed"
    assert "consistency-10" in {one["name"] for one in record["checks"] if not one["passed"]}


def test_the_command_keeps_records_says_what_failed_and_leaves_nothing(target: Path) -> None:
    words = ["--on", str(target), "--out", str(target / "out"), *QUICK]
    done = assay(*words, "--json", "--repeats", "2")
    assert done.returncode == 0, done.stderr
    for record in json.loads(done.stdout):
        check_record(record)
    assert len(records_of(target / "out")) == 2
    again = assay(*words)
    assert again.returncode == 2
    assert "holds a run already" in again.stderr
    words[3] = str(target / "other")
    done = assay(*words, "--spoil", "3", "--engine", "assay")
    assert done.returncode == 1, done.stderr
    assert "consistency-3" in done.stdout
    assert "consistency-3" in done.stderr
    assert len(records_of(target / "other")) == 1


def test_a_rate_has_response_times(loaded: Callable[[str], Loaded]) -> None:
    record = loaded("sqlite").drive(rate=50.0)
    part = record["parts"][0]
    assert part["response"]["count"] == part["service"]["count"] > 0


def test_keying_and_think_times_slow_a_terminal_down(loaded: Callable[[str], Loaded]) -> None:
    record = loaded("assay").drive(think=0.01, duration_s=1.0)
    # A hundredth of the specification's keying and think times is 0.07 s at least, on two terminals.
    assert 0 < sum(part["succeeded"] for part in record["parts"]) <= 2 / 0.07


ASKED: Json = {"warehouses": 2, "duration": "1500ms", "ramp": "500ms", "small": True, "warehouse": "uniform"}


@pytest.mark.parametrize(
    ("changes", "parts", "words", "code"),
    [
        ({}, ["wal"], "sqlite keeps its log beside its data", 2),
        ({"engine": "assay"}, ["temp"], "assay keeps its temporary files beside its data", 2),
        ({}, ["log"], "a database has no part `log`", 2),
        ({"engine": "assay", "synchronous": "normal"}, [], "at every commit or never", 2),
        ({"rate": 5.0, "think": 1.0}, [], "two paces", 2),
        ({"mix": "1,2"}, [], "is no mix", 2),
        ({"warehouses": 900_000, "small": False}, [], "are free", 4),
        ({"warehouses": 0}, [], "warehouses is 0", 2),
        ({"spoil": 13}, [], "no condition 13", 2),
        ({"engine": "oracle"}, [], "does not run on", 2),
        ({"warehouse": "all"}, [], "cannot work for `all`", 2),
        ({"pg_set": ["archive_command=rm -r /"], "engine": "postgres"}, [], "runs programs or reaches beyond", 2),
        ({"pg_set": ["hba_file=/tmp/mine"], "engine": "postgres"}, [], "runs programs or reaches beyond", 2),
        ({"pg_set": ["Listen_Addresses=*"], "engine": "postgres"}, [], "runs programs or reaches beyond", 2),
        ({"terminal": 3}, [], "knows no `terminal`", 2),
        ({"small": "yes"}, [], "must be true or false", 2),
    ],
)
def test_bad_orders_are_refused_before_anything_is_made(
    target: Path, tpcc: Callable[..., Summary], changes: Json, parts: list[str], words: str, code: int
) -> None:
    on = [str(target), *(f"{part}={target}" for part in parts)]
    with pytest.raises(AssayError) as caught:
        tpcc(ASKED | changes, on, target / "out")
    assert words in caught.value.message
    assert caught.value.code == code
    assert caught.value.hint
    assert not (target / "out").exists()


@pytest.mark.parametrize(
    ("changes", "grant", "words"),
    [
        ({"mix": "1,2,3,4,5"}, Grant(), "15 together, not 100"),
        ({"engine": "postgres"}, Grant(connect="host=/nowhere"), "did not start"),
        ({"engine": "lmdb"}, Grant(), "lmdb"),
    ],
)
def test_what_cannot_be_done_is_a_cell_that_failed(
    target: Path, tpcc: Callable[..., Summary], changes: Json, grant: Grant, words: str
) -> None:
    if changes.get("engine") == "lmdb" and "lmdb" in {one["name"] for one in rivals.listed()}:
        pytest.skip("LMDB is built here")
    summary = tpcc(ASKED | changes, [str(target)], target / "out", repeats=2, grant=grant)
    assert summary.exit_code in (1, 4)
    (told,) = summary.not_measured
    assert words in told["reason"]
    assert told["fix"]
    assert len(told["cells"]) == 2


def test_a_port_in_use_is_refused_and_nothing_stays(target: Path, tpcc: Callable[..., Summary]) -> None:
    needs_postgres()
    with socket.socket() as taken:
        taken.bind(("127.0.0.1", 0))
        taken.listen()
        port = {"engine": "postgres", "port": taken.getsockname()[1], "buffers": "32MiB"}
        summary = tpcc(ASKED | port, [str(target)], target / "out")
    assert summary.exit_code == 1
    assert "is in use" in summary.not_measured[0]["reason"]


STUDY = """
name = "flushes"
title = "Flushes"
question = "What does a flush cost?"
source = "none"
repeats = 2

[matrix]
synchronous = ["off", "full"]

[work]
kind = "dbms-tpcc"
engine = "sqlite"
small = true
duration = "300ms"
ramp = "100ms"
synchronous = "${synchronous}"
"""


def test_a_study_of_it_is_planned_run_resumed_read_and_compared_as_all_are(target: Path) -> None:
    (target / "flushes.toml").write_text(STUDY)
    (target / "data").mkdir()

    def run(*words: str) -> subprocess.CompletedProcess[str]:
        command = [sys.executable, "-m", "assay", *words]
        return subprocess.run(command, capture_output=True, text=True, check=False, timeout=300, cwd=target)

    planned = json.loads(run("run", "flushes.toml", "--on", "data", "--dry-run", "--json").stdout)
    assert planned["totals"]["cells"] == 4
    assert planned["totals"]["bytes_needed"][str(target / "data")] > 0
    assert planned["totals"]["seconds"] > 4 * 0.4
    done = run("run", "flushes.toml", "--on", "data", "--out", "out")
    assert done.returncode == 0, done.stderr
    names = [f"flushes-000{cell}-r{repeat}" for cell in (1, 2) for repeat in (1, 2)]
    assert sorted(path.stem for path in (target / "out" / "work").glob("*.json")) == names
    assert (target / "out" / "report.html").is_file()
    (target / "out" / "work" / "flushes-0002-r1.json").unlink()
    again = run("run", "--resume", "out", "--json")
    assert json.loads(again.stdout)["cells"]["finished"] == 4, again.stderr
    assert "3 of 4 cells are done already" in again.stderr
    asked = run("query", "select cell from works", "--in", "out", "--json")
    assert len(json.loads(asked.stdout)) == 4, asked.stderr
    compared = run("compare", "sqlite-tpcc", "sqlite-tpcc-2", "--in", "out", "--json")
    assert any(one["metric"] == "transactions_per_s" for one in json.loads(compared.stdout)["comparisons"])


@pytest.mark.parametrize("kind", [SqliteBench, AssayBench])
def test_damaged_files_are_told(target: Path, kind: type[FileBench]) -> None:
    binary = Binary.find()
    order = replace(SMALL, engine="sqlite" if kind is SqliteBench else "assay", warehouses=1)
    bench = kind(order, binary, target_of(binary, str(target)))
    try:
        load(order, binary, bench)
        (data,) = (path for path in target.glob("assay-dbms-*/data/*") if path.name in ("tpcc.sqlite", "pages"))
        with data.open("r+b") as file:
            for place in range(0, 8 * MIB, 4096):
                file.seek(place)
                file.write(b"\xa5" * 512)
        with pytest.raises(AssayError) as caught:
            drive(order, binary, bench, None)
        assert caught.value.code in (1, 2, 4)
        assert any(word in caught.value.message for word in ("not a database", "malformed", "damaged", "no pool"))
    finally:
        bench.remove()


def test_a_server_that_dies_in_mid_run_is_told_and_leaves_nothing(target: Path) -> None:
    needs_postgres()
    arguments = ["--engine", "postgres", "--on", str(target), "--out", str(target / "out"), "--buffers", "32MiB"]
    command = [sys.executable, "-m", "assay", "dbms", "tpcc", *arguments, *QUICK, "--duration", "60s"]
    with subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True) as process:
        note = wait_for_drive(process, target)
        os.kill(note, signal.SIGKILL)
        _, said = process.communicate(timeout=120)
    assert process.returncode == 1, said
    assert "the server ended in the middle of the run" in said


def test_an_interrupt_ends_the_run_and_keeps_it(target: Path) -> None:
    out = target / "out"
    command = [sys.executable, "-m", "assay", "dbms", "tpcc", "--on", str(target), "--out", str(out), *QUICK]
    with subprocess.Popen(
        [*command, "--duration", "60s", "--repeats", "9"], stderr=subprocess.PIPE, text=True
    ) as process:
        assert process.stderr is not None
        for line in process.stderr:
            if "transactions/s" in line:
                break
        process.send_signal(signal.SIGTERM)
        _, said = process.communicate(timeout=120)
    assert process.returncode == 3, said
    (record,) = records_of(out)
    assert "interrupted" in {one["code"] for one in record["verdict"]["reasons"]}
    assert sum(part["succeeded"] for part in record["parts"]) > 0


def wait_for_drive(process: subprocess.Popen[str], target: Path) -> int:
    """The postmaster, once transactions are done."""
    assert process.stderr is not None
    for line in process.stderr:
        if "transactions/s" in line:
            break
    deadline = time.monotonic() + 10
    while time.monotonic() < deadline:
        for found in target.glob("assay-dbms-*/data/postmaster.pid"):
            return int(found.read_text().splitlines()[0])
    raise AssertionError("no server runs")


def test_what_a_killed_run_left_is_cleaned(target: Path) -> None:
    script = (
        "import sys\nfrom pathlib import Path\nfrom assay import own\nfrom assay.dbms.place import Place\n"
        "place = Place.make(Path(sys.argv[1]))\nown.keep(place.path)\nprint(place.path)\n"
    )
    made = subprocess.run([sys.executable, "-c", script, str(target)], capture_output=True, text=True, check=True)
    path = made.stdout.strip()
    command = [sys.executable, "-m", "assay", "clean", str(target)]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    assert f"{path} is removed" in done.stdout


def test_targets_are_compared_only_with_how_much_of_the_device_was_used(tmp_path: Path) -> None:
    def record(target: str, per_s: float) -> Any:
        figures = {"transactions_per_s": {"value": per_s}, "device_utilisation": {"value": 0.1}}
        targets = [{"role": "data", "target": target}]
        return {"targets": targets, "figures": figures, "workload": {"parameters": {}}}

    runs = [record("a", 100 + n) for n in range(3)] + [record("b", 100.5 + n) for n in range(3)]
    said = sentences(runs, {"a": 100.0, "b": 400.0})["b"]
    assert "no difference was shown" in said
    assert "this says nothing about devices" in said
    assert "4.00 times" in said or "4 times" in said
    assert "undecided" in sentences([runs[0], runs[3]], {})["b"]
    apart = sentences(runs[:3] + [record("b", 900.0 + n) for n in range(3)], {})["b"]
    assert "different." in apart
    assert "says nothing" not in apart
    assert sentences(runs[:3], {}) == {}
    assert note(runs, {}) == [runs[-1]]
    assert "no difference" in runs[-1]["workload"]["parameters"]["compared_in_words"]
    assert durable_writes_per_s(tmp_path) > 0
    assert not list(tmp_path.iterdir())


def test_an_order_becomes_a_job() -> None:
    order = TpccFlags(rate=5.0, choice="zipf", zipf=0.8, mix="45,43,4,4,4")
    asked = order.drive()
    assert asked["pace"] == {"kind": "rate", "per_s": 5.0, "poisson": False}
    assert asked["choice"] == {"kind": "zipf", "exponent": 0.8}
    assert sum(asked["mix"].values()) == 100
