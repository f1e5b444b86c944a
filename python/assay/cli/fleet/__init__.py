"""Commands behind `assay fleet`."""
