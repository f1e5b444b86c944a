"""Workers that Assay starts over ssh, by servers of the tests' own."""

from __future__ import annotations

import json
import shutil
import signal
import subprocess
import time
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path

import pytest
from assay.error import AssayError
from assay.fleet import ssh

from . import sshd
from .processes import HERE, command, states, until

pytest.importorskip("distributed")
pytestmark = pytest.mark.usefixtures("assayer")


@dataclass(frozen=True)
class Reached:
    """Two hosts, of which `b` has another measuring program than this machine, and how both are reached."""

    hosts: dict[str, sshd.Host]
    environment: Mapping[str, str]
    words: tuple[str | Path, ...]

    def run(self, *words: str | Path) -> subprocess.CompletedProcess[str]:
        """`assay fleet run WORDS` on both, to its end."""
        asked = command("run", *self.words, *words)
        return subprocess.run(asked, capture_output=True, text=True, check=False, env=self.environment)

    def idle(self) -> bool:
        """Whether nothing runs on any of them."""
        return not any(host.busy for host in self.hosts.values())


@pytest.fixture
def reached(tmp_path: Path, assayer: Path) -> Iterator[Reached]:
    if reason := sshd.why_not():
        pytest.skip(f"no host can be reached by ssh here: {reason}")
    other = tmp_path / "other"
    shutil.copy(assayer, other)
    with other.open("ab") as opened:
        opened.write(b"\0")
    with sshd.hosts(tmp_path, {"a": {"ASSAYER": str(assayer)}, "b": {"ASSAYER": str(other)}}) as (hosts, environment):
        yield Reached(hosts, environment, ("--ssh", "a,b", "--remote", sshd.remote(tmp_path), "--lead", "1"))


def test_a_program_is_sent_where_it_is_not_after_asking_and_once(reached: Reached, tmp_path: Path) -> None:
    out = ("--out", tmp_path / "out")
    done = reached.run(HERE / "rate.toml", *out)
    assert done.returncode == 2
    assert "is not on b; it is to be sent" in done.stderr
    assert "--yes" in done.stderr
    assert not list((reached.hosts["b"].state / "assay" / "fleet" / "programs").iterdir())

    done = reached.run(HERE / "rate.toml", *out, "--yes", "--json")
    assert done.returncode == 0, done.stdout + done.stderr
    document = json.loads(done.stdout)
    assert [host["name"] for host in document["hosts"]] == ["a", "b"]
    assert len({host["assayer_sha256"] for host in document["hosts"]}) == 1
    sent = reached.hosts["b"].state / "assay" / "fleet" / "programs" / document["hosts"][1]["assayer_sha256"]
    assert [path.name for path in sent.iterdir()] == ["assayer"]
    (total,) = document["totals"]
    assert {one["state"] for one in total["hosts"]} == {"finished"}
    until(reached.idle)

    done = reached.run(HERE / "rate.toml", "--out", tmp_path / "again")
    assert done.returncode == 0, done.stderr


def test_nothing_secret_is_in_a_command_a_log_or_what_a_run_leaves(reached: Reached, tmp_path: Path) -> None:
    words = command("run", HERE / "rate.toml", *reached.words, "--out", tmp_path / "out", "--yes")
    process = subprocess.Popen(
        words, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True, env=dict(reached.environment)
    )
    commands: set[tuple[str, str]] = set()

    def attached() -> bool:
        commands.update((name, one) for name, host in reached.hosts.items() for one in host.busy)
        return sum(one.endswith("fleet attach ") for _, one in commands) >= 2

    until(lambda: attached() or process.poll() is not None)
    printed, _ = process.communicate()
    assert process.returncode == 0, printed
    assert attached(), commands
    assert not [one for _, one in commands if "KEY" in one]
    assert "PRIVATE KEY" not in printed
    places = [tmp_path / "out", *(host.state for host in reached.hosts.values())]
    files = [path for place in places for path in place.rglob("*") if path.is_file()]
    files += [host.place / "log" for host in reached.hosts.values()]
    assert len(files) > 8
    assert not [path for path in files if b"PRIVATE KEY" in path.read_bytes()]


@pytest.mark.parametrize(("number", "code"), [(signal.SIGINT, 3), (signal.SIGKILL, -signal.SIGKILL)])
def test_what_was_started_ends_when_the_run_is_interrupted_or_killed(
    reached: Reached, tmp_path: Path, number: signal.Signals, code: int
) -> None:
    for host in reached.hosts:
        (tmp_path / "data" / host).mkdir(parents=True)
    out = tmp_path / "out"
    words = (HERE / "writes.toml", "--on", tmp_path / "data" / "{host}", "--out", out, "--yes", "--repeats", "3")
    process = subprocess.Popen(
        command("run", *words, *reached.words), stderr=subprocess.PIPE, text=True, env=dict(reached.environment)
    )
    until(lambda: states(out / "hosts" / "b" / "journal.ndjson") or process.poll() is not None)
    assert not reached.idle()
    moment = time.monotonic() + 1.5
    until(lambda: time.monotonic() >= moment)
    process.send_signal(number)
    _, said = process.communicate()
    assert process.returncode == code, said
    until(reached.idle)

    done = reached.run("--resume", out)
    assert done.returncode == 0, done.stderr
    assert not [path for host in reached.hosts for path in (tmp_path / "data" / host).iterdir()]
    until(reached.idle)


def test_a_host_that_is_not_reached_or_has_no_assay_is_named_with_what_to_do(reached: Reached, tmp_path: Path) -> None:
    done = reached.run(HERE / "rate.toml", "--remote", "/nowhere/assay", "--out", tmp_path / "out")
    assert done.returncode == 4
    assert "a has no command `/nowhere/assay`" in done.stderr
    (tmp_path / "a" / "user.pub").write_text("")
    done = reached.run(HERE / "rate.toml", "--out", tmp_path / "out")
    assert done.returncode == 1
    assert "a cannot be reached by ssh" in done.stderr
    assert "Permission denied" in done.stderr
    assert not (tmp_path / "out").exists()
    until(reached.idle)


def test_destinations_that_ssh_would_take_for_flags_are_refused() -> None:
    assert ssh.place("root@h1", "assay") == ssh.Destination("h1", "root@h1")
    assert ssh.place("n=ssh://u@h1:2222", "assay") == ssh.Destination("n", "ssh://u@h1:2222")
    assert ssh.place("ssh://u@h1:2222", "assay").name == "h1"
    for text in ("-oProxyCommand=x", "a=-oProxyCommand", "a=", "", "a b", "u@"):
        with pytest.raises(AssayError):
            ssh.place(text, "assay")
