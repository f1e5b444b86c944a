"""`assay index`: persistent indexes."""
