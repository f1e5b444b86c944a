"""Every database that is cut off."""

from __future__ import annotations

from mount.clients import Lmdb, Sqlite
from mount.cutting import Victim
from mount.served import Postgres
from mount.soaked import Soaked

VICTIMS: dict[str, Victim] = {
    victim.name: victim
    for victim in (
        Sqlite("wal"),
        Sqlite("delete"),
        Postgres(),
        Lmdb(),
        Soaked("lmdb", rival=True),
        # A log that is written and not synced.
        Soaked("rocksdb", "plp", rival=True),
        Soaked("wiredtiger", "plp", rival=True),
        Soaked("redb", rival=True),
        Soaked("engine"),
        Soaked("ssd-btree", ""),
    )
}
