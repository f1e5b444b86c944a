"""A table of a TOML document as a type: the base of study files, prices and workloads."""

from __future__ import annotations

from typing import Any, ClassVar

from pydantic import BaseModel, ConfigDict, model_validator
from pydantic_core import PydanticCustomError

from assay.error import did_you_mean


class Table(BaseModel):
    """Unknown keys are refused with the nearest known one."""

    model_config = ConfigDict(extra="forbid", populate_by_name=True)
    open_keys: ClassVar[bool] = False

    @model_validator(mode="before")
    @classmethod
    def _known_keys(cls, data: Any) -> Any:
        if not isinstance(data, dict) or cls.open_keys:
            return data
        known = {field.alias or name for name, field in cls.model_fields.items()}
        for key in data:
            if key not in known and key not in cls.model_fields:
                context = {"key": key, "hint": did_you_mean(key, known)}
                raise PydanticCustomError("unknown_key", "`{key}` is not a key here; {hint}", context)
        return data
