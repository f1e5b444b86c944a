"""Folders that answer as a drive that is not here, by the program `assayer-mount`."""
