"""Stores whose process is killed while they work: what was acknowledged has to be there."""
