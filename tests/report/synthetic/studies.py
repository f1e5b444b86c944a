"""Studies with models, in the manner of the declared ones."""

from __future__ import annotations

from typing import Any

from assay.untyped import Json
from report.synthetic import drive
from report.synthetic.folder import Synthetic
from report.synthetic.record import Shape, asked, reason
from report.synthetic.sweeps import long_run, pages, sizes

HTAP = ("scan", "point", "background", "wal")
REFUSED = (
    "io_uring is switched off on this machine (kernel.io_uring_disabled is 2).",
    "Allow it: sysctl kernel.io_uring_disabled=0.",
)


def depth_curve() -> Synthetic:
    def model(factors: Json, _scenario: str) -> list[Shape]:
        return [drive.read_shape("point", factors["path"], depth=factors["depth"])]

    def reasons(factors: Json, _scenario: str, _repeat: int) -> list[Json]:
        if factors["path"] == "libaio+direct" and factors["depth"] == 64:
            evidence = "48.2 operations were in flight on average, 64 were asked for."
            return [reason("depth-not-reached", "suspect", evidence, "Use more threads.", "point", achieved=48.2)]
        return []

    figures: list[Json] = [
        {
            "id": "curve",
            "title": "Latency against throughput",
            "kind": "latency-throughput",
            "x": "ops_per_s",
            "y": "service_p99_ns",
            "series": "path",
            "x_scale": "linear",
            "y_scale": "log",
            "caption": "Random 4 KiB reads.",
        },
        {
            "id": "cdf",
            "title": "Latency at depth 1 and beyond",
            "kind": "cdf",
            "y": "service_p99_ns",
            "series": "depth",
            "facet": "path",
            "x_scale": "log",
            "y_scale": "linear",
        },
    ]
    return Synthetic(
        "raw-depth",
        "Latency against throughput",
        "What does depth buy, and what does it cost?",
        "Field practice",
        {"path": ["pread+direct", "libaio+direct", "io_uring+direct"], "depth": [1, 4, 16, 64]},
        model,
        figures,
        repeats=3,
        reasons=reasons,
    )


def rates() -> Synthetic:
    def model(factors: Json, _scenario: str) -> list[Shape]:
        rate = float(factors["rate"])
        load = rate / 320_000
        arrivals = {"kind": "poisson", "rate_per_s": rate, "scope": "total"}
        wanted = asked("point", path=drive.KINDS["io_uring+direct"], depth=64, arrivals=arrivals)
        return [Shape("point", min(rate, 300_000), drive.READ_NS * (1 + load), wanted, response=1 + load**4 * 6)]

    figures: list[Json] = [
        {
            "id": "curve",
            "title": "Response against offered load",
            "kind": "latency-throughput",
            "x": "ops_per_s",
            "y": "response_p99_ns",
            "x_scale": "linear",
            "y_scale": "log",
        },
    ]
    return Synthetic(
        "raw-rate",
        "Open loop",
        "At which rate does waiting begin?",
        "Field practice",
        {"rate": [20_000, 80_000, 160_000, 240_000, 300_000]},
        model,
        figures,
    )


def scan() -> Synthetic:
    def model(factors: Json, _scenario: str) -> list[Shape] | tuple[str, str]:
        if factors["path"] == "io_uring":
            return REFUSED
        return [
            drive.read_shape("scan", factors["path"], factors["page"], threads=factors["threads"], pattern="sequential")
        ]

    def reasons(factors: Json, _scenario: str, _repeat: int) -> list[Json]:
        if factors["path"] == "mmap" and factors["threads"] == 8:
            evidence = "The device read 1.2 GB where 5.9 GB were asked for: the page cache served the rest."
            return [
                reason(
                    "page-cache-served",
                    "invalid",
                    evidence,
                    "Use a file larger than memory.",
                    "scan",
                    device_bytes=1.2e9,
                )
            ]
        return []

    figures: list[Json] = [
        {
            "id": "bandwidth",
            "title": "Table scan",
            "kind": "line",
            "x": "threads",
            "y": "bandwidth_bytes_per_s",
            "series": "path",
            "facet": "page",
            "x_scale": "log",
            "y_scale": "linear",
            "caption": "Each thread reads its own file in order.",
        },
    ]
    return Synthetic(
        "drop-in-scan",
        "Table scan",
        "What does a scan gain when only the drive changes?",
        "Boether et al., DaMoN 2021",
        {"path": ["pread", "mmap", "io_uring"], "page": [4096, 16384], "threads": [1, 2, 4, 8]},
        model,
        figures,
        reasons=reasons,
        cache="cold",
    )


