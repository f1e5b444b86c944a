"""TOML text of plain tables, inline where a value is a table. The standard library only reads TOML."""

import json
from collections.abc import Mapping
from typing import Any


def table_text(name: str, table: Mapping[str, Any]) -> str:
    """A table under its head; no head where the name is empty."""
    head = f"[{name}]\n" if name else ""
    return head + "".join(f"{key} = {value_text(value)}\n" for key, value in table.items())


def value_text(value: Any) -> str:
    """One value. JSON's strings are TOML's, but for DEL, which TOML wants escaped."""
    if isinstance(value, bool):
        return "true" if value else "false"
    if isinstance(value, str):
        return json.dumps(value, ensure_ascii=False).replace("\x7f", "\\u007f")
    if isinstance(value, int | float):
        return repr(value)
    if isinstance(value, Mapping):
        return "{ " + ", ".join(f"{key} = {value_text(one)}" for key, one in value.items()) + " }"
    if len(value) > 1 and all(isinstance(one, str) for one in value):
        return "[\n" + "".join(f"    {value_text(one)},\n" for one in value) + "]"
    return "[" + ", ".join(value_text(one) for one in value) + "]"
