"""What is measured side by side: which work, how much data, how large a pool."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from assay import rivals
from assay.bench.lines import ENGINE, READS, TASKS, engine_record, rival_record
from assay.bench.reading import of_driver
from assay.binary import Binary
from assay.dbms.target import target_of
from assay.dbms.tpcc.bench import Bench, ServerSnapshot
from assay.dbms.tpcc.order import TpccFlags
from assay.dbms.tpcc.run import bench_of, drive, load
from assay.error import BAD_JOB, AssayError
from assay.record import WorkRecord
from assay.rivals.published.line import prepare
from assay.study.work import engine, run_work
from assay.study.work.index import Wish, job
from assay.target.target import parse
from assay.untyped import Json

# 8-byte keys with values of 120 bytes, as LeanStore's and vmcache's benchmarks have them.
VALUE_BYTES = 120
ENTRY_BYTES = 8 + VALUE_BYTES
# Ids that the runner looks up after each window: enough to see damage, few enough where each costs a read.
CHECKED = 2000
BOTH = ("ssd-btree", "ssd-hash")
MEMORY = Path("/dev/shm")  # noqa: S108  Memory is what is meant; a folder of our own is made in it.


@dataclass(frozen=True)
class Contest:
    """One kind of work."""

    name: str
    workload: str
    # Of the data: what the pool holds.
    pool_share: float
    # Beside those that the recipes of published programs meet in it.
    ours: tuple[str, ...] = BOTH
    # Loaded once and opened for each run; not where the window adds keys.
    kept: bool = True
    # Of words of 8 bytes in memory, beside the programs that were published with these structures.
    words: bool = False


CONTESTS = (
    Contest("cold-lookups", "lookup", 0.25),
    Contest("hot-lookups", "lookup", 4.0),
    Contest("inserts", "insert", 8.0, kept=False),
    Contest("scans", "scan", 4.0, ours=("ssd-btree",)),
    Contest("ycsb-a", "ycsb-a", 4.0),
    Contest("ycsb-b", "ycsb-b", 4.0),
    Contest("ycsb-c", "ycsb-c", 4.0),
    Contest("ycsb-d", "ycsb-d", 8.0, kept=False),
    Contest("ycsb-e", "ycsb-e", 8.0, ours=("ssd-btree",), kept=False),
    Contest("ycsb-f", "ycsb-f", 4.0),
    Contest("cold-ycsb-a", "ycsb-a", 0.25),
    Contest("pm-lookups", "lookup", 0, ours=(), kept=False, words=True),
    Contest("pm-misses", "missing", 0, ours=(), kept=False, words=True),
    Contest("pm-inserts", "insert", 0, ours=(), kept=False, words=True),
    Contest("pm-removes", "remove", 0, ours=(), kept=False, words=True),
    Contest("pm-updates", "update", 0, ours=(), kept=False, words=True),
    Contest("pm-scans", "scan", 0, ours=(), kept=False, words=True),
    Contest("pm-mixed", "mixed", 0, ours=(), kept=False, words=True),
    Contest("tpcc-memory", "tpcc", 8.0, ours=("assay",), kept=False),
    Contest("tpcc-twice-the-pool", "tpcc", 0.5, ours=("assay",), kept=False),
    Contest("random-reads", READS, 0.25, ours=(), kept=False),
)
# What TPC-C calls durabilities of rivals; the storage engine has the first and the last.
SYNCHRONOUS = {"none": "off", "wal": "normal", "fsync": "full"}
# Servers, which have TPC-C alone and are durable at every commit.
SERVERS = ("postgres",)
# Bytes of a warehouse with its keys, as the storage engine has it.
WAREHOUSE_BYTES = 110 << 20
ENGINE_LOG_BYTES = 1 << 30


@dataclass(frozen=True)
class Size:
    """How much of it."""

    keys: int = 1_000_000
    threads: int = 2
    duration_s: float = 3.0
    warmup_s: float = 1.0
    warehouses: int = 2
    durability: str = "none"
    seed: int = 1


class Ring:
    """Where contestants meet: their data in a folder, loaded once where a contest allows."""

    def __init__(self, folder: Path, size: Size) -> None:
        self._folder, self._size = folder, size
        self._tables: dict[tuple[str, str], tuple[Bench, ServerSnapshot | None]] = {}

    def close(self) -> None:
        """Ends servers, and removes what was loaded."""
        for bench, snapshot in self._tables.values():
            if snapshot is not None:
                snapshot.remove()
            bench.remove()
        self._tables.clear()

    def program(self, name: str) -> Binary:
        """The program that has an index, or drives a database."""
        return rivals.program(name) if name in rivals.NAMES else Binary.find()

    def load(self, contest: Contest, name: str) -> None:
        """Loads what a contest keeps, with no window to speak of."""
        if name == ENGINE:
            return
        if name in rivals.PUBLISHED:
            self._prepare(contest, name)
        elif contest.workload == "tpcc":
            self._loaded(contest, name)
        elif contest.kept and not self._pool(name).exists():
            # In memory, however small the contest's pool is.
            room = max(64 << 20, 8 * self._size.keys * ENTRY_BYTES)
            self._index(contest, name, {"window": {"operations": 1}, "warmup_s": 0.0, "pool_bytes": room})

    def measure(self, contest: Contest, name: str, against: str | None = None) -> WorkRecord:
        """A run; its record. A published program has several structures, and is told which of ours it is `against`."""
        if against is not None and name in rivals.PUBLISHED:
            return self._published(contest, name, against)
        if name == ENGINE:
            return self._engine(contest)
        return self._tpcc(contest, name) if contest.workload == "tpcc" else self._index(contest, name, {})

    def _published(self, contest: Contest, name: str, ours: str) -> WorkRecord:
        size, recipe = self._size, rivals.published.read(name)
        structure = recipe.meets(contest.name, ours)
        assert structure is not None  # noqa: S101  Who does not meet is not asked.
        if structure.command is not None:
            return rival_record(recipe, line_work(contest, structure, size), self._folder)
        work = rivals.published.DriverWork(
            structure=structure.name,
            workload=contest.workload,
            keys=size.keys,
            threads=size.threads,
            seconds=size.duration_s,
            warmup_s=size.warmup_s,
            seed=size.seed,
            checked=CHECKED,
        )
        return of_driver(rivals.published.run(recipe, work, self._folder), recipe, work, self._folder)

    def _prepare(self, contest: Contest, name: str) -> None:
        """Makes the file of a program that writes to one, before the first turn of a pair."""
        recipe = rivals.published.read(name)
        structure = recipe.meets(contest.name, ENGINE)
        if structure is not None and structure.command is not None:
            prepare(recipe, line_work(contest, structure, self._size), self._folder)

    def _engine(self, contest: Contest) -> WorkRecord:
        size = self._size
        wish = engine.Wish(
            pool=f"{pool_bytes(contest, size) >> 20}MiB",
            threads=size.threads,
            tasks=TASKS,
            duration=f"{size.duration_s}s",
            warmup=f"{size.warmup_s}s",
            # As those that it meets: a meeting with another durability is refused.
            durability=engine.CommitDurability.NONE,
        )
        return engine_record(contest.workload, units(contest, size), VALUE_BYTES, wish, self._folder, size.seed)

    def _pool(self, name: str) -> Path:
        return self._folder / f"{name}-pool"

    def _index(self, contest: Contest, name: str, more: Json) -> WorkRecord:
        size = self._size
        wish = Wish(
            index=name,
            workload=contest.workload,
            keys=str(size.keys),
            threads=size.threads,
            duration=f"{size.duration_s}s",
            warmup=f"{size.warmup_s}s",
            value_bytes="8" if contest.words else str(VALUE_BYTES),
            pool="" if contest.words else f"{pool_bytes(contest, size) >> 20}MiB",
            pool_file=self._pool(name) if contest.kept else None,
            count="0",
            options=[f"durability={size.durability}"] if name in rivals.NAMES else [],
        )
        document = job(wish, parse(str(self._folder)), size.seed) | {"checked_entries": CHECKED} | more
        return run_work(self.program(name), ["index"], document)[0]

    def _tpcc(self, contest: Contest, name: str) -> WorkRecord:
        bench, snapshot = self._loaded(contest, name)
        return drive(self._order(contest, name), Binary.find(), bench, snapshot)

    def _loaded(self, contest: Contest, name: str) -> tuple[Bench, ServerSnapshot | None]:
        """A database as it was loaded, and its copy: each run begins with that."""
        if (contest.name, name) not in self._tables:
            order, binary = self._order(contest, name), Binary.find()
            folder = self._folder / f"{contest.name}-{name}"
            folder.mkdir()
            bench = bench_of(order, binary, target_of(binary, str(folder)))
            self._tables[contest.name, name] = bench, None
            load(order, binary, bench)
            self._tables[contest.name, name] = bench, bench.snapshot()
        return self._tables[contest.name, name]

    def _order(self, contest: Contest, name: str) -> TpccFlags:
        size = self._size
        return TpccFlags(
            engine=name,
            warehouses=size.warehouses,
            terminals=size.threads,
            duration_s=size.duration_s,
            ramp_s=size.warmup_s,
            synchronous=SYNCHRONOUS[size.durability],
            buffers=pool_bytes(contest, size),
            seed=size.seed,
        )


def pool_bytes(contest: Contest, size: Size) -> int:
    """What every contestant may keep in memory, in whole MiB; 0 where all of it lies there."""
    if contest.words:
        return 0
    data = size.warehouses * WAREHOUSE_BYTES if contest.workload == "tpcc" else size.keys * ENTRY_BYTES
    return max(4, int(data * contest.pool_share) >> 20) << 20


def units(contest: Contest, size: Size) -> int:
    """Warehouses of TPC-C, or entries."""
    return size.warehouses if contest.workload == "tpcc" else size.keys


def line_work(contest: Contest, structure: rivals.published.Structure, size: Size) -> rivals.published.LineWork:
    """What a program with a command line of its own is asked for."""
    return rivals.published.LineWork(
        structure=structure,
        workload=contest.workload,
        units=units(contest, size),
        threads=size.threads,
        tasks=TASKS,
        pool_share=contest.pool_share,
        seconds=size.duration_s,
        warmup_s=size.warmup_s,
    )


def held_bytes(contest: Contest, rival: str, ours: str, size: Size) -> int:
    """What both sides keep on the target, with the copies of a load."""
    data = size.warehouses * WAREHOUSE_BYTES if contest.workload == "tpcc" else size.keys * ENTRY_BYTES
    structure = rivals.published.read(rival).meets(contest.name, ours) if rival in rivals.PUBLISHED else None
    if structure is None or structure.command is None:
        return 2 * data
    # A log of ours is made whole, though nothing is written to it.
    return 2 * data + ENGINE_LOG_BYTES + line_work(contest, structure, size).file_bytes


def ours_of(contest: Contest) -> tuple[str, ...]:
    """Our structures that a contest is about."""
    structures = (one for name in rivals.PUBLISHED for one in rivals.published.read(name).structure)
    return tuple(dict.fromkeys((*contest.ours, *(one.ours for one in structures if contest.name in one.contests))))


def can_meet(contest: Contest, ours: str, rival: str) -> bool:
    """Whether a rival has what a contest asks for beside one of ours."""
    if rival in rivals.PUBLISHED:
        return rivals.published.read(rival).meets(contest.name, ours) is not None
    if ours == ENGINE:
        return False
    return contest.workload == "tpcc" or (rival not in SERVERS and not contest.words)


def place_of(contest: Contest, on: Path | None) -> Path:
    """The folder that the user names; memory or the folder at hand where none is."""
    return on or (MEMORY if contest.words else Path())


def named(names: Sequence[str]) -> list[Contest]:
    """Contests by name; all where none is named.

    Raises:
        AssayError: where one is none.
    """
    known = {one.name: one for one in CONTESTS}
    unknown = [name for name in names if name not in known]
    if unknown:
        raise AssayError(f"there is no contest `{unknown[0]}`", hint=f"there are {', '.join(known)}", code=BAD_JOB)
    return [known[name] for name in names] if names else list(CONTESTS)