def log() -> Synthetic:
    def model(factors: Json, _scenario: str) -> list[Shape]:
        return [drive.log_shape("log", "pread", factors["entry"], layout=factors["layout"])]

    figures: list[Json] = [
        {
            "id": "bandwidth",
            "title": "Logging",
            "kind": "bar",
            "x": "layout",
            "y": "ops_per_s",
            "series": "entry",
            "x_scale": "linear",
            "y_scale": "linear",
        },
        {
            "id": "flush",
            "title": "Flush alone",
            "kind": "bar",
            "x": "layout",
            "y": "flush_p50_ns",
            "series": "entry",
            "x_scale": "linear",
            "y_scale": "linear",
        },
    ]
    return Synthetic(
        "drop-in-log",
        "Logging",
        "What does a durable log entry cost?",
        "Boether et al., DaMoN 2021",
        {"layout": ["growing", "preallocated", "recycled"], "entry": [128, 8192]},
        model,
        figures,
        repeats=2,
    )


def cache() -> Synthetic:
    def model(factors: Json, _scenario: str) -> list[Shape]:
        warm = factors["cache"] == "warm"
        path = factors["path"] if factors["cache"] != "bypassed" else "pread+direct"
        shape = drive.read_shape("read", path, 8192)
        if warm:
            shape.ops_per_s, shape.median_ns, shape.cycles_per_op = 610_000, 1_400, 4_200
        shape.extra = {"tlb": 3.0 if warm else 22.0}
        return [shape]

    figures: list[Json] = [
        {
            "id": "throughput",
            "title": "Page cache",
            "kind": "bar",
            "x": "cache",
            "y": "bandwidth_bytes_per_s",
            "series": "path",
            "x_scale": "linear",
            "y_scale": "log",
        },
        {
            "id": "tlb",
            "title": "TLB misses",
            "kind": "bar",
            "x": "cache",
            "y": "tlb_misses_per_op",
            "series": "path",
            "x_scale": "linear",
            "y_scale": "linear",
        },
    ]
    return Synthetic(
        "scm-cache",
        "Page cache: warm, cold, none",
        "How much of the device does a cache hide?",
        "Fedorova, 2020",
        {"path": ["pread", "mmap"], "cache": ["warm", "cold", "bypassed"]},
        model,
        figures,
        counters=True,
    )


def _htap(step: int, present: tuple[str, ...]) -> list[Shape]:
    direct = step >= 4
    path = {"kind": ["", "pread", "pread", "io_uring", "libaio", "libaio"][step], "direct": direct}
    gain = [0, 1.0, 1.35, 2.1, 4.2, 4.5][step]
    load = 1 + 0.25 * (len(present) - 1)
    rate = 250e6 / 16384
    paced = {"kind": "fixed", "rate_per_s": rate, "scope": "total"}
    shapes = {
        "scan": Shape(
            "scan",
            21_000 * gain / load,
            128e9 / (21_000 * gain / load),
            asked("scan", path=path, size=16384, threads=4, depth=32, batch=32),
            cycles_per_op=52e3 / gain**0.6,
        ),
        "point": Shape(
            "point",
            7_400 * gain**0.3 / load,
            118_000 * load / gain**0.3,
            asked("point", path=path, size=16384),
            objective={"metric": "p99_ns", "bound": 1e6},
            cycles_per_op=30e3,
        ),
        "background": Shape(
            "background",
            rate,
            40_000 * load,
            asked("background", path=path, size=16384, operation={"kind": "write"}, arrivals=paced),
            response=1.2 * load,
        ),
        "wal": Shape(
            "wal",
            rate * 0.97,
            61_000 * load,
            asked(
                "wal",
                path=path,
                size=16384,
                operation={"kind": "write"},
                pattern={"kind": "sequential"},
                arrivals=paced,
                durability={"kind": "fdatasync" if step == 1 else "none", "every": 1},
            ),
            response=1.3 * load**2,
            objective={"metric": "p99_ns", "bound": 2e5},
            flush_ns=910_000 if step == 1 else 0,
        ),
    }
    return [shapes[name] for name in present]


