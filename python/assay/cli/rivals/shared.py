"""What the commands of `assay rivals` share."""

from __future__ import annotations
