"""`assay rivals`: other engines for runs side by side."""