def htap() -> Synthetic:
    pairs = [f"pair:{a}+{b}" for i, a in enumerate(HTAP) for b in HTAP[i + 1 :]]

    def model(_factors: Json, scenario: str) -> list[Shape] | tuple[str, str]:
        if scenario == "pair:background+wal":
            return (
                "The data set could not be prepared: no space was left.",
                "Free 12 GB or choose a smaller data set.",
            )
        names = HTAP if scenario == "all" else tuple(scenario.split(":")[1].split("+"))
        return _htap(1, names)

    def reasons(_factors: Json, scenario: str, _repeat: int) -> list[Json]:
        if scenario == "all":
            evidence = "14 800 of 15 259 operations per second were reached."
            return [reason("rate-not-reached", "suspect", evidence, "Lower the rate or use more threads.", "wal")]
        return []

    figures: list[Json] = [
        {
            "id": "bandwidth",
            "title": "The four classes at once",
            "kind": "bar",
            "x": "class",
            "y": "bandwidth_bytes_per_s",
            "series": "scenario",
            "x_scale": "linear",
            "y_scale": "linear",
        },
        {
            "id": "interference",
            "title": "How classes hurt each other",
            "kind": "interference",
            "x_scale": "linear",
            "y_scale": "linear",
        },
    ]
    figures[0]["series"] = None
    return Synthetic(
        "dana-htap",
        "The HTAP scenario",
        "Do scans, point reads, writes and a log get along?",
        "Haas et al., CIDR 2020",
        {},
        model,
        figures,
        scenarios=["all", *(f"alone:{name}" for name in HTAP), *pairs],
        reasons=reasons,
    )


STEPS = [
    "#1 blocking, buffered",
    "#2 no fdatasync per commit",
    "#3 io_uring, buffered",
    "#4 libaio, direct",
    "#5 no file system",
]


def ladder() -> Synthetic:
    def model(factors: Json, _scenario: str) -> list[Shape] | tuple[str, str]:
        step = STEPS.index(factors["step"]) + 1
        if step == 5:
            return (
                "No block device was given, only a folder.",
                "Give one with --on DEVICE --serial SERIAL --yes-destroy.",
            )
        return _htap(step, HTAP)

    def reasons(factors: Json, _scenario: str, _repeat: int) -> list[Json]:
        if factors["step"] == STEPS[2]:
            return [
                reason(
                    "not-steady",
                    "suspect",
                    "Bandwidth still fell by 14 % over the last five intervals.",
                    "Measure longer.",
                )
            ]
        return []

    figures: list[Json] = [
        {
            "id": "ladder",
            "title": "The ladder",
            "kind": "ladder",
            "x": "step",
            "y": "bandwidth_bytes_per_s",
            "series": "class",
            "x_scale": "linear",
            "y_scale": "linear",
            "caption": "16 KiB pages; each rung removes one layer.",
        },
    ]
    return Synthetic(
        "dana-ladder",
        "The ladder",
        "What does each layer between engine and drive cost?",
        "Haas et al., CIDR 2020, table 2",
        {"step": STEPS},
        model,
        figures,
        reasons=reasons,
    )


def everything() -> list[Synthetic]:
    """A run of the size of the main job."""
    makers: list[Any] = [ladder, htap, depth_curve, rates, scan, log, cache, pages, sizes, long_run]
    return [make() for make in makers]
