"""`assay passport`."""
