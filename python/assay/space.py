"""What Assay leaves free of a file system."""

SHARE_KEPT = 0.05
KEPT_AT_MOST = 2 << 30


def kept(total: float) -> float:
    """Bytes that stay free of so many: a twentieth, of a large file system 2 GiB, as `space.rs` has it."""
    return min(total * SHARE_KEPT, KEPT_AT_MOST)
