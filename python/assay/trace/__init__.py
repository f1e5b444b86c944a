"""The block operations of a running database, recorded as a scenario that `assay run` replays."""
