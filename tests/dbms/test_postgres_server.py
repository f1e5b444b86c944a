"""PostgreSQL servers of our own: started, counted, copied, cleared; what goes wrong says so and leaves nothing."""

from __future__ import annotations

import os
import signal
import socket
import tempfile
import time
from collections.abc import Iterator
from pathlib import Path

import pytest
from assay.dbms.place import Place, PlaceError, clean, leftovers, require_space
from assay.dbms.postgres import Cluster, External, Layout, PostgresError, Server, Settings, find, tuned
from assay.dbms.postgres.find import Binaries, find_distribution
from assay.dbms.postgres.install import install
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
        with Server(cluster, SMALL) as server:
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
            with Server(copy, SMALL) as server, server.connect() as connection:
                connection.execute("delete from t")
            copy.restore(cluster)
            with Server(copy, SMALL) as server, server.connect() as connection:
                assert connection.execute("select count(*) from t").fetchone() == (50000,)
            links = [path.readlink() for path in (copy.data / "pg_tblspc").iterdir()]
            assert all(link.is_relative_to(copy.folder(link.name).parent) for link in links)


def test_a_server_that_dies_says_so(binaries: Binaries, target: Path) -> None:
    with Cluster.create(binaries, Layout(target)) as cluster:
        server = Server(cluster, SMALL)
        server.start()
        os.kill(server.pid, signal.SIGKILL)
        assert server.wait_ended(10)
        with pytest.raises(PostgresError, match="SIGKILL from outside ended it"):
            server.connect()
        server.kill()


def test_a_damaged_folder_and_a_wrong_setting_are_named(binaries: Binaries, target: Path) -> None:
    with Cluster.create(binaries, Layout(target)) as cluster:
        with pytest.raises(PostgresError, match="no_such_setting"):
            Server(cluster, SMALL.with_values({"no_such_setting": "1"})).start()
        (cluster.data / "global" / "pg_control").write_bytes(b"x" * 8192)
        with pytest.raises(PostgresError) as caught:
            Server(cluster, SMALL).start()
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
            Server(cluster, Settings(SMALL.values, port)).start()


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


def test_a_place_is_made_marked_and_found_again_when_its_maker_is_gone(tmp_path: Path) -> None:
    place = Place.make(tmp_path)
    assert leftovers(tmp_path) == []
    mark = place.path / ".assay-dbms.json"
    mark.write_text('{"pid": 999999999, "began": 1}')
    assert clean(tmp_path) == [place.path]
    assert not place.path.exists()
    foreign = tmp_path / "assay-dbms-x"
    foreign.mkdir()
    assert clean(tmp_path) == []
    assert foreign.exists(), "a folder without our mark is nobody's business"


def test_what_does_not_fit_is_refused(tmp_path: Path) -> None:
    with pytest.raises(PlaceError, match="may be used there"):
        require_space(tmp_path, 1 << 60, "the data set")
    with pytest.raises(PlaceError, match="is no folder"):
        Place.make(tmp_path / "missing")


def test_a_killed_maker_takes_its_server_along(binaries: Binaries, target: Path) -> None:
    pid = os.fork()
    if pid == 0:
        cluster = Cluster.create(binaries, Layout(target))
        server = Server(cluster, SMALL)
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
    assert len(clean(target)) == 1
