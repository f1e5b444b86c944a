"""The job of an index, with the waits of memory that is not here."""

from __future__ import annotations

from typing import Any

from assay.index.waits import as_if
from assay.study.work import index
from assay.study.work.index import Wish

Json = dict[str, Any]


def job(wish: Wish) -> Json:
    """The job of `assayer index`.

    Raises:
        AssayError: where a word or a number is none.
    """
    return index.job(wish) | ({"as_if": as_if(wish.as_if)} if wish.as_if else {})
