"""What `assay` can be told, as a table of contents: every command with the file that holds it.

`--help` is printed from here, and a command's file is loaded when the command is typed. A test holds each line against
the command: its file, its name and the first line of what it says of itself.
"""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True)
class Command:
    """One command: what is typed, where it stands below `assay.cli`, and what it does in a line."""

    name: str
    file: str
    says: str


@dataclass(frozen=True)
class Group:
    """Commands that are typed behind one word. `alone` is the file of what the word does where no command follows."""

    name: str
    says: str
    commands: tuple[Command, ...]
    alone: str = ""


@dataclass(frozen=True)
class Section:
    """A part of `assay --help`, with an example."""

    title: str
    example: str
    entries: tuple[Command | Group, ...]


_COST_COMMANDS = (
    Command(
        "ratio", "cost.ratio", "R = P / ($S + $D + W*U*$C/T): throughput per dollar of the hardware that it keeps busy."
    ),
    Command(
        "total",
        "cost.total",
        "What a system costs over months, and per GB, GB/s, IOPS, million operations, transaction.",
    ),
    Command(
        "budget",
        "cost.budget",
        "What a sum of money buys: capacity, bandwidth and random reads, at each date that has prices.",
    ),
    Command("history", "cost.history", "Capacity per dollar over the years."),
    Command("break-even", "cost.break_even", "The five-minute rule for any pair of tiers."),
    Command(
        "lomet",
        "cost.lomet",
        "Lomet's curves: cost over the access rate in memory and on a device, and where they cross.",
    ),
    Command("population", "cost.population", "Whether a socket takes these memory modules, and who says so."),
    Command("prices", "cost.prices", "The price book: each entry with its date and source."),
    Command(
        "jungle-table1",
        "cost.jungle_table1",
        "The table of price per capacity of Huang et al. (CIDR 2022), from its ingredients.",
    ),
)
_DBMS_COMMANDS = (
    Command(
        "tpch", "dbms.tpch", "Run the 22 queries of TPC-H on each target, cold and hot, with every answer checked."
    ),
    Command(
        "tpcc",
        "dbms.tpcc",
        "Run TPC-C's five transactions on each target, with its twelve consistency conditions checked.",
    ),
    Command(
        "wtperf", "dbms.wtperf", "Run WiredTiger's own benchmark on each target, with the page cache on, off and cold."
    ),
    Command("install", "dbms.install", "Install PostgreSQL, or build WiredTiger's wtperf; kept for later runs."),
    Command(
        "predict",
        "dbms.predict",
        "Predict the time of queries, and the throughput, on a device that is not here, with a band.",
    ),
)
_ENGINE_COMMANDS = (
    Command(
        "tpcc", "engine.tpcc", "Run TPC-C's five transactions, with the mix audited and the twelve conditions checked."
    ),
    Command("ycsb", "engine.ycsb", "Read and change single rows, each in a transaction of its own."),
    Command("scan", "engine.scan", "Scan all rows in order, again and again."),
    Command(
        "ledger",
        "engine.ledger",
        "Commit numbered transactions in a kept database, and hold it to what it acknowledged.",
    ),
)
_INDEX_COMMANDS = (
    Command("list", "index.list", "List the indexes, and whether this program has them."),
    Command("run", "index.run", "Run a workload on an index: load, window, checks, recovery, cost per operation."),
    Command(
        "study",
        "index.study",
        "Sweep indexes, workloads and threads, as a published study did; go on where it was stopped.",
    ),
    Command(
        "cost",
        "index.cost",
        "Performance per dollar of runs, on this machine and on the hardware of a published study through twins.",
    ),
    Command(
        "nodes",
        "index.nodes",
        "Lookup time against node size: depth of the tree times what reading a node takes, measured or on twins.",
    ),
)
_FIO_COMMANDS = (
    Command("import", "fio.import_", "Make a study of a job file of fio's."),
    Command("export", "fio.export", "Write fio's job file for a cell, so that anyone can cross-check."),
    Command("crosscheck", "fio.crosscheck", "Run a cell by fio and by Assay in turn."),
    Command(
        "engine",
        "fio.engine",
        "Build the engine with which fio plays a drive that is not here, and print the line to use.",
    ),
)
_RIVALS_COMMANDS = (
    Command("list", "rivals.list", "List the rivals, and which were built."),
    Command("build", "rivals.build", "Build rivals into a program of their own, beside those that were built before."),
    Command(
        "bench",
        "rivals.bench",
        "Measure Assay's structures beside rivals: adjacent pairs in random order, ratios with intervals.",
    ),
)
_BENCH_COMMANDS = (
    Command("null", "bench.null", "The generator's own ceiling beside fio's null engine."),
    Command(
        "fio", "bench.fio", "CPU cycles per operation and throughput beside fio's, same file, same engine and depth."
    ),
    Command("pmem", "bench.pmem", "Bandwidth of the pmem path on tmpfs beside fio's libpmem."),
    Command("twin", "bench.twin", "Simulated operations and analytic points per second of one core."),
    Command("scaling", "bench.scaling", "How CPU time grows with the work, and how long the programs take to start."),
)
_TWIN_COMMANDS = (
    Command(
        "check",
        "twins.check",
        "Check the file of a twin, or how far it is off the rates of a table that it was not fitted to.",
    ),
    Command(
        "coverage",
        "twins.coverage",
        "Count how often published figures that no twin was fitted to lie in its band, by kind of question.",
    ),
    Command(
        "show",
        "twins.card",
        "Draw a drive's twin as a card: rates and latencies, collected and fresh, with bands and sources.",
    ),
    Command(
        "export",
        "twins.export",
        "Print a drive's twin as another program's configuration, with what that format cannot say.",
    ),
)
_PASSPORT_COMMANDS = (
    Command(
        "verify",
        "passport.verify",
        "Check passports: form, signature, that figures follow from runs, and whether they can be true.",
    ),
)
_ATLAS_COMMANDS = (
    Command(
        "build",
        "atlas.build",
        "Write a static site of drives and instances: sheet, measured, twin, error, who, when, verdicts, prices.",
    ),
)
_FLEET_COMMANDS = (
    Command("run", "fleet.run", "Run a study on many hosts, every cell at the same moment on all of them."),
    Command(
        "doctor",
        "fleet.doctor",
        "Look at all hosts of a fleet before measuring: versions, the same program, clocks, each host's own doctor.",
    ),
    Command("keys", "fleet.keys", "Make certificates for a fleet: an authority of its own, and a pair for each host."),
    Command(
        "render",
        "fleet.render",
        "Write what starts a run on a cluster: a batch script for Slurm, or objects for Kubernetes.",
    ),
    Command(
        "scheduler",
        "fleet.scheduler",
        "Serve as the scheduler of a fleet until it is interrupted; prints its address.",
    ),
    Command(
        "worker",
        "fleet.worker",
        "Measure on this host for a fleet until the scheduler is gone or it is interrupted; prints its address.",
    ),
    Command(
        "attach",
        "fleet.attach",
        "Stand by on this host for who opened the connection; `assay fleet run --ssh` calls it, and nobody else.",
    ),
)
_LAB_COMMANDS = (
    Command("run", "lab.run", "Boot the emulated machine and check behaviour in it."),
    Command("shell", "lab.shell", "A shell in the emulated machine, with everything attached."),
    Command("doctor", "lab.doctor", "What the lab finds here, what is missing, and the command that mends it."),
    Command("list", "lab.list", "List the suites with their checks."),
)
_MEASURE = (
    Command(
        "quick",
        "measure.quick",
        "Measure the disk under a folder in five minutes, or say in three which of two is better.",
    ),
    Command("run", "measure.run", "Run a study, by name or file."),
    Group(
        "passport",
        "Measure a volume in two minutes, and write down what it does as one signed file and a badge.",
        _PASSPORT_COMMANDS,
        "passport.passport",
    ),
    Command("doctor", "about.doctor", "Look at the machine before measuring."),
    Command("verify", "measure.verify", "Check durability by killing a writer."),
    Command(
        "soak",
        "measure.soak",
        "Kill a process that works on an index or the engine, and check that what it acknowledged is there.",
    ),
    Command(
        "trace",
        "measure.trace",
        "Record what a running database asks of its devices, as a scenario that `assay run` replays anywhere.",
    ),
    Group("fleet", "Measure on many hosts at the same moment, with totals that name who was missing.", _FLEET_COMMANDS),
)
_READ_AND_DECIDE = (
    Command("report", "results.report", "Write report.html for a result folder."),
    Command("export", "results.export", "Write figures for other programs: OpenMetrics text, or Apache Otava's CSV."),
    Command("query", "results.query", "Ask the results in SQL (DuckDB)."),
    Command("compare", "results.compare", "Compare two sides: different, equivalent, or undecided."),
    Command("history", "results.history", "Follow a figure over result folders and find where it changed."),
    Command("advise", "results.advise", "Say what to change, by your own records."),
    Group("atlas", "A site of drives and instances out of passports, result folders and the catalog.", _ATLAS_COMMANDS),
)
_TWINS_AND_CLAIMS = (
    Command("predict", "twins.predict", "Ask a twin for one point: bandwidth, latency, CPU, and what sets the pace."),
    Command(
        "explore",
        "twins.explore",
        "Ask the whole catalog: millions of points of twins, arrays, paths, sizes and mixes, as Parquet.",
    ),
    Command(
        "fit",
        "twins.fit",
        "Make a twin of a device in about four minutes, and say how far off it is on points it did not see.",
    ),
    Command(
        "mount", "twins.mount", "Play a twin under any program: a folder that answers as a drive that is not here."
    ),
    Group("twin", "Check a twin, draw it, and write it in the words of other programs.", _TWIN_COMMANDS),
    Command("claims", "twins.claims", "Try what studies published: on twins of their hardware, and on this machine."),
    Command("reproduce", "twins.reproduce", "Try the claims of a published study on twins of its hardware."),
)
_MONEY = (
    Command("choose", "cost.choose", "Choose instances for a workload, and say why the others lost."),
    Group(
        "cost",
        "What hardware costs, per GB, per IOPS, per transaction; break-even of two tiers; what a sum buys.",
        _COST_COMMANDS,
    ),
)
_DATABASES_ENGINE_AND_INDEXES = (
    Group(
        "dbms",
        "Run real databases on storage targets: how much of a device's difference survives in them.",
        _DBMS_COMMANDS,
    ),
    Group("engine", "Run Assay's own storage engine on a target: what a database could reach there.", _ENGINE_COMMANDS),
    Group(
        "index",
        "Run persistent indexes: FPTree, BzTree, Dash, a B+-tree and a hash table on a drive; and rivals.",
        _INDEX_COMMANDS,
    ),
)
_BESIDE_OTHER_PROGRAMS = (
    Group("fio", "Read job files of fio, write them, and let fio play twins.", _FIO_COMMANDS),
    Group(
        "rivals",
        "Other engines for runs side by side: LMDB, RocksDB, WiredTiger, redb. Built only on demand.",
        _RIVALS_COMMANDS,
    ),
    Group("bench", "Compare Assay's own cost with fio's.", _BENCH_COMMANDS),
    Group(
        "lab", "Check paths in an emulated machine that has persistent memory, NVMe drives and arrays.", _LAB_COMMANDS
    ),
)
_THIS_INSTALLATION = (
    Command("list", "about.list", "List the ready-made studies, the paths, or the twins and hosts of the catalog."),
    Command("schema", "about.schema", "Print a JSON Schema."),
    Command("clean", "about.clean", "Remove what killed runs left in folders."),
    Command("completion", "about.completion", "Print a completion script for a shell."),
)
CONTENTS = (
    Section("Measure", "assay quick --on /mnt/data", _MEASURE),
    Section("Read and decide", "assay compare assay-results/before assay-results/after", _READ_AND_DECIDE),
    Section(
        "Twins and claims", "assay predict --on 'twin:p4610*4' --op read --size 16KiB --depth 64", _TWINS_AND_CLAIMS
    ),
    Section("Money", "assay cost break-even --help", _MONEY),
    Section(
        "Databases, engine and indexes",
        "assay dbms tpcc --engine postgres --warehouses 10 --on /mnt/a --on /mnt/b --repeats 3",
        _DATABASES_ENGINE_AND_INDEXES,
    ),
    Section("Beside other programs", "assay fio import job.fio --out study.toml", _BESIDE_OTHER_PROGRAMS),
    Section("This installation", "assay list twins", _THIS_INSTALLATION),
)
