"""Mutants of Python source: one operator, one comparison or one number that is another one.

They are what a slip of the hand makes of a figure. Words are left alone, and so are annotations and what is raised.
"""

from __future__ import annotations

import ast
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from types import CodeType

_COMPARED: dict[type[ast.cmpop], tuple[type[ast.cmpop], ...]] = {
    ast.Lt: (ast.LtE, ast.GtE),
    ast.LtE: (ast.Lt, ast.Gt),
    ast.Gt: (ast.GtE, ast.LtE),
    ast.GtE: (ast.Gt, ast.Lt),
    ast.Eq: (ast.NotEq,),
    ast.NotEq: (ast.Eq,),
    ast.Is: (ast.IsNot,),
    ast.IsNot: (ast.Is,),
    ast.In: (ast.NotIn,),
    ast.NotIn: (ast.In,),
}
_COMPUTED: dict[type[ast.operator], type[ast.operator]] = {
    ast.Add: ast.Sub,
    ast.Sub: ast.Add,
    ast.Mult: ast.Div,
    ast.Div: ast.Mult,
    ast.FloorDiv: ast.Mult,
    ast.Mod: ast.Mult,
    ast.Pow: ast.Mult,
    ast.LShift: ast.RShift,
    ast.RShift: ast.LShift,
    ast.BitAnd: ast.BitOr,
    ast.BitOr: ast.BitAnd,
}
_CALLED = {"min": "max", "max": "min", "any": "all", "all": "any", "floor": "ceil", "ceil": "floor"}
# Settings of calls that change no figure.
_SETTINGS = {"strict", "frozen", "slots", "kw_only", "indent", "maxsize", "stacklevel", "ascii", "ensure_ascii"}


Undo = Callable[[], None]


@dataclass(frozen=True)
class Mutant:
    """One change of a file. `begins` is the first line of the outermost function that holds it; 0 outside of all."""

    file: str
    number: int
    line: int
    function: str
    begins: int
    was: str
    now: str

    @property
    def key(self) -> str:
        """What stays the same when lines move."""
        return f"{self.file} {self.function}: {self.was} -> {self.now}"


@dataclass(frozen=True)
class _Place:
    """The function round a node: its name with its classes, and where the outermost function begins."""

    name: str = ""
    begins: int = 0

    def within(self, node: ast.AST) -> _Place:
        if not isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef | ast.ClassDef):
            return self
        name = f"{self.name}.{node.name}".lstrip(".")
        if self.begins or isinstance(node, ast.ClassDef):
            return _Place(name, self.begins)
        return _Place(name, min([node.lineno, *(each.lineno for each in node.decorator_list)]))


@dataclass(frozen=True)
class _Site:
    """Where something can be changed, the node that shows it, and the change, which gives back how it is undone."""

    line: int
    shown: ast.AST
    place: _Place
    change: Callable[[], Undo]


def mutants(source: str, file: str) -> list[Mutant]:
    """All mutants of a file."""
    return [_mutant(site, number, file) for number, site in enumerate(_sites(ast.parse(source), _Place()))]


def mutated(source: str, number: int, file: str) -> CodeType:
    """The code of a file with one change."""
    tree = ast.parse(source)
    list(_sites(tree, _Place()))[number].change()
    return compile(ast.fix_missing_locations(tree), file, "exec")


def _mutant(site: _Site, number: int, file: str) -> Mutant:
    was = _said(site.shown)
    undo = site.change()
    now = _said(site.shown)
    undo()
    return Mutant(file, number, site.line, site.place.name, site.place.begins, was, now)


def _said(node: ast.AST) -> str:
    """The first line of a node as it would be written."""
    return ast.unparse(node).partition("\n")[0]


def _set(holder: object, name: str, new: object) -> Undo:
    old = getattr(holder, name)
    setattr(holder, name, new)
    return lambda: setattr(holder, name, old)


def _setting(holder: object, name: str, new: object) -> Callable[[], Undo]:
    return lambda: _set(holder, name, new)


def _sites(node: ast.AST, place: _Place, above: ast.AST | None = None) -> Iterator[_Site]:
    if isinstance(node, ast.expr | ast.stmt):
        # A number says little without what is done with it.
        shown = above if isinstance(node, ast.Constant) and isinstance(above, ast.expr | ast.stmt) else node
        yield from (_Site(node.lineno, shown, place, change) for change in _changes(node))
    inside = place.within(node)
    for child in _children(node):
        # Defaults are computed where the function is made.
        outside = isinstance(child, ast.arguments)
        yield from _sites(child, _Place(inside.name, place.begins) if outside else inside, node)


def _children(node: ast.AST) -> Iterator[ast.AST]:
    """What is computed below a node: no annotation, no word, nothing that is raised or only asserted."""
    if isinstance(node, ast.Raise | ast.Assert | ast.JoinedStr | ast.Import | ast.ImportFrom):
        return
    if isinstance(node, ast.If) and ast.unparse(node.test) == "TYPE_CHECKING":
        return
    for name, value in ast.iter_fields(node):
        if name in ("annotation", "returns", "decorator_list", "bases", "type_params"):
            continue
        for child in value if isinstance(value, list) else [value]:
            if isinstance(child, ast.keyword) and child.arg in _SETTINGS:
                continue
            if isinstance(child, ast.AST):
                yield child


def _changes(node: ast.expr | ast.stmt) -> Iterator[Callable[[], Undo]]:
    if isinstance(node, ast.Compare):
        yield from _comparisons(node)
    elif isinstance(node, ast.BinOp | ast.AugAssign) and type(node.op) in _COMPUTED:
        yield _setting(node, "op", _COMPUTED[type(node.op)]())
    elif isinstance(node, ast.BoolOp):
        yield _setting(node, "op", ast.Or() if isinstance(node.op, ast.And) else ast.And())
    elif isinstance(node, ast.UnaryOp) and isinstance(node.op, ast.USub):
        yield _setting(node, "op", ast.UAdd())
    elif isinstance(node, ast.UnaryOp) and isinstance(node.op, ast.Not):
        yield _setting(node, "operand", ast.UnaryOp(ast.Not(), node.operand))
    elif isinstance(node, ast.Constant) and isinstance(node.value, int | float):
        yield _setting(node, "value", _other(node.value))
    elif isinstance(node, ast.Call):
        yield from _calls(node)


def _comparisons(node: ast.Compare) -> Iterator[Callable[[], Undo]]:
    for at, op in enumerate(node.ops):
        for other in _COMPARED[type(op)]:
            yield _setting(node, "ops", [*node.ops[:at], other(), *node.ops[at + 1 :]])


def _calls(node: ast.Call) -> Iterator[Callable[[], Undo]]:
    if isinstance(node.func, ast.Name) and node.func.id in _CALLED:
        yield _setting(node.func, "id", _CALLED[node.func.id])
    if isinstance(node.func, ast.Attribute) and node.func.attr in _CALLED:
        yield _setting(node.func, "attr", _CALLED[node.func.attr])


def _other(value: float) -> float:
    """Another number of the kind: the next whole one, twice a fraction."""
    if isinstance(value, bool):
        return not value
    if isinstance(value, int):
        return value + 1
    return value * 2 if value else 1.0
