"""`assay cost` and `assay choose`: what hardware costs, and what a dollar of it does."""
