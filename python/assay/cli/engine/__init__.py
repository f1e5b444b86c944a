"""`assay engine`: Assay's own storage engine."""
