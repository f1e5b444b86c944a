"""`${...}` in a study file: names of parameters and factors, and simple arithmetic over them."""

from __future__ import annotations

import ast
import operator
import re
from collections.abc import Callable, Mapping
from typing import Any

from assay.error import BAD_JOB, AssayError, did_you_mean
from assay.units.parse import number_of

_LONGEST = 500
_TEMPLATE = re.compile(r"\$\{([^{}]*)\}")
_ARITHMETIC: dict[type[ast.operator], Callable[[Any, Any], Any]] = {
    ast.Add: operator.add,
    ast.Sub: operator.sub,
    ast.Mult: operator.mul,
    ast.Div: operator.truediv,
    ast.FloorDiv: operator.floordiv,
    ast.Mod: operator.mod,
}
_FUNCTIONS: dict[str, Callable[..., Any]] = {"min": min, "max": max, "round": round}


class ExpressionError(AssayError):
    """A `${...}` that cannot be computed."""

    def __init__(self, message: str, hint: str = "") -> None:
        super().__init__(message, hint=hint, code=BAD_JOB)


class Names:
    """What a `${name}` stands for: factors of the cell first, then parameters, then facts of the machine."""

    def __init__(self, *layers: Mapping[str, Any]) -> None:
        self._layers = layers
        self._open: list[str] = []

    def __getitem__(self, name: str) -> Any:
        if name in self._open:
            raise ExpressionError(f"`{name}` is defined by itself: {' -> '.join([*self._open, name])}")
        for layer in self._layers:
            if name in layer:
                return self._resolved(name, layer[name])
        raise ExpressionError(f"`${{{name}}}` names no parameter and no factor", did_you_mean(name, self.known()))

    def _resolved(self, name: str, value: Any) -> Any:
        self._open.append(name)
        try:
            return substitute(value, self)
        finally:
            self._open.pop()

    def known(self) -> set[str]:
        """Every name that can be used."""
        return {name for layer in self._layers for name in layer}


def is_template(value: object) -> bool:
    """Whether `value` is a text with a `${...}` in it."""
    return isinstance(value, str) and _TEMPLATE.search(value) is not None


def substitute(value: Any, names: Names) -> Any:
    """`value` with every `${...}` in it computed, through lists and tables.

    A text that is one `${...}` takes the type of its result; in a longer text the result is inserted as text.
    """
    if isinstance(value, dict):
        return {key: substitute(item, names) for key, item in value.items()}
    if isinstance(value, list):
        return [substitute(item, names) for item in value]
    if not is_template(value):
        return value
    whole = _TEMPLATE.fullmatch(value.strip())
    if whole:
        return evaluate(whole[1], names)
    return _TEMPLATE.sub(lambda match: label_of(evaluate(match[1], names)), value)


def label_of(value: Any) -> str:
    """The text of a factor's value: the name of a choice, or the value itself."""
    if isinstance(value, Mapping):
        return str(value.get("name", ""))
    if isinstance(value, bool):
        return "true" if value else "false"
    return str(int(value)) if isinstance(value, float) and value.is_integer() else str(value)


def evaluate(text: str, names: Names) -> Any:
    """The value of one expression."""
    if len(text) > _LONGEST:
        raise _too_long(text)
    try:
        tree = ast.parse(text.strip(), mode="eval")
    except (SyntaxError, ValueError) as error:
        raise ExpressionError(f"`${{{text}}}` is not an expression", "write a name, or arithmetic on names") from error
    except (RecursionError, MemoryError) as error:
        raise _too_long(text) from error
    try:
        return _value(tree.body, names)
    except (ZeroDivisionError, OverflowError, TypeError, ValueError) as error:
        raise ExpressionError(f"`${{{text}}}` cannot be computed: {error}") from error


def _too_long(text: str) -> ExpressionError:
    message = f"an expression of {len(text):,} characters cannot be computed: `${{{text[:20]}...}}`"
    return ExpressionError(message, f"{_LONGEST} are the most, and few brackets inside of one another")


def _value(node: ast.expr, names: Names) -> Any:
    match node:
        case ast.Constant(value=int() | float() | str() as value):
            return value
        case ast.Name(id=name):
            return names[name]
        case ast.Attribute(value=inner, attr=field):
            return _field(_value(inner, names), field)
        case ast.UnaryOp(op=ast.USub(), operand=operand):
            return -number_of(_value(operand, names))
        case ast.BinOp(left=left, op=op, right=right) if type(op) in _ARITHMETIC:
            return _ARITHMETIC[type(op)](number_of(_value(left, names)), number_of(_value(right, names)))
        case ast.Call(func=ast.Name(id=name), args=arguments, keywords=[]) if name in _FUNCTIONS:
            return _FUNCTIONS[name](*(number_of(_value(item, names)) for item in arguments))
    raise ExpressionError(
        f"`${{{ast.unparse(node)}}}` is not allowed", "names, numbers, + - * / // %, min, max and round are"
    )


def _field(value: Any, field: str) -> Any:
    if not isinstance(value, Mapping):
        raise ExpressionError(f"`.{field}` needs a choice with fields, `{value}` has none")
    if field not in value:
        raise ExpressionError(
            f"the choice `{label_of(value)}` has no field `{field}`", did_you_mean(field, map(str, value))
        )
    return value[field]
