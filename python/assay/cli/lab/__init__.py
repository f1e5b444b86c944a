"""`assay lab`: the emulated machine."""
