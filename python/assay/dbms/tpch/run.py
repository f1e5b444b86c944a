"""A database of TPC-H: loaded once, copied to each target, and passes over its queries with every answer checked."""

from __future__ import annotations

import contextlib
import time
from collections.abc import Callable, Sequence
from pathlib import Path

from assay.binary import Binary
from assay.dbms import cold
from assay.dbms.target import check_room, read_requests, target_of
from assay.dbms.tpch import answers, check, data, engines, query
from assay.dbms.tpch.engine import Emptied, PlanNode
from assay.dbms.tpch.estimate import needed_bytes
from assay.dbms.tpch.order import COLD, HOT_BUFFERS, TpchFlags
from assay.dbms.tpch.passes import Pass, QueryGround
from assay.dbms.tpch.record import record
from assay.dbms.tpch.sample import Sample
from assay.dbms.workspace import Workspace
from assay.error import AssayError
from assay.record import WorkRecord


class QueryDatabase:
    """A database on all of its targets; `close` removes it."""

    def __init__(self, order: TpchFlags, binary: Binary, folders: Sequence[str], listen: Callable[[str], None]) -> None:
        self.order, self._binary, self._listen = order, binary, listen
        self._stack = contextlib.ExitStack()
        self._places = {folder: target_of(binary, folder) for folder in folders}
        self.engine = engines.make(order.engine)
        self._nodes: dict[tuple[str, str], PlanNode | None] = {}
        try:
            self._require_room()
            self._load()
        except BaseException:
            self.close()
            raise

    def _require_room(self) -> None:
        scale = self.order.scale
        need, text = needed_bytes(self.engine.name, scale), 0 if self.order.files else data.needed_bytes(scale)
        # The second engine's copy lies on the first target while answers are checked.
        first = text + check.second_bytes(self.order)
        check_room([(place, need + (0 if n else first)) for n, place in enumerate(self._places.values())])

    def _load(self) -> None:
        order, places = self.order, self._places
        spaces = {name: self._stack.enter_context(Workspace(place.folder)) for name, place in places.items()}
        # It ends before its folders go.
        self._stack.callback(self.engine.close)
        first = next(iter(spaces.values()))
        self._listen(f"data of scale factor {order.scale:g}")
        files = (
            data.check(order.files, order.scale) if order.files else data.generate(first.folder("text"), order.scale)
        )
        source = files.checked
        self._listen(f"loading into {self.engine.name}")
        self._folders = {name: space.folder("data") for name, space in spaces.items()}
        origin = next(iter(self._folders.values()))
        loaded = self.engine.load(files, origin)
        reference = check.reference(order, files, first, self._listen)
        if not order.files:
            first.remove(files.folder)
        for name in list(spaces)[1:]:
            self._listen(f"copying to {name}")
            self.engine.copy(origin, self._folders[name])
        self._statements = query.queries(self.engine.dialect, order.scale, order.queries, order.seed)
        plans = self._planned(next(iter(places))) if len(places) > 1 else {}
        self._ground = QueryGround(order, self._binary, self.engine, loaded, source, reference, plans)

    def _planned(self, name: str) -> dict[str, tuple[str, str]]:
        """Where plans of queries were seen first, and their hashes."""
        self.engine.start(self._folders[name])
        found = {one.name: (name, self.engine.plan(one.sql).hash) for one in self._statements}
        self.engine.stop()
        return found

    def measure(self, protocol: str, name: str) -> WorkRecord:
        """A pass on a target; its record. What was finished is kept where it is interrupted, or the engine ends."""
        one = Pass(self._places[name], protocol)
        try:
            self._pass(one, name)
        except KeyboardInterrupt:
            one.interrupted = True
            self.engine.kill()
            if not one.done:
                raise
        except AssayError as error:
            one.broke = error.message
            self.engine.kill()
            if not one.done:
                raise
        return record(self._ground, one)

    def _pass(self, one: Pass, name: str) -> None:
        if one.protocol != COLD:
            self.engine.start(self._folders[name])
            if one.protocol == HOT_BUFFERS:
                one.warmed = self.engine.warm()
        try:
            for statement in self._statements:
                sample = one.samples[statement.name] = Sample(statement.name)
                try:
                    self._query(one, name, statement, sample)
                except engines.QueryError as error:
                    sample.failure = error.message
                    self.engine.stop()
                    if one.protocol != COLD:
                        self.engine.start(self._folders[name])
        finally:
            self.engine.stop()

    def _query(self, one: Pass, name: str, statement: query.Query, sample: Sample) -> None:
        engine = self.engine
        if one.protocol == COLD:
            self._make_cold(one, name)
        else:
            engine.run(statement.sql)  # Not counted: it brings the data near.
        sample.plan = engine.plan(statement.sql)
        one.counters.open()
        begun = time.monotonic()
        found = engine.run(statement.sql)
        changes = one.counters.close(time.monotonic() - begun)
        sample.device_requests, sample.device_bytes, sample.device_busy_s = read_requests(changes)
        sample.run = found
        sample.wrong = self._judge(statement, found.rows)
        key = (name, statement.name)
        if key not in self._nodes:
            # The node is of a run on warm data: what one protocol found on a target holds for the other.
            self._nodes[key] = engine.profile(statement.sql)
        sample.node = self._nodes[key]

    def _make_cold(self, one: Pass, name: str) -> None:
        engine, folder = self.engine, self._folders[name]
        if self.order.engine.evict and isinstance(engine, Emptied):
            one.emptied = engine.empty(folder)
            self._clear(one, folder)
            return
        engine.stop()
        self._clear(one, folder)
        engine.start(folder)

    def _clear(self, one: Pass, folder: Path) -> None:
        folders = [path for path in self.engine.folders(folder) if not one.place.in_memory]
        if folders:
            one.cleared = cold.clear(folders)

    def _judge(self, statement: query.Query, rows: Sequence[answers.Row]) -> str:
        """How an answer is wrong; empty where it is right."""
        return answers.misordered(statement.number, rows) or self._ground.reference.judge(statement.name, rows)

    def close(self) -> None:
        """Removes it from all targets."""
        self._stack.close()
