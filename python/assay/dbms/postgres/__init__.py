"""PostgreSQL: found or installed, started on folders of our own, stopped and removed again.

    with Cluster.create(find(), Layout(data=Path("/mnt/a"), wal=Path("/mnt/b"))) as cluster:
        with Server(cluster, tuned(cluster.binaries, facts)) as server:
            before = server.counters()
            with server.connect() as connection: ...
            used = before.until(server.counters())
            server.clear_caches()

A server that Assay did not start is an `External` one, and is left as it was found.
"""

from assay.dbms.postgres.cluster import Cluster, Layout
from assay.dbms.postgres.counters import Counters, Used
from assay.dbms.postgres.error import PostgresError
from assay.dbms.postgres.external import External
from assay.dbms.postgres.find import Binaries, find
from assay.dbms.postgres.server import PostgresServer
from assay.dbms.postgres.settings import Settings, tuned

__all__ = [
    "Binaries",
    "Cluster",
    "Counters",
    "External",
    "Layout",
    "PostgresError",
    "PostgresServer",
    "Settings",
    "Used",
    "find",
    "tuned",
]
