"""`assay atlas`."""
