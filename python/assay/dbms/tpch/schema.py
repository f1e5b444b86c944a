"""The eight tables: columns, keys, and the indexes that the studies used (TPC-H specification, clause 1.4)."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True)
class Column:
    """A column. `kind` is `key`, `int`, `money`, `date`, or `char(N)`, `varchar(N)`."""

    name: str
    kind: str


@dataclass(frozen=True)
class Table:
    """A table. `rows_per_scale` is the number of rows at scale factor 1; that of fixed tables does not grow."""

    name: str
    columns: tuple[Column, ...]
    primary_key: tuple[str, ...]
    rows_per_scale: int
    fixed: bool = False

    def rows(self, scale: float) -> int | None:
        """Rows at a scale factor; none for lineitem, whose orders have between one and seven lines each."""
        if self.name == "lineitem":
            return None
        return self.rows_per_scale if self.fixed else int(self.rows_per_scale * scale)


def _table(name: str, key: str, rows: int, columns: str, *, fixed: bool = False) -> Table:
    parts = (part.split() for part in columns.split(","))
    return Table(name, tuple(Column(part[0], part[1]) for part in parts), tuple(key.split()), rows, fixed)


TABLES = (
    _table(
        "region",
        "r_regionkey",
        5,
        "r_regionkey key, r_name char(25), r_comment varchar(152)",
        fixed=True,
    ),
    _table(
        "nation",
        "n_nationkey",
        25,
        "n_nationkey key, n_name char(25), n_regionkey key, n_comment varchar(152)",
        fixed=True,
    ),
    _table(
        "part",
        "p_partkey",
        200_000,
        "p_partkey key, p_name varchar(55), p_mfgr char(25), p_brand char(10), p_type varchar(25), p_size int,"
        "p_container char(10), p_retailprice money, p_comment varchar(23)",
    ),
    _table(
        "supplier",
        "s_suppkey",
        10_000,
        "s_suppkey key, s_name char(25), s_address varchar(40), s_nationkey key, s_phone char(15), s_acctbal money,"
        "s_comment varchar(101)",
    ),
    _table(
        "partsupp",
        "ps_partkey ps_suppkey",
        800_000,
        "ps_partkey key, ps_suppkey key, ps_availqty int, ps_supplycost money, ps_comment varchar(199)",
    ),
    _table(
        "customer",
        "c_custkey",
        150_000,
        "c_custkey key, c_name varchar(25), c_address varchar(40), c_nationkey key, c_phone char(15),"
        "c_acctbal money, c_mktsegment char(10), c_comment varchar(117)",
    ),
    _table(
        "orders",
        "o_orderkey",
        1_500_000,
        "o_orderkey key, o_custkey key, o_orderstatus char(1), o_totalprice money, o_orderdate date,"
        "o_orderpriority char(15), o_clerk char(15), o_shippriority int, o_comment varchar(79)",
    ),
    _table(
        "lineitem",
        "l_orderkey l_linenumber",
        6_000_000,
        "l_orderkey key, l_partkey key, l_suppkey key, l_linenumber int, l_quantity money, l_extendedprice money,"
        "l_discount money, l_tax money, l_returnflag char(1), l_linestatus char(1), l_shipdate date,"
        "l_commitdate date, l_receiptdate date, l_shipinstruct char(25), l_shipmode char(10), l_comment varchar(44)",
    ),
)

# What row stores get beside the primary keys: foreign keys and the dates that queries select by.
INDEXES = (
    ("nation", "n_regionkey"),
    ("supplier", "s_nationkey"),
    ("partsupp", "ps_suppkey"),
    ("customer", "c_nationkey"),
    ("orders", "o_custkey"),
    ("orders", "o_orderdate"),
    ("lineitem", "l_partkey, l_suppkey"),
    ("lineitem", "l_suppkey"),
    ("lineitem", "l_shipdate"),
)


def index_name(table: str, columns: str) -> str:
    """The name of an index."""
    return "_".join([table, *columns.replace(",", " ").split()])
