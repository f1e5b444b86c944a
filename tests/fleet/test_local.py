"""A fleet on this machine, with real processes, networks of their own where this is root, and certificates."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import time
from pathlib import Path

import pytest
from assay.untyped import Json
from commands import assay

from .processes import HERE, command, run, states, until, worker_of

pytest.importorskip("distributed")
pytestmark = pytest.mark.usefixtures("assayer")

HOSTS = ["h1", "h2", "h3", "h4"]


@pytest.fixture(scope="module")
def four(tmp_path_factory: pytest.TempPathFactory, assayer: Path) -> tuple[int, Json, Path]:
    """A study on four hosts: exit code, document, folder."""
    out = tmp_path_factory.mktemp("fleet") / "out"
    return *run(HERE / "rate.toml", "--local", "4", "--lead", "2", "--out", out), out


def test_the_sum_of_null_targets_under_a_rate_is_n_times_the_rate(four: tuple[int, Json, Path]) -> None:
    code, document, _ = four
    (total,) = document["totals"]
    (one,) = total["classes"]
    hosts = len(total["in_total"])
    assert code == 0, document
    assert one["ops_per_s"] == pytest.approx(hosts * 2000, rel=0.02)
    assert one["service"]["count"] == pytest.approx(hosts * 3000, rel=0.02)
    # On a busy machine a host may begin late, and is then named and in no sum.
    assert sorted([*total["in_total"], *total["not_in_total"]]) == HOSTS
    assert hosts >= 1


def test_every_host_opens_its_window_at_the_moment_that_was_set(four: tuple[int, Json, Path]) -> None:
    _, document, _ = four
    (total,) = document["totals"]
    whole = [host for host in total["hosts"] if host["in_total"]]
    assert all(0 <= host["opened_s"] + host["clock_error_s"] < 0.1 for host in whole), whole
    assert total["coincide"] > 0.9


def test_a_host_leaves_an_ordinary_result_folder(four: tuple[int, Json, Path]) -> None:
    _, _, out = four
    folders = [out / "hosts" / host for host in HOSTS]
    asked = [word for folder in folders for word in ("--in", str(folder))]
    found = assay("query", "select count(*) as n from classes", *asked, "--csv")
    assert found.stdout.split() == ["n", "4"], found.stderr
    assert assay("report", str(folders[0])).returncode == 0
    assert (folders[0] / "report.html").is_file()
    assert assay("compare", str(folders[0]), str(folders[1]), inside=out).returncode == 0


def test_the_page_of_a_fleet_has_a_panel_for_each_host_and_says_who_was_there(four: tuple[int, Json, Path]) -> None:
    _, document, out = four
    done = assay("report", str(out))
    assert done.returncode == 0, done.stderr
    page = (out / "report.html").read_text()
    assert document["first"] in page
    data = json.loads(page.partition('id="assay-data">')[2].partition("</script>")[0])
    assert [one["title"] for one in data["figures"]["hosts-commits"]["panels"]] == HOSTS
    assert len(data["figures"]["total-commits"]["panels"]) == 1
    (within,) = data["figures"]["within-commits"]["panels"]
    rates = [entry["y"] for entry in within["spec"]["data"]["values"] if entry["kind"] == "rate"]
    hosts = len(document["totals"][0]["in_total"])
    assert sum(rates) / len(rates) == pytest.approx(hosts * 2000, rel=0.05)


def test_no_secret_is_in_what_a_run_leaves(four: tuple[int, Json, Path]) -> None:
    _, _, out = four
    files = [path for path in out.rglob("*") if path.is_file()]
    assert len(files) > 8
    assert not [path for path in files if b"PRIVATE KEY" in path.read_bytes()]


def _killed(tmp_path: Path, out: Path) -> tuple[int, Json]:
    """A run on four hosts: h2 is killed before the first window, h4 after it, h3 within the second."""
    for host in HOSTS:
        (tmp_path / host).mkdir()
    # A window so long that on a busy machine, too, what is killed within it is killed within it.
    study = tmp_path / "writes.toml"
    study.write_text((HERE / "writes.toml").read_text().replace('measure = "1s"', 'measure = "6s"'))
    words = (study, "--local", "4", "--lead", "2", "--on", tmp_path / "{host}", "--out", out, "--json")
    process = subprocess.Popen(command("run", *words), stdout=subprocess.PIPE, text=True)

    def reached(host: str, count: int, state: str) -> bool:
        seen = [entry for entry in states(out / "hosts" / host / "journal.ndjson") if entry[1] == state]
        return len(seen) >= count or process.poll() is not None

    for host, count, state, then_s in (
        ("h2", 1, "started", 0.0),
        ("h4", 1, "finished", 0.0),
        ("h3", 2, "started", 4.0),
    ):
        until(lambda host=host, count=count, state=state: reached(host, count, state))  # type: ignore[misc]
        moment = time.monotonic() + then_s
        until(lambda moment=moment: time.monotonic() >= moment)  # type: ignore[misc]
        os.kill(worker_of(process.pid, host), signal.SIGKILL)
    printed, _ = process.communicate()
    return process.returncode, json.loads(printed)


def test_workers_killed_before_within_and_after_windows_are_named_and_resume_makes_the_run_whole(
    tmp_path: Path,
) -> None:
    out = tmp_path / "out"
    code, document = _killed(tmp_path, out)
    first, second = document["totals"]
    assert code == 3
    assert document["first"].startswith("3 of 4 hosts were lost: ")
    during = {one["host"]: one["during"] for one in document["lost"]}
    assert set(during) == {"h2", "h3", "h4"}
    assert during["h2"] == "running fleet-writes-0001-r1"
    cells = {one["host"]: one.get("cell") for one in document["lost"]}
    assert (cells["h2"], cells["h3"]) == ("fleet-writes-0001-r1", "fleet-writes-0001-r2")
    assert all("at_s" in one for one in document["lost"] if "cell" in one)
    assert "h2" in first["not_in_total"]
    assert {one["host"]: one["state"] for one in first["hosts"]}["h4"] == "finished", "its window was over"
    assert {"h2", "h3", "h4"} <= set(second["not_in_total"])
    assert "h2" not in first["classes"][0]["hosts"]
    assert states(out / "hosts" / "h1" / "journal.ndjson")[-1][1] == "finished"

    code, document = run("--resume", out, "--local", "4", "--lead", "1")
    assert code == 0, document
    assert document["attempts"] == 2
    for total in document["totals"]:
        assert {one["state"] for one in total["hosts"]} == {"finished"}
        assert not any("attempt" in reason for reason in total["not_in_total"].values())
    left = [path for host in HOSTS for path in (tmp_path / host).iterdir()]
    assert not left, "something was left behind"
